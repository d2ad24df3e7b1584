"""Coming from TorchCP: the same task with both libraries, before and after the label mix has changed."""

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset
from torchcp.classification.predictor import SplitPredictor
from torchcp.classification.score import LAC

import pacshift

torch.manual_seed(0)
means = 1.2 * torch.randn(3, 6)


def data(n: int, mix: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw labels from ``mix``, then an x for each: label shift by construction."""
    labels = torch.multinomial(torch.tensor(mix), n, replacement=True)
    return means[labels] + 1.5 * torch.randn(n, 6), labels


# A model, labelled calibration data, and a target in which class 2 has become frequent.
old_mix, new_mix = [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]
x, y = data(5_000, old_mix)
model = torch.nn.Linear(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(200):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
source_x, source_y = data(25_000, old_mix)
target_x, target_y = data(20_000, new_mix)

# TorchCP
predictor = SplitPredictor(LAC(), model)
predictor.calibrate(DataLoader(TensorDataset(source_x, source_y), batch_size=1_000), alpha=0.1)
their_sets = predictor.predict(target_x).numpy() > 0

# pacshift: the unlabelled target is one more argument. softmax=True is for logits; sets() then takes logits too.
with torch.no_grad():
    source_logits, target_logits = model(source_x), model(target_x)
certificate = pacshift.calibrate(source_logits, source_y, target_logits, epsilon=0.1, delta=0.05, softmax=True)
our_sets = certificate.sets(target_logits)

for name, sets in (("TorchCP", their_sets), ("pacshift", our_sets)):
    result = pacshift.evaluate(np.asarray(sets), target_y)
    print(f"{name:8} misses {100 * result.error:.1f} % (10 % allowed), {result.size:.2f} labels per set")
