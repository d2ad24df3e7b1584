"""Where the network runs: processor or graphics card, its precision, and what to say when memory runs out."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from pacshift.errors import InputError
from paper.recipes.encode import Inputs

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
