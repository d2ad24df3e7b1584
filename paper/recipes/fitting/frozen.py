"""Features of a frozen network as the inputs of a small one; each row is computed once."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pacshift.arrays import IntArray
from paper.recipes.encode import Encoder, Inputs
from paper.recipes.fitting.device import Device
from paper.recipes.fitting.lite0 import N_FEATURES, Lite0
from paper.recipes.raw.data import BoolArray

BLOCK = 64  # images that pass the frozen network at once; a round number, only memory depends on it


class FeatureEncoder:
    """Images as the features of a frozen Lite0."""

    def __init__(self, images: Encoder, n_rows: int, body: Lite0, device: Device) -> None:
        self._images, self.broken = images, images.broken
        features = nn.Sequential(*list(body)[:-1])  # without the layer that tells the classes of ImageNet
        self._body = features.to(device.name).eval()
        self._device = device
        self._known = np.zeros(n_rows, bool)
        self._is_good = np.zeros(n_rows, bool)
        self._features: NDArray[np.float32] = np.zeros((n_rows, N_FEATURES), np.float32)

    def encode(self, rows: IntArray, rng: np.random.Generator | None) -> tuple[Inputs, BoolArray]:
        """Features of the rows; without random changes, since each row is computed only once."""
        new = rows[~self._known[rows]]
        for first in range(0, len(new), BLOCK):
            self._compute(new[first : first + BLOCK])
        is_good = self._is_good[rows]
        return (self._features[rows[is_good]],), is_good

    def _compute(self, rows: IntArray) -> None:
        inputs, is_good = self._images.encode(rows, None)
        self._known[rows] = True
        self._is_good[rows] = is_good
        if is_good.any():
            with torch.no_grad(), self._device.guard_memory():
                found = self._body(*self._device.tensors(inputs))
            self._features[rows[is_good]] = found.float().cpu().numpy()
