"""A torch model: its logits through a softmax, then as tensors straight into pacshift."""

import sys

try:
    import torch
except ImportError:
    print("this example needs torch, which is not installed: pip install torch")
    sys.exit(0)

import pacshift

torch.manual_seed(0)
means = 1.3 * torch.randn(4, 8)  # four classes in eight dimensions


def data(n: int, mix: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw labels from ``mix``, then an x for each: label shift by construction."""
    y = torch.multinomial(torch.tensor(mix), n, replacement=True)
    return means[y] + 1.5 * torch.randn(n, 8), y


# Train on the old mix.
x, y = data(4_000, [0.4, 0.3, 0.2, 0.1])
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(150):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


def scores(x: torch.Tensor) -> torch.Tensor:
    """Probabilities, detached: pacshift needs no gradients."""
    with torch.no_grad():
        return model(x).softmax(dim=1)


# Calibrate on fresh labelled data of the old mix and unlabelled data of the new one.
source_x, source_y = data(10_000, [0.4, 0.3, 0.2, 0.1])
target_x, target_y = data(10_000, [0.1, 0.1, 0.2, 0.6])
certificate = pacshift.calibrate(scores(source_x), source_y, scores(target_x), epsilon=0.1, delta=0.05)
print(certificate.explain())

result = pacshift.evaluate(certificate.sets(scores(target_x)), target_y)
print(f"error on the target {result.error:.3f}, mean set size {result.size:.2f}")
