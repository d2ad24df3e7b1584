"""The whole test: from a tally to the evidence for or against label shift."""

from pacshift.arrays import FloatArray
from pacshift.assumption.evidence import Assumption
from pacshift.bounds import Interval
from pacshift.errors import AssumptionError
from pacshift.ps_lp.region import prevalence_region
from pacshift.tally import Tally

ASSUMPTION_SHARE = 0.1
"""Share of delta at which the test refuses although label shift holds."""


def check_assumption(
    tally: Tally, *, level: float, known: Interval | None = None, contamination: float = 0.0
) -> Assumption:
    """Test whether the target is a mix of the source's classes.

    Parameters
    ----------
    tally : Tally
        Counts of source and target.
    level : float
        Largest chance that the test refuses although label shift holds.
    known : Interval, optional
        Bounds of the target's label mix that are surely right, arrays of length K.
    contamination : float, default 0
        Largest share of the target that need not be label-shifted at all.

    Returns
    -------
    Assumption
        The evidence; a refutation is said there, not raised.

    Examples
    --------
    >>> scores, labels = np.tile([[0.9, 0.1], [0.2, 0.8]], (500, 1)), np.tile([0, 1], 500)
    >>> tally = Tally.from_scores(scores, labels) + Tally.from_target(scores)
    >>> check_assumption(tally, level=0.005).refuted
    False
    """
    finding, refuted = "No difference was found.", False
    try:
        prevalence_region(
            tally.confusion,
            tally.target,
            delta=level,
            classes=tally.classes,
            known=known,
            contamination=contamination,
        )
    except AssumptionError as refusal:
        finding, refuted = str(refusal), True
    share: FloatArray = tally.target / tally.n_target
    return Assumption(
        level=level,
        refuted=refuted,
        mix=share,
        groups=tuple(f"predicted {name!r}" for name in tally.classes),
        observed=share,
        explained=share,
        allowed=Interval(share, share),
        finding=finding,
        noticeable=(),
    )
