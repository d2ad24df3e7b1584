"""Sharp tails: Chernoff's bound with the factor in front of the exponential that it usually gives away.

For a sum S of independent terms with E exp(S) = 1, tilting the law by exp(S) gives exactly

    P(S >= y) = exp(-y) E~[exp(-(S - y)) 1{S >= y}],

and the last factor is about 1 / (sigma sqrt(2 pi)), sigma the tilted standard deviation, not 1. The docs page
"PS-LP" proves the bound used here; it rests on the extremal majorant of Graham and Vaaler, Trans. AMS 265 (1981).
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval

ZONES = (0.25, 0.5, 1.0, 2.0, np.pi)
"""Ends of the inner zone of frequencies, in units of 1 / step: the best of them is taken."""

ZONE = 0.5
"""The one that :func:`deviation` takes: a fixed zone keeps the bound log-convex in the variance."""


def prefactor(sigma: ArrayLike, step: ArrayLike, fine_sigma: ArrayLike, fine_step: ArrayLike) -> FloatArray:
    r"""Upper bound of :math:`\tilde E[e^{-Y} 1\{Y \ge 0\}]` for a sum Y of bounded terms, elementwise, at most 1.

    ``sigma`` is a lower bound of Y's standard deviation and ``step`` an upper bound of the range of one term.
    ``fine_sigma`` and ``fine_step`` say the same of some of the terms only (or of all): with short steps the
    lattice of the others cannot be seen.

    .. math:: \frac{2 s}{1 - e^{-2 s}} \frac{1}{\sqrt{2\pi}}
        \Big(\frac{1}{\sigma\sqrt{\kappa(z)}} + \frac{\pi}{2\varsigma}\,
        \mathrm{erfc}\Big(\frac{\sqrt 2\, z \varsigma}{\pi S}\Big)\Big), \quad \kappa(z) = 2(1-\cos z)/z^2

    with s, ς the fine step and deviation, S the largest step, any 0 < z <= π.
    """
    whole, part = (np.asarray(sigma, float), np.asarray(step, float)), (np.asarray(fine_sigma, float), fine_step)
    bounds = [_factor(*whole, part[0], np.asarray(part[1], float), zone) for zone in ZONES]
    return np.asarray(np.minimum(np.min(bounds, axis=0), 1.0))


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

    with F = 1 or the :func:`prefactor`, whose logarithm is convex in V: both ends of V are enough to look at.
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
            factor = _factor(shrink * np.sqrt(value), theta * step, shrink * np.sqrt(fine), theta * length, ZONE)
            ends.append((level + growth * value + np.log(factor)) / theta)
        widths.append(np.maximum(*ends))
    return np.asarray(np.min(widths, axis=(0, 1)))


def _factor(
    sigma: FloatArray, step: FloatArray, fine_sigma: FloatArray, fine_step: FloatArray, zone: float
) -> FloatArray:
    """The formula of :func:`prefactor` without its cap at 1; infinite where it says nothing."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lattice = np.where(fine_step > 0, 2 * fine_step / -np.expm1(-2 * fine_step), 1.0) / np.sqrt(2 * np.pi)
        inner = zone / (sigma * np.sqrt(2 * (1 - np.cos(zone))))
        outer = np.pi / 2 / fine_sigma * special.erfc(np.sqrt(2) / np.pi * zone * fine_sigma / step)
        bound = lattice * (inner + outer)
    return np.where(np.isnan(bound), np.inf, bound)
