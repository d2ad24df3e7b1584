"""A torch model and its data loaders: scored batch by batch, calibrated, and used on new data."""

import sys

try:
    import torch
    from torch.utils.data import DataLoader, TensorDataset
except ImportError:
    print("this example needs torch, which is not installed: pip install torch")
    sys.exit(0)

import pacshift
from pacshift import Tally

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


def count_batches(loader: DataLoader) -> Tally:
    """Count a data loader batch by batch. Tallies add up, so no score is kept."""
    model.eval()
    parts = []
    with torch.inference_mode():
        for x, *labels in loader:
            logits = model(x).float().cpu()
            if labels:
                parts.append(Tally.from_scores(logits, labels[0], grid=True, softmax=True))
            else:
                parts.append(Tally.from_target(logits, softmax=True))
    return Tally.sum(parts)


# Calibrate on fresh labelled data of the old mix and unlabelled data of the new one.
old, new = data(10_000, [0.4, 0.3, 0.2, 0.1]), data(10_000, [0.1, 0.1, 0.2, 0.6])
source = count_batches(DataLoader(TensorDataset(*old), batch_size=512))
target = count_batches(DataLoader(TensorDataset(new[0]), batch_size=512))
certificate = pacshift.calibrate(source + target, epsilon=0.1, delta=0.05)
print(certificate.explain())

# The certificate was made with softmax=True, so it takes logits as the model gives them.
with torch.inference_mode():
    logits = model(new[0])
result = pacshift.evaluate(certificate.sets(logits), new[1])
print(f"error on the target {result.error:.3f}, mean set size {result.size:.2f}")
print("sets of the first rows:", certificate.labels(logits[:3]))
