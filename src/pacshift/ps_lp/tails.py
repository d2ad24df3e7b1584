"""Sharp tails: Chernoff's bound with the factor in front of the exponential that it usually gives away.

For a sum S of independent terms with E exp(S) = 1, tilting the law by exp(S) gives exactly

    P(S >= y) = exp(-y) E~[exp(-(S - y)) 1{S >= y}],

and the last factor is about 1 / (sigma sqrt(2 pi)), sigma the tilted standard deviation, not 1. The docs page
"PS-LP" proves the bound used here; it rests on the extremal majorant of Graham and Vaaler, Trans. AMS 265 (1981).
"""

import numpy as np
import scipy  # its parts load when first used
from numpy.typing import ArrayLike

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval

ZONES = (0.25, 0.5, 1.0, 2.0, np.pi)
"""Ends of the inner zone of frequencies, in units of 1 / step: the best of them is taken."""

ZONE = 0.5
"""The one that :func:`deviation` takes: a fixed zone keeps the bound log-convex in the variance."""


def prefactor_parts(
    sigma: float, step: float, fine_sigma: FloatArray, fine_step: FloatArray
) -> tuple[float, float]:
    r"""Numbers A, B with :math:`\tilde E[e^{-Y} 1\{Y \ge 0\}] \le A/\sigma + B` for a sum Y of bounded terms.

    σ is Y's standard deviation, at least ``sigma``, and ``step`` bounds the range of one term. ``fine_sigma[k]``
    and ``fine_step[k]`` say the same of a part k of the terms: where its steps are short and it varies enough,
    the lattice of the others cannot be seen. The best part and zone at ``sigma`` are taken, all are valid:

    .. math:: A = \frac{2 s}{1 - e^{-2 s}} \frac{1}{\sqrt{2\pi\kappa(z)}}, \quad B =
        \frac{2 s}{1 - e^{-2 s}} \frac{1}{\sqrt{2\pi}} \frac{\pi}{2\varsigma}
        \mathrm{erfc}\Big(\frac{\sqrt 2\, z \varsigma}{\pi S}\Big), \quad \kappa(z) = \frac{2(1-\cos z)}{z^2}

    with s, ς the step and deviation of the part, S the largest step and 0 < z <= π.
    """
    zones = np.array(ZONES)[:, None]
    inner, outer = _parts(step, fine_sigma, fine_step, zones)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = inner / sigma + outer
    best = int(np.argmin(np.where(np.isnan(total), np.inf, total)))
    return float(inner.flat[best]), float(outer.flat[best])


def lattice_prefactor(total: IntArray, stake: Interval, rate: Interval) -> FloatArray:
    r"""The same factor from one binomial among the terms, whatever the others do, elementwise, at most 1.

    The log-wealth of ``total`` bets moves in steps :math:`u = \log\frac{1 + x e}{1 - x (1 - e)}` for a stake x and
    a miss rate e, so :math:`\tilde E[e^{-Y} 1\{Y \ge 0\}] \le p / (1 - e^{-u})` with p the largest probability of
    one count; by Fourier :math:`p \le e^{-s} I_0(s)`, s its tilted variance.
    """
    shortest = np.log1p(stake.lower * rate.upper) - np.log1p(-stake.lower * (1 - rate.upper))
    kept = np.minimum(*((1 + x * rate.lower) * (1 - x * (1 - rate.lower)) for x in (stake.lower, stake.upper)))
    spread = np.minimum(rate.lower * (1 - rate.lower), rate.upper * (1 - rate.upper))
    with np.errstate(divide="ignore"):
        bound = scipy.special.ive(0, total * spread * kept) / -np.expm1(-shortest)
    return np.asarray(np.minimum(bound, 1.0))


def bennett(x: ArrayLike) -> FloatArray:
    """(exp(x) - 1 - x) / x², the growth of a bounded variable's cumulants in Bennett's inequality."""
    x = np.asarray(x, float)
    small = np.abs(x) < 1e-4
    safe = np.where(small, 1.0, x)
    return np.where(small, 0.5 + x / 6, (np.expm1(safe) - safe) / safe**2)


TILTS = np.array([1.15, 1.0, 0.85, 0.7, 0.5, 0.3, 0.15])
"""Tilts tried, as shares of the one that suits a normal law; each is valid, the best is taken."""


def deviation(
    variance: Interval, *, step: float, fine_variance: FloatArray, fine_step: float, delta: FloatArray
) -> FloatArray:
    r"""Width w with P(X > w) <= ``delta`` for centred sums X of independent scaled indicators, elementwise.

    The true variance lies in ``variance``, no term is longer than ``step``; the terms no longer than
    ``fine_step`` alone have at least ``fine_variance``. For every θ, with φ as in :func:`bennett`,

    .. math:: P(X > w) \le \exp\{-\theta w + \theta^2 V \varphi(\theta\,\text{step})\}\, F(V)

    with F = 1 or A/σ + B as in :func:`prefactor_parts`, whose log is convex in V: its two ends are enough.
    """
    level = np.log(1 / delta)
    theta = TILTS[:, None] * np.sqrt(2 * level / variance.upper)
    growth = theta**2 * bennett(np.minimum(theta * step, 500.0))
    plain = (level + growth * variance.upper) / theta
    # A tilted indicator keeps at least exp(-|step|) of its variance.
    shrink = theta * np.exp(-theta * step / 2)
    widths = [plain]
    for fine, length in ((variance.lower, step), (fine_variance, fine_step)):
        ends = []
        for value in (variance.lower, variance.upper):
            inner, outer = _parts(theta * step, shrink * np.sqrt(fine), theta * length, ZONE)
            with np.errstate(divide="ignore", over="ignore"):  # no variance, or none left by the tilt: no gain
                factor = inner / (shrink * np.sqrt(value)) + outer
            ends.append((level + growth * value + np.log(factor)) / theta)
        widths.append(np.maximum(*ends))
    return np.asarray(np.min(widths, axis=(0, 1)))


def _parts(
    step: ArrayLike, fine_sigma: FloatArray, fine_step: FloatArray, zone: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """A and B of :func:`prefactor_parts`; B is infinite where the part says nothing."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lattice = np.where(fine_step > 0, 2 * fine_step / -np.expm1(-2 * fine_step), 1.0) / np.sqrt(2 * np.pi)
        inner = lattice * zone / np.sqrt(2 * (1 - np.cos(zone)))
        outer = (
            lattice * np.pi / 2 / fine_sigma * scipy.special.erfc(np.sqrt(2) / np.pi * zone * fine_sigma / step)
        )
    return inner, np.where(np.isnan(outer), np.inf, outer)
