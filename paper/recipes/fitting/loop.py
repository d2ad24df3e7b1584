"""The training loop. Every random choice follows from (seed, step), so a resumed run repeats them bit for bit."""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.files.writing import atomic_write
from paper.recipes.catalogue import Settings
from paper.recipes.encode import Encoder, Inputs

# Where the network runs: processor or graphics card, its precision, and what to say when memory runs out.

PROBE = """
import torch
with torch.autocast("cpu", torch.bfloat16):
    torch.nn.Linear(256, 128)(torch.ones(64, 256))
"""
"""A product of 16-bit matrices, large enough for the instructions that a network would use."""


@dataclass(frozen=True)
class Device:
    """A device by name: "cpu" or "cuda"."""

    name: str

    @property
    def has_half(self) -> bool:
        """Whether 16-bit floats are fast here: on graphics cards, and on processors with instructions for them."""
        return self.name != "cpu" or (torch.ops.mkldnn._is_mkldnn_bf16_supported() and runs(PROBE))

    def precision(self, *, mixed: bool) -> AbstractContextManager[Any]:
        """Mixed precision where asked for and supported."""
        context: AbstractContextManager[Any] = torch.autocast(
            self.name, torch.bfloat16, enabled=mixed and self.has_half
        )
        return context

    def tensors(self, inputs: Inputs) -> list[torch.Tensor]:
        """The inputs of a network."""
        return [torch.from_numpy(values).to(self.name) for values in inputs]

    def seed(self, value: int) -> None:
        """Seed the random numbers that a network draws."""
        if self.name == "cpu":
            # The same numbers as with torch.manual_seed, which takes longer than a step of a small network.
            torch.default_generator.manual_seed(value)
        else:
            torch.manual_seed(value)

    @contextmanager
    def guard_memory(self) -> Iterator[None]:
        """Turn "out of memory" into an error with a remedy."""
        try:
            yield
        except (MemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error):
                raise
            raise InputError(
                f"the memory of {self.name} is not enough for one batch. Use a smaller batch, the recipe small, "
                "or another device; with resume=True the training goes on from its last checkpoint."
            ) from error


@cache
def runs(program: str) -> bool:
    """Whether a program ends well in a process of its own.

    Some virtual machines announce 16-bit instructions (AMX) that they lack: a process that uses one is ended.
    """
    return not subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode


def _is_out_of_memory(error: MemoryError | RuntimeError) -> bool:
    text = str(error).lower()
    known = isinstance(error, (MemoryError, torch.OutOfMemoryError))
    return known or "out of memory" in text or "can't allocate memory" in text


def choose_device(name: str) -> Device:
    """``auto`` is the graphics card where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"device must be auto, cpu or cuda, got {name!r}.")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "device cuda: torch finds no graphics card here. Use device='cpu', or install CUDA's torch."
        )
    return Device(("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name)


# Checkpoints: written whole or not at all, and only continued by the run they belong to.


@dataclass
class Checkpoint:
    """The file of one training run."""

    path: Path
    identity: str
    """Recipe, settings, seed and rows: another run must not continue this one."""
    dataset: str = ""
    fitted_ids: Sequence[str | int] = ()
    """The rows that the network was fitted on, so that it can never score them."""
    resume: bool = False
    every_seconds: float = 60.0
    _saved_at: float = field(default_factory=time.monotonic)

    def restore(self, network: nn.Module, optimiser: torch.optim.Optimizer, device: Device) -> int:
        """Load network and optimiser; the step at which to go on, 0 without a checkpoint."""
        if not self.resume or not self.path.exists():
            return 0
        content = load_file(self.path, device)
        if content.get("identity") != self.identity:
            raise InputError(
                f"{self.path} belongs to another run (recipe, seed, data, limit or precision differ). "
                "Delete it, or leave out resume=True to start afresh."
            )
        network.load_state_dict(content["network"])
        optimiser.load_state_dict(content["optimiser"])
        return int(content["step"])

    def save_if_due(
        self, network: nn.Module, optimiser: torch.optim.Optimizer, step: int, *, is_last: bool
    ) -> None:
        """Write at most once in ``every_seconds``, and after the last step."""
        if not is_last and time.monotonic() - self._saved_at < self.every_seconds:
            return
        content = {
            "identity": self.identity,
            "dataset": self.dataset,
            "fitted_ids": list(self.fitted_ids),
            "step": step,
            "network": network.state_dict(),
            "optimiser": optimiser.state_dict(),
        }
        with atomic_write(self.path) as draft:
            torch.save(content, draft)
        self._saved_at = time.monotonic()


def check_not_fitted(path: Path, dataset: str, scored_ids: NDArray[Any], device: Device) -> None:
    """Refuse weights that pacshift itself fitted on some of the rows to be scored."""
    content = load_file(path, device)
    if content.get("dataset") != dataset:
        return
    both = np.intersect1d(np.array(content["fitted_ids"]), scored_ids)
    if len(both):
        raise InputError(
            f"{path} was fitted on {len(both):,} of the rows that would be scored, such as {both[0]}. Scores of "
            "fitted rows void every guarantee. Use the seed and the limit of that run."
        )


def load_file(path: Path, device: Device) -> dict[str, Any]:
    """A file of tensors; it may not run code."""
    try:
        content = torch.load(path, map_location=device.name, weights_only=True)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.") from None
    except Exception as error:  # a damaged file can fail in any way
        line = str(error).split("\n")[0]
        raise InputError(
            f"{path}: not a file of tensors that torch.load(weights_only=True) can read ({line}). Save the state "
            "dictionary alone: torch.save(model.state_dict(), FILE)."
        ) from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds a {type(content).__name__}, expected a state dictionary.")
    return content


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
    loss_of = nn.CrossEntropyLoss(label_smoothing=settings.smoothing)
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
