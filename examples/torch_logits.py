"""A torch model and its data loaders: scored batch by batch, calibrated, and used on new data."""

import sys

try:
    import torch
    from torch.utils.data import DataLoader, TensorDataset
except ImportError:
    print("this example needs torch, which is not installed: pip install torch")
    sys.exit(0)

import pacshift
from pacshift.torch import score_loader

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

# Calibrate on fresh labelled data of the old mix and unlabelled data of the new one. The scores are probabilities:
# score_loader takes the softmax of what the model gives.
old, new = data(10_000, [0.4, 0.3, 0.2, 0.1]), data(10_000, [0.1, 0.1, 0.2, 0.6])
source = score_loader(model, DataLoader(TensorDataset(*old), batch_size=512))
target = score_loader(model, DataLoader(TensorDataset(new[0]), batch_size=512))
certificate = pacshift.calibrate(source.scores, source.labels, target.scores, epsilon=0.1, delta=0.05)
print(certificate.explain())

result = pacshift.evaluate(certificate.sets(target.scores), new[1])
print(f"error on the target {result.error:.3f}, mean set size {result.size:.2f}")

# A model in production gives logits: a certificate made with softmax=True takes them as they come.
with torch.no_grad():
    served = pacshift.calibrate(model(old[0]), old[1], model(new[0]), epsilon=0.1, delta=0.05, softmax=True)
    print("sets of the first rows:", served.labels(model(new[0][:3])))
