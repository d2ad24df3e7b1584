"""Curves from score rows: sharper than those from counts, because rows show all scores at once.

"How the path is chosen" of the proof (docs/methods/ps-lp-proof.md): posteriors by vector scaling on held-out rows,
moved to the target's mix, and per class the isotonic regression of the posterior on the class's own score over
target rows. Everything here may be wrong without harm to the guarantee; it then costs size.
"""

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.paths.isotonic import IsotonicCurves, fit_isotonic
from pacshift.paths.posterior import Posterior, fit_posterior, log_evidence
from pacshift.ps_lp.held_out import HeldOutRows

MIN_HELD_OUT, MIN_TARGET = 10, 200
"""Held-out rows of every class, and target rows, that curves from rows need; with fewer they come from counts.
Round numbers: a slope and an offset are fitted to each class."""


def enough_rows(rows: HeldOutRows) -> bool:
    """Whether curves can be fitted to the rows."""
    n_classes = rows.scores.shape[1]
    held = np.bincount(rows.labels, minlength=n_classes)
    return bool(held.min() >= MIN_HELD_OUT and len(rows.target) >= MIN_TARGET)


def fit_row_curves(rows: HeldOutRows, mix: FloatArray) -> IsotonicCurves:
    """Where each class's posterior lies along its own score, for a target mix ("How the path is chosen").

    The mix is that of ``score_curves.estimated_mix``. The mix of largest likelihood (EM on target rows) is nearer
    to the truth, but gives sets that are 0.2 % larger with 20,000 rows and 0.6 % with 5,000 (development): like
    the region, the guess makes allowance for classes that may be frequent.
    """
    share = np.bincount(rows.labels, minlength=len(mix)) / len(rows.labels)
    fitted, evidence = fit_posterior(log_evidence(rows.scores), rows.labels), log_evidence(rows.target)
    on_target = Posterior(fitted.slopes, fitted.offsets + np.log(mix / share))
    return fit_isotonic(rows.target, on_target.of(evidence))
