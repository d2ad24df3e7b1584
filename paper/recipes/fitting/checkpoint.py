"""Checkpoints: written whole or not at all, and only continued by the run they belong to."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pacshift.errors import InputError
from pacshift.files.writing import atomic_write
from paper.recipes.fitting.device import Device


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
