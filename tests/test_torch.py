"""Scoring batches of a data loader with torch; ``make train-test`` runs it where torch is installed."""

import doctest
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pacshift
import pacshift.torch
from pacshift import InputError, Tally
from pacshift.torch import score_loader

torch = pytest.importorskip("torch", reason="torch is not installed: make train-test runs these tests")
DataLoader, TensorDataset = torch.utils.data.DataLoader, torch.utils.data.TensorDataset


def data(rows: int = 10) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(rows, 4, generator=generator), torch.randint(0, 3, (rows,), generator=generator)


@pytest.fixture
def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3))


def test_scores_are_those_of_one_large_batch_in_evaluation_mode(model: Any) -> None:
    x, y = data()
    model[1].eval()  # one layer is frozen, the others train
    found = score_loader(model, DataLoader(TensorDataset(x, y), batch_size=3))
    assert [layer.training for layer in model.modules()] == [True, True, False, True]
    model.eval()
    expected = model(x).softmax(dim=1).detach().numpy()
    assert np.allclose(found.scores, expected, atol=1e-6)
    assert found.labels is not None
    assert found.labels.tolist() == y.tolist()
    assert isinstance(found.scores, np.ndarray)


def test_a_loader_becomes_a_tally_batch_by_batch(model: Any) -> None:
    """As docs/scale.md shows it."""
    loader = DataLoader(TensorDataset(*data(60)), batch_size=20)
    counted = Tally.sum(Tally.from_scores(*score_loader(model, [batch]), grid=True) for batch in loader)
    assert (counted.n_source, counted.n_classes) == (60, 3)


def test_layers_are_restored_if_a_batch_fails(model: Any) -> None:
    with pytest.raises(RuntimeError):
        score_loader(model, [torch.zeros(2, 99)])
    assert all(layer.training for layer in model.modules())


def test_batches_of_every_form_give_the_same_scores(model: Any) -> None:
    x, y = data()

    def named(values: Any) -> Any:
        """As models of transformers: named inputs, and an object with logits."""
        return SimpleNamespace(logits=model(values))

    forms: list[tuple[Any, Any, bool]] = [
        (model, [x[:5], x[5:]], False),
        (model, DataLoader(TensorDataset(x), batch_size=4), False),
        (model, [(x, y)], True),
        (named, [{"values": x, "labels": y}], True),
        (named, [{"values": x[:7], "label": y[:7]}, {"values": x[7:], "label": y[7:]}], True),
    ]
    model.eval()
    expected = model(x).detach().numpy()
    for scored, loader, is_labelled in forms:
        found = score_loader(scored, loader, device="cpu", softmax=False)
        assert np.allclose(found.scores, expected, atol=1e-6)
        assert (found.labels is not None) == is_labelled


def test_half_precision_and_plain_functions() -> None:
    x, _ = data()
    found = score_loader(lambda batch: batch.to(torch.bfloat16), [x], softmax=False)
    assert found.scores.dtype == np.float32


def test_probabilities_are_not_softened_a_second_time(model: Any) -> None:
    x, _ = data()
    with pytest.raises(InputError, match="softmax=True is for logits"):
        score_loader(lambda batch: batch.softmax(dim=1), [x])


def test_what_is_wrong_with_a_loader_is_said(model: Any) -> None:
    x, y = data()
    with pytest.raises(InputError, match="no batches"):
        score_loader(model, [])
    with pytest.raises(InputError, match="only 1 of 2 batches have labels"):
        score_loader(model, [(x, y), (x,)])
    with pytest.raises(InputError, match="scores need one column per class"):
        score_loader(lambda batch: batch[:, 0], [x])


def test_scores_go_straight_into_calibrate(model: Any) -> None:
    x, y = data(600)
    source = score_loader(model, DataLoader(TensorDataset(x, y), batch_size=64))
    assert source.labels is not None
    certificate = pacshift.calibrate(source.scores, source.labels, None, method="PS")
    logits = score_loader(model, [x], softmax=False).scores
    same = pacshift.calibrate(logits, source.labels, None, method="PS", softmax=True)
    assert np.allclose(certificate.thresholds, same.thresholds, atol=1e-6)


def test_the_example_of_the_docstring_runs() -> None:
    text = (score_loader.__doc__ or "").replace("  # doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(text, {"score_loader": score_loader}, "example", None, 0)
    assert len(example.examples) == 5
    assert doctest.DocTestRunner().run(example).failed == 0
