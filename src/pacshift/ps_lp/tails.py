"""Tails with their prefactor: Chernoff's bound with the factor in front that it usually gives away.

For a sum S of independent terms with E exp(S) = 1, tilting the law by exp(S) gives exactly (Lemma 1)

    P(S >= y) = exp(-y) E~[exp(-(S - y)) 1{S >= y}],

and the last factor is about 1 / (sigma sqrt(2 pi)), sigma the tilted standard deviation, not 1. Lemmas 1 to 4 of
the proof page (docs/methods/ps-lp.md, section "Tails with their prefactor") are here.
"""

import numpy as np
import scipy  # its parts load when first used
from numpy.typing import ArrayLike

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval

FREQUENCY_ZONES = (0.25, 0.5, 1.0, 2.0, np.pi)
"""Values of z tried in Lemma 3: ends of the inner zone of frequencies, in units of 1 / step."""

DEVIATION_ZONE = 0.5
"""The z that ``deviation`` uses: a fixed one keeps the bound log-convex in the variance."""

DEVIATION_TILTS = np.array([1.15, 1.0, 0.85, 0.7, 0.5, 0.3, 0.15])
"""Values of θ tried in Lemma 4, as shares of the best one for a normal law; each is valid, the best is taken."""


def prefactor_parts(
    sigma: float, step: float, fine_sigma: FloatArray, fine_step: FloatArray
) -> tuple[float, float]:
    r"""Lemmas 1 to 3: numbers A, B with E~[exp(-Y) 1{Y >= 0}] <= A / σ + B.

    Y is a sum of bounded independent terms with standard deviation σ >= ``sigma``; ``step`` bounds the range of a
    term. ``fine_sigma[k]`` and ``fine_step[k]`` say the same of a part k of the terms: where its steps are short
    and it varies enough, the lattice of the other terms cannot be seen. Every part and zone is valid; the best at
    ``sigma`` is taken:

    .. math:: A = \frac{2 s}{1 - e^{-2 s}} \frac{1}{\sqrt{2\pi\kappa(z)}}, \quad B =
        \frac{2 s}{1 - e^{-2 s}} \frac{1}{\sqrt{2\pi}} \frac{\pi}{2\varsigma}
        \mathrm{erfc}\Big(\frac{\sqrt 2\, z \varsigma}{\pi U}\Big), \quad \kappa(z) = \frac{2(1-\cos z)}{z^2}

    with s, ς the step and deviation of the part, U the largest step and 0 < z <= π.
    """
    zones = np.array(FREQUENCY_ZONES)[:, None]
    inner, outer = _parts(step, fine_sigma, fine_step, zones)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = inner / sigma + outer
    best = int(np.argmin(np.where(np.isnan(total), np.inf, total)))
    return float(inner.flat[best]), float(outer.flat[best])


def bennett(x: ArrayLike) -> FloatArray:
    """The function ψ of Lemma 4: (exp(x) - 1 - x) / x², which bounds cumulants in Bennett's inequality."""
    x = np.asarray(x, float)
    small = np.abs(x) < 1e-4
    safe = np.where(small, 1.0, x)
    return np.where(small, 0.5 + x / 6, (np.expm1(safe) - safe) / safe**2)


def deviation(
    variance: Interval, *, step: float, fine_variance: FloatArray, fine_step: float, delta: FloatArray
) -> FloatArray:
    r"""Lemma 4: widths w with P(X > w) <= ``delta`` for centred sums X of independent scaled indicators.

    The true variance V lies in ``variance`` and no term is longer than ``step``; the terms no longer than
    ``fine_step`` alone have at least ``fine_variance``. For every θ, with ψ as in ``bennett``,

    .. math:: P(X > w) \le \exp\{-\theta w + \theta^2 V \psi(\theta\,\text{step})\}\, F(V)

    with F = 1 or A/σ + B as in ``prefactor_parts``. Its log is convex in V, so the two ends of V are enough.
    """
    level = np.log(1 / delta)
    theta = DEVIATION_TILTS[:, None] * np.sqrt(2 * level / variance.upper)
    growth = theta**2 * bennett(np.minimum(theta * step, 500.0))
    without_prefactor = (level + growth * variance.upper) / theta
    # A tilted indicator keeps at least exp(-|step|) of its variance.
    shrink = theta * np.exp(-theta * step / 2)
    widths = [without_prefactor]
    for fine, length in ((variance.lower, step), (fine_variance, fine_step)):
        inner, outer = _parts(theta * step, shrink * np.sqrt(fine), theta * length, DEVIATION_ZONE)
        ends = []
        for value in (variance.lower, variance.upper):
            with np.errstate(divide="ignore", over="ignore"):  # no variance, or none left by the tilt: no gain
                factor = inner / (shrink * np.sqrt(value)) + outer
            ends.append((level + growth * value + np.log(factor)) / theta)
        widths.append(np.maximum(*ends))
    return np.asarray(np.min(widths, axis=(0, 1)))


def _parts(
    step: ArrayLike, fine_sigma: FloatArray, fine_step: FloatArray, zone: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """A and B of Lemma 3 for one z; B is infinite where the part says nothing."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        majorant = np.where(fine_step > 0, 2 * fine_step / -np.expm1(-2 * fine_step), 1.0) / np.sqrt(2 * np.pi)
        inner = majorant * zone / np.sqrt(2 * (1 - np.cos(zone)))
        outer = (
            majorant * np.pi / 2 / fine_sigma * scipy.special.erfc(np.sqrt(2) / np.pi * zone * fine_sigma / step)
        )
    return inner, np.where(np.isnan(outer), np.inf, outer)
