"""class_balance: a policy of PS-LP that the user may change; what is promised stays."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from pacshift import PSLP, Certificate, InputError, Population, calibrate, verify
from pacshift.methods.ps_lp import ClassBalance

POPULATION = Population.synthetic(2, strength=2, rng=3)
SOURCE_MIX, TARGET_MIX = [0.8, 0.2], [0.94, 0.06]
BALANCES: tuple[ClassBalance, ...] = (3, 6, "none")


def rows(seed: int, size: int = 8000) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng([seed, 17])
    return *POPULATION.draw(SOURCE_MIX, size, rng), POPULATION.draw(TARGET_MIX, size, rng)[0]


def made(balance: ClassBalance, seed: int = 0) -> Certificate:
    return calibrate(*rows(seed), epsilon=0.1, delta=0.05, method=PSLP(class_balance=balance))


@pytest.mark.slow
def test_a_rare_class_is_missed_more_often_and_sets_get_smaller() -> None:
    draws = [[made(balance, seed) for balance in BALANCES] for seed in range(4)]
    sizes = np.mean([[POPULATION.size(each.thresholds, TARGET_MIX) for each in one] for one in draws], axis=0)
    missed = np.array([[POPULATION.class_error(each.thresholds)[1] for each in one] for one in draws])
    assert sizes[1:].max() < 0.98 * sizes[0]
    assert missed[:, 0].max() < 0.4 < missed[:, 1].min()
    assert missed[:, 1].mean() < 0.7 < missed[:, 2].mean()
    found = draws[0]
    for each, rate in zip(found, missed[0], strict=True):
        assert POPULATION.error(each.thresholds, TARGET_MIX) <= 0.1
        assert each.class_miss is not None
        assert each.class_miss.lower[1] <= rate <= each.class_miss.upper[1]
        assert each.options["class_balance"] in BALANCES
        listed = each.explain(full=True).partition("Missed, by class: ")[2].partition(". ")[0]
        assert listed.count(" %") == len(each.classes)
        assert verify(each, *rows(0)).verdict == "match"
    assert np.array_equal(found[0].thresholds, made(3).thresholds)
    assert "aim at missing no class more often than 6 times epsilon" in found[1].explain(full=True)
    assert "rare classes may be missed nearly always" in found[2].explain(full=True)
    assert "not a promise" not in found[0].explain(full=True)


def test_what_cannot_be_is_refused() -> None:
    for wrong in (2, 3.5, "3", None, True, "all"):
        with pytest.raises(InputError, match="class_balance must be 3, 6 or 'none'"):
            PSLP(class_balance=wrong)  # type: ignore[arg-type]


def test_it_is_said_where_it_has_no_effect() -> None:
    """Scores that are not probabilities get one threshold or equal miss rates."""
    source, labels, target = rows(1, 1500)
    found = calibrate(np.log(source), labels, np.log(target), epsilon=0.2, method=PSLP(class_balance="none"))
    assert "the class balance 'none' has no effect on these sets" in found.explain()
    assert found.facts.tuned_on == ""


@pytest.mark.slow
@pytest.mark.montecarlo
@pytest.mark.parametrize("balance", [6, "none"])
def test_the_promise_is_kept_with_every_balance(balance: ClassBalance) -> None:
    delta, repeats, failed = 0.2, 20, 0
    for seed in range(repeats):
        found = calibrate(*rows(seed, 2500), epsilon=0.1, delta=delta, method=PSLP(class_balance=balance))
        failed += POPULATION.error(found.thresholds, TARGET_MIX) > 0.1
    assert binomtest(failed, repeats, delta, alternative="greater").pvalue > 1e-3
