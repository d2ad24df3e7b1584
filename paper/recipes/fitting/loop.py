"""The training loop. Every random choice follows from (seed, step), so a resumed run repeats them bit for bit."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from paper.recipes.catalogue import Settings
from paper.recipes.encode import Encoder, Inputs
from paper.recipes.fitting.checkpoint import Checkpoint
from paper.recipes.fitting.device import Device

PREDICT_BATCH = 512  # rows scored at once; a round number, only memory depends on it


@dataclass(frozen=True)
class Progress:
    """Where the training stands; loss and accuracy are running means over the last batches."""

    step: int
    steps: int
    loss: float
    accuracy: float


Report = Callable[[Progress], None]


def fit(
    network: nn.Module,
    encoder: Encoder,
    labels: IntArray,
    rows: IntArray,
    settings: Settings,
    *,
    seed: int,
    device: Device,
    checkpoint: Checkpoint | None = None,
    report: Report | None = None,
) -> None:
    """Fit ``network`` to ``rows``, from the step at which the checkpoint stands."""
    optimiser = make_optimiser(network, settings)
    start = checkpoint.restore(network, optimiser, device) if checkpoint else 0
    steps = n_steps(len(rows), settings)
    weights = torch.from_numpy(class_weights(labels[rows])).to(device.name) if settings.balanced else None
    loss_of = nn.CrossEntropyLoss(weight=weights, label_smoothing=settings.smoothing)
    run = _Run(network, encoder, labels, settings, seed, device, optimiser, loss_of, steps)
    loss, accuracy = math.nan, math.nan
    for step, batch in enumerate(batches(rows, settings, seed, start), start=start):
        found = run.take_step(step, batch)
        if found:
            loss, accuracy = (_running(*pair) for pair in zip((loss, accuracy), found, strict=True))
        if report:
            report(Progress(step + 1, steps, loss, accuracy))
        if checkpoint:
            checkpoint.save_if_due(network, optimiser, step + 1, is_last=step + 1 == steps)


def _running(mean: float, value: float) -> float:
    return value if math.isnan(mean) else 0.95 * mean + 0.05 * value


@dataclass(frozen=True, eq=False)
class _Run:
    """What every step needs."""

    network: nn.Module
    encoder: Encoder
    labels: IntArray
    settings: Settings
    seed: int
    device: Device
    optimiser: torch.optim.Optimizer
    loss_of: nn.Module
    steps: int

    def take_step(self, step: int, batch: IntArray) -> tuple[float, float] | None:
        """Loss and accuracy of one batch, or None where too few of its rows could be read."""
        self.device.seed(int(np.random.SeedSequence([self.seed, step]).generate_state(1)[0]))  # dropout
        inputs, is_good = self.encoder.encode(batch, np.random.default_rng([self.seed, 2, step]))
        if is_good.sum() < 2:  # batch normalisation needs two rows
            return None
        truth = torch.from_numpy(self.labels[batch[is_good]]).to(self.device.name)
        for group in self.optimiser.param_groups:
            group["lr"] = group["factor"] * rate_at(step, self.steps, self.settings)
        self.network.train()
        with self.device.guard_memory():
            loss, accuracy = self._learn(inputs, truth)
        if not math.isfinite(loss):
            raise InputError(f"the loss became {loss} at step {step + 1}. Check the data, or use other weights.")
        return loss, accuracy

    def _learn(self, inputs: Inputs, truth: Tensor) -> tuple[float, float]:
        self.optimiser.zero_grad(set_to_none=True)
        with self.device.precision(mixed=self.settings.mixed):
            logits = self.network(*self.device.tensors(inputs)).float()
            loss: Tensor = self.loss_of(logits, truth)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return float(loss.detach()), float((logits.argmax(dim=1) == truth).float().mean())


def n_steps(n_rows: int, settings: Settings) -> int:
    """Steps of the whole training; the last batch of an epoch may be smaller."""
    return settings.epochs * math.ceil(n_rows / settings.batch)


def batches(rows: IntArray, settings: Settings, seed: int, start: int) -> Iterator[IntArray]:
    """The batches from step ``start`` on; each epoch has an order of its own."""
    per_epoch = math.ceil(len(rows) / settings.batch)
    for epoch in range(start // per_epoch, settings.epochs):
        order = np.random.default_rng([seed, 3, epoch]).permutation(rows)
        first = start - epoch * per_epoch if epoch == start // per_epoch else 0
        for place in range(first, per_epoch):
            yield order[place * settings.batch : (place + 1) * settings.batch]


def rate_at(step: int, steps: int, settings: Settings) -> float:
    """The learning rate: constant, or up to its peak in the first fifth and down to almost 0 in the rest."""
    if settings.schedule == "constant":
        return settings.rate
    peak = 0.2 * steps
    done = (step + 1) / max(1.0, peak) if step < peak else (steps - step) / max(1.0, steps - peak)
    return settings.rate * min(1.0, done)


def make_optimiser(network: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """SGD with momentum or AdamW; frozen parameters are left out, and norms and biases do not decay."""
    free = [parameter for parameter in network.parameters() if parameter.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in free if p.ndim > 1], "weight_decay": settings.decay, "factor": 1.0},
        {"params": [p for p in free if p.ndim <= 1], "weight_decay": 0.0, "factor": settings.bias_factor},
    ]
    if settings.optimiser == "adamw":
        return torch.optim.AdamW(groups, lr=settings.rate)
    return torch.optim.SGD(groups, lr=settings.rate, momentum=settings.momentum, nesterov=settings.nesterov)


def class_weights(labels: IntArray) -> NDArray[np.float32]:
    """Weights that make every class count the same; their mean over the rows is 1."""
    counts = np.bincount(labels)
    return np.asarray(len(labels) / (len(counts) * np.maximum(counts, 1)), np.float32)


def predict(
    network: nn.Module,
    encoder: Encoder,
    rows: IntArray,
    *,
    mixed: bool,
    device: Device,
    report: Report | None = None,
) -> tuple[FloatArray, IntArray]:
    """Probabilities of those ``rows`` that can be read, and these rows."""
    network.eval()
    blocks, kept = [], []
    for first in range(0, len(rows), PREDICT_BATCH):
        block = rows[first : first + PREDICT_BATCH]
        inputs, is_good = encoder.encode(block, None)
        kept.append(block[is_good])
        if is_good.any():
            blocks.append(_probabilities(network, inputs, mixed, device))
        if report:
            report(Progress(min(len(rows), first + PREDICT_BATCH), len(rows), math.nan, math.nan))
    return np.concatenate(blocks), np.concatenate(kept)


def _probabilities(network: nn.Module, inputs: Inputs, mixed: bool, device: Device) -> FloatArray:
    with torch.no_grad(), device.guard_memory(), device.precision(mixed=mixed):
        logits = network(*device.tensors(inputs)).double()
    return np.asarray(torch.softmax(logits, dim=1).cpu().numpy())
