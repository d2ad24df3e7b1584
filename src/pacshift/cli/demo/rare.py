"""Why PS-LP is the default although PS-LW needs no target: a made-up case with rare classes."""

import warnings
from dataclasses import dataclass

import numpy as np

from pacshift.certification.calibrate import calibrate
from pacshift.errors import UninformativeWarning
from pacshift.simulate import Population
from pacshift.words.numbers import mean_size, percent

N_CLASSES, N_RARE, ROWS = 10, 2, 5_000
"""Enough classes and few enough rare rows for PS-LW to pay. Chosen to show this: the demo calls it made up."""
RARE_SHARE = 0.1
"""A rare class is this many times as frequent as a common one."""
METHODS_SHOWN = ("PS-LP", "PS-LW")


@dataclass(frozen=True)
class RareCase:
    """Mean set sizes and errors on the target population, exact, and the source rows of the rarest class."""

    fewest: int
    sizes: dict[str, float]
    errors: dict[str, float]


def rare_case(epsilon: float, delta: float, seed: int) -> RareCase:
    """Both methods on one draw with two rare classes among ten."""
    population = Population.synthetic(N_CLASSES, strength=5, rows_per_class=1_000, rng=seed)
    frequent = np.where(np.arange(N_CLASSES) < N_RARE, RARE_SHARE, 1.0)
    source_mix, target_mix = (mix / mix.sum() for mix in (frequent, frequent * np.linspace(1, 3, N_CLASSES)))
    source, labels = population.draw(source_mix, ROWS, rng=[seed, 1])
    target, _ = population.draw(target_mix, ROWS, rng=[seed, 2])
    made = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)  # the sizes say it
        for method in METHODS_SHOWN:
            certificate = calibrate(source, labels, target, epsilon=epsilon, delta=delta, method=method, rng=seed)
            made[method] = certificate.thresholds
    return RareCase(
        fewest=int(np.bincount(labels, minlength=N_CLASSES).min()),
        sizes={method: population.size(cuts, target_mix) for method, cuts in made.items()},
        errors={method: population.error(cuts, target_mix) for method, cuts in made.items()},
    )


def why_ps_lp(case: RareCase, *, size: float, size_by_class: float) -> str:
    """What speaks for PS-LP, given the mean sizes of PS-LP and PS-LW in the demo itself."""
    larger = size_by_class / size - 1
    here = (
        "PS-LW does about as well here"
        if abs(larger) < 0.02
        else f"PS-LW's sets are {percent(abs(larger), 2)} {'larger' if larger > 0 else 'smaller'} here"
    )
    return (
        f"Why PS-LP? {here}, and it needs no target. But it bounds every class separately, which costs size with "
        f"many or rare classes. A made-up case with {N_CLASSES} classes, the rarest with {case.fewest} of "
        f"{ROWS:,} source rows, same ε and δ: sets of {mean_size(case.sizes['PS-LP'])} labels with PS-LP, "
        f"{mean_size(case.sizes['PS-LW'])} with PS-LW (target errors {case.errors['PS-LP']:.4f} and "
        f"{case.errors['PS-LW']:.4f})."
    )
