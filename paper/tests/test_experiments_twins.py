"""Twins resemble the scores they were fitted to, and never change."""

import numpy as np
import pytest

from paper.experiments.datasets import Twin, load_dataset
from paper.fit_twins import fit_twin


@pytest.mark.parametrize("relative", [False, True])
def test_a_twin_has_the_confusion_and_scores_it_was_fitted_to(relative: bool) -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, 8000)
    # Hard rows and easy rows: the gaps of one row are strongly correlated.
    logits = rng.normal(size=(8000, 4)) + rng.gamma(1.5, 2.0, (8000, 1)) * np.eye(4)[labels]
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    twin = Twin.from_arrays(fit_twin(probs, labels, relative=relative).arrays())
    made, made_labels = twin.sample(20_000, np.random.default_rng(2))
    for label in range(4):
        both = probs[labels == label], made[made_labels == label]
        confusion = [np.bincount(rows.argmax(axis=1), minlength=4) / len(rows) for rows in both]
        assert np.abs(confusion[0] - confusion[1]).max() < 0.02
        levels = [0.05, 0.25, 0.5, 0.75, 0.95]
        quantiles = [np.quantile(rows[:, label], levels) for rows in both]
        assert np.abs(quantiles[0] - quantiles[1]).max() < 0.04
    sizes = [[(rows > cut).sum(axis=1).mean() for cut in (0.01, 0.05, 0.2)] for rows in (probs, made)]
    assert np.abs(np.array(sizes[0]) - np.array(sizes[1])).max() < 0.05
    spread = [np.corrcoef(np.log(rows[:, 0]), np.log(rows[:, 1]))[0, 1] for rows in (probs, made)]
    assert abs(spread[0] - spread[1]) < 0.08


def test_twins_are_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from paper.experiments import datasets

    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    first = load_dataset("chestxray")
    datasets._packaged.cache_clear()
    second = load_dataset("chestxray")
    assert first is not second
    assert np.array_equal(first.probs, second.probs)
    assert np.array_equal(first.labels, second.labels)
