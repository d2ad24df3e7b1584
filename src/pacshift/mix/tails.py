"""Tails with their prefactor: Chernoff's bound with the factor in front that it usually gives away.

For a sum S of independent terms with E exp(S) = 1, tilting the law by exp(S) gives exactly (Lemma 1)

    P(S >= y) = exp(-y) E~[exp(-(S - y)) 1{S >= y}],

and the last factor is about 1 / (sigma sqrt(2 pi)), sigma the tilted standard deviation, not 1. Lemmas 1 to 4 of
the proof page (docs/methods/ps-lp-proof.md, section "Tails with their prefactor") are here.
"""

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import FloatArray, scipy
from pacshift.bounds import Interval

FREQUENCY_ZONES = (0.25, 0.5, 1.0, 2.0, np.pi)
"""Values of z tried in Lemma 3: ends of the inner zone of frequencies, in units of 1 / step.
Only 1: middle +0.1 %."""

DEVIATION_ZONE = 0.5
"""The z that ``deviation`` uses: a fixed one keeps the bound log-convex in the variance.
With 0.25 or 1: middle +0.1 or -0.1 %."""

DEVIATION_TILTS = np.array([1.15, 1.0, 0.85, 0.7, 0.5, 0.3, 0.15])
"""Values of θ tried in Lemma 4, as shares of the best one for a normal law; each is valid, the best is taken.
With 2 or 26 values nothing changes."""


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


def prefactor(sigma: FloatArray, step: ArrayLike, fine_sigma: FloatArray, fine_step: ArrayLike) -> FloatArray:
    """Lemma 3: A / σ + B at the best of the zones, elementwise, as in ``prefactor_parts``."""
    shape = np.broadcast_shapes(*(np.shape(each) for each in (sigma, step, fine_sigma, fine_step)))
    zones = np.array(FREQUENCY_ZONES).reshape(-1, *[1] * len(shape))
    inner, outer = _parts(step, fine_sigma, np.asarray(fine_step), zones)
    with np.errstate(divide="ignore"):
        total = inner / sigma + outer
    return np.asarray(np.where(np.isnan(total), np.inf, total).min(axis=0))


def bennett(x: ArrayLike) -> FloatArray:
    """The function ψ of Lemma 4: (exp(x) - 1 - x) / x², which bounds cumulants in Bennett's inequality."""
    x = np.asarray(x, float)
    small = np.abs(x) < 1e-4
    safe = np.where(small, 1.0, x)
    return np.where(small, 0.5 + x / 6 + x**2 / 20, (np.expm1(safe) - safe) / safe**2)  # the next term is x²/24


def bernstein_upper(count: ArrayLike, total: ArrayLike, *, delta: float) -> FloatArray:
    """Step "Boxes": a rate is at most this with probability at least ``1 - delta``, by Bernstein's inequality.

    A little above the exact bound and a hundred times as quick. With c = 2 log(1/δ) / m it is the largest p with
    (p - p̂)² <= c (p (1 - p) + (p - p̂) / 3).

    >>> bernstein_upper([0, 5], 10, delta=0.05).round(3)
    array([0.5  , 0.875])
    """
    total = np.maximum(np.asarray(total, float), 1)
    rate, c = np.asarray(count) / total, -2 * np.log(delta) / total
    middle = 2 * rate + 4 * c / 3
    root = np.sqrt(np.maximum(middle**2 - 4 * (1 + c) * (rate**2 + c * rate / 3), 0.0))
    return np.asarray(np.minimum((middle + root) / (2 * (1 + c)) * (1 + 1e-12), 1.0))


def deviation(
    variance: Interval, *, step: float, fine_variance: FloatArray, fine_step: float, delta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Lemma 4: lines a + b (V - ``variance.lower``) with P(X > a + b (V - ``variance.lower``)) <= ``delta``.

    X is a centred sum of independent scaled indicators, V its true variance, anywhere in ``variance``; b >= 0. No
    term is longer than ``step``; the terms no longer than ``fine_step`` alone have at least ``fine_variance``. For
    every θ, with ψ as in ``bennett``,

    .. math:: P(X > w) \le \exp\{-\theta w + \theta^2 V \psi(\theta\,\text{step})\}\, F(V)

    with F = 1 or A/σ + B as in ``prefactor_parts``. The width w that makes this ``delta`` is convex in V. So it
    lies below the chord between its two ends, which is returned for the θ that is best in the middle.
    """
    level = np.log(1 / delta)
    theta = DEVIATION_TILTS[:, None] * np.sqrt(2 * level / variance.upper)
    growth = theta**2 * bennett(np.minimum(theta * step, 500.0))
    # A tilted indicator keeps at least exp(-|step|) of its variance.
    shrink = theta * np.exp(-theta * step / 2)
    ends = [[(level + growth * value) / theta for value in (variance.lower, variance.upper)]]
    for fine, length in ((variance.lower, step), (fine_variance, fine_step)):
        inner, outer = _parts(theta * step, shrink * np.sqrt(fine), theta * length, DEVIATION_ZONE)
        with np.errstate(divide="ignore", over="ignore"):  # no variance, or none left by the tilt: no gain
            factors = [inner / (shrink * np.sqrt(value)) + outer for value in (variance.lower, variance.upper)]
        values = zip((variance.lower, variance.upper), factors, strict=True)
        ends.append([(level + growth * value + np.log(factor)) / theta for value, factor in values])
    low, high = (np.concatenate(end) for end in zip(*ends, strict=True))
    high = np.maximum(low, high)
    best = np.argmin(low + high, axis=0)
    low, high = (np.take_along_axis(end, best[None], axis=0)[0] for end in (low, high))
    spread = variance.upper - variance.lower
    return low, np.divide(high - low, spread, out=np.zeros_like(low), where=spread > 0)


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
