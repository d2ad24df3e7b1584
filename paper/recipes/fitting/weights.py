"""Pretrained weights: state dictionaries with the public key names, and how published files differ from them."""

import re
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from pacshift.errors import InputError
from paper.recipes.fitting.checkpoint import load_file
from paper.recipes.fitting.device import Device

WRAPPERS = ("state_dict", "model", "network")
PREFIXES = re.compile(r"^(?:(?:module|densenet121|backbone)\.)+")
OLD_DENSENET = re.compile(r"(denselayer\d+\.(?:norm|relu|conv))\.(\d)\.")
"""``norm.1`` of files from 2017, such as CheXNet's, is ``norm1`` today."""


def load_weights(network: nn.Module, path: Path, device: Device, *, head: str) -> None:
    """Load all weights but those of ``head``, whose shape may differ: its classes are other ones."""
    found = public_names(load_file(path, device))
    own = network.state_dict()
    body = {key: value for key, value in own.items() if not key.startswith(f"{head}.")}
    missing = sorted(key for key in body if key not in found and not key.endswith("num_batches_tracked"))
    if missing:
        raise InputError(
            f"{path}: {len(missing)} of {len(body)} weights are missing, such as {missing[0]!r}. It holds "
            f"{', '.join(sorted(found)[:3])}, ... Is it a file of this network?"
        )
    wrong = sorted(key for key in body if key in found and found[key].shape != body[key].shape)
    if wrong:
        raise InputError(
            f"{path}: {wrong[0]!r} has shape {tuple(found[wrong[0]].shape)}, "
            f"expected {tuple(body[wrong[0]].shape)}."
        )
    fits = {key: found[key] for key in own if key in found and found[key].shape == own[key].shape}
    network.load_state_dict(own | fits)


def public_names(content: dict[str, Any]) -> dict[str, Tensor]:
    """Tensors by today's names, without the wrappers that training scripts put around them."""
    for wrapper in WRAPPERS:
        if isinstance(content.get(wrapper), dict):
            content = content[wrapper]
    return {
        OLD_DENSENET.sub(r"\1\2.", PREFIXES.sub("", key)): value
        for key, value in content.items()
        if isinstance(value, Tensor)
    }
