"""The training loop, checkpoints and devices; everything here needs torch."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacshift.arrays import IntArray
from pacshift.errors import InputError
from paper.recipes.catalogue import Settings
from paper.recipes.encode import BUCKETS, AnswerEncoder, FileEncoder, PixelEncoder, TextEncoder
from paper.tests import raw_data

torch = pytest.importorskip("torch", reason="torch is not installed: make train-test runs these tests")

from paper.recipes.fitting import loop  # noqa: E402
from paper.recipes.fitting.loop import Checkpoint, Device, check_not_fitted, choose_device  # noqa: E402
from paper.recipes.fitting.networks import HashedLinear, SlimConvNet, two_layer_network  # noqa: E402

CPU = Device("cpu")
RNG = np.random.default_rng(0)
LABELS = np.arange(32) % 4
PIXELS = np.stack([raw_data.painted(int(label), RNG) for label in LABELS])
TEXTS, TEXT_LABELS = raw_data.articles(32, RNG)
FILTERS = torch.eye(12).view(12, 3, 2, 2)


def weights_of(network: Any) -> dict[str, Any]:
    return {key: value.clone() for key, value in network.state_dict().items()}


def cases() -> dict[str, tuple[Any, Any, IntArray, Settings]]:
    torch.manual_seed(0)
    answers = np.random.default_rng(3).normal(size=(32, 5))
    rows = np.arange(32)
    return {
        "two-layer": (two_layer_network(5, 4), AnswerEncoder(answers, rows), LABELS, Settings(200, 8, 0.1)),
        "hashed": (HashedLinear(BUCKETS, 4), TextEncoder(TEXTS, rows), TEXT_LABELS, Settings(30, 8, 10.0)),
        "slim": (
            SlimConvNet(4, FILTERS, (8, 8, 16)),
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


def test_the_rate_rises_to_its_peak_and_falls_to_almost_nothing() -> None:
    cycle = replace(Settings(1, 1, 0.3), schedule="one-cycle")
    rates = [loop.rate_at(step, 100, cycle) for step in range(100)]
    assert max(rates) == pytest.approx(0.3)
    assert np.argmax(rates) in (19, 20)
    assert rates[0] < 0.02
    assert rates[-1] < 0.005
    assert {loop.rate_at(step, 100, Settings(1, 1, 0.3)) for step in range(100)} == {0.3}


def test_unreadable_rows_are_left_out_of_scores_and_of_training(tmp_path: Path) -> None:
    raw_data.write_images(tmp_path, ("a", "b"), 4, ".png", size=40)
    paths = sorted(map(str, tmp_path.rglob("*.png")))
    for broken in (0, 1, 5):
        Path(paths[broken]).write_bytes(b"")
    encoder = FileEncoder(paths, 32, mean=(0.5,) * 3, spread=(0.5,) * 3)
    network = SlimConvNet(2, FILTERS, (4, 4, 4))
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
    with pytest.raises(InputError, match="Use a smaller batch"):
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


def test_instructions_that_end_a_process_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some virtual machines announce what they do not have."""
    monkeypatch.setattr(loop, "PROBE", "import os; os.abort()")
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    assert not Device("cpu").has_half
    monkeypatch.setattr(loop, "PROBE", "pass")
    assert Device("cpu").has_half
    assert Device("cuda").has_half
