"""What is known about one period."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.monitor.calendar import Gap
from pacshift.monitor.verdict import Verdict, missed_in_words
from pacshift.tally import Tally
from pacshift.tally.grid import mean_binned_size
from pacshift.words.display import short_repr


@dataclass(frozen=True, eq=False, kw_only=True)
class PeriodReport:
    """What is known about one period.

    Under label shift, and if sizes and mixes of periods do not depend on the source or on earlier reports, the
    verdict, the error, the mix, the weights, the accuracy and the promise of the fresh certificate are right at
    once with the confidence of the monitor. The fresh certificate's ``class_miss`` and ``sensitivity`` have the
    confidence that they have in any certificate.

    Attributes
    ----------
    period : str
        Name of the period, such as ``"2026-05"``.
    start, end : str or None
        First and last day of the period, or its first and last row; None if they were not given.
    number : int
        How many reports the monitor had made, this one included. With ``forever`` it decides the share of delta.
    rows : int
        Target rows of the period that had been counted.
    epsilon : float
        Share of true labels that the sets in use may miss.
    delta : float
        Chance that the fresh certificate of this report is wrong.
    verdict : {"kept", "consistent", "broken", "refuted"}
        ``kept``: the sets in use miss at most ``epsilon`` of this period, and of every class at most the monitor's
        ``class_epsilon`` if there is one. ``broken``: they miss more. ``consistent``: neither is proven.
        ``refuted``: the rows contradict label shift, so nothing is certified.
    finding : str
        The verdict in one or two sentences.
    error : tuple of two floats, or None
        Lower and upper bound of the share of true labels that the sets in use miss; None if refuted.
    fresh : Certificate or None
        A certificate made for this period; None if refuted. It holds the label mix, weights and accuracy.
    fresh_size : float or None
        Mean size of the fresh certificate's sets in this period, estimated from coarse bins. They are made for
        ``epsilon``.
    size : float or None
        Mean size of the sets in use, which were made for ``in_use_epsilon``.
    empty : float or None
        Share of sets in use that are empty; None if rows were not at hand.
    in_use_number : int
        Number of the certificate that was in use then, as in ``Monitor.in_use``.
    source_number : int
        Which source the period was compared with: 0 for the first one, as ``Monitor.source_number`` counts.
    source_looks : int
        In how many sizes this source might have come, by the looks of its label sheets. They share ``delta``.
    in_use_epsilon : float or None
        The epsilon that the certificate in use was made for: ``size`` belongs to it, and ``fresh_size`` to
        ``epsilon``.

    Examples
    --------
    >>> from pacshift import Monitor, Population, Tally
    >>> population = Population.synthetic(["healthy", "sick"], strength=5, rng=0)
    >>> source = Tally.from_scores(*population.draw([0.9, 0.1], 4000, rng=1), classes=["healthy", "sick"])
    >>> monitor = Monitor(source, epsilon=0.1, delta=0.05)
    >>> report = monitor.update(population.draw([0.8, 0.2], 4000, rng=2)[0], period="January")
    >>> report.period, report.rows, report.verdict, report.alert
    ('January', 4000, 'kept', False)
    """

    period: str
    start: str | None
    end: str | None
    number: int
    rows: int
    epsilon: float
    delta: float
    verdict: Verdict
    finding: str
    error: tuple[float, float] | None
    fresh: Certificate | None
    fresh_size: float | None
    size: float | None
    empty: float | None
    in_use_number: int = 0
    source_number: int = 0
    source_looks: int = 1
    in_use_epsilon: float | None = None

    __repr__ = short_repr

    @property
    def missed(self) -> str | None:
        """What the sets in use miss, in words; None if refuted."""
        return None if self.error is None else missed_in_words(self.error, self.epsilon)

    @property
    def alert(self) -> bool:
        """Whether something broke: the promise, or the assumption."""
        return self.verdict in ("broken", "refuted")

    @property
    def prevalence(self) -> Interval | None:
        """Bounds of the period's label mix, where known."""
        return None if self.fresh is None else self.fresh.prevalence

    @property
    def weights(self) -> Interval | None:
        """Bounds of how many times as frequent each class is as on the source, where known."""
        return None if self.fresh is None else self.fresh.weights

    @property
    def accuracy(self) -> float | None:
        """Lower bound of the classifier's accuracy in this period, where known."""
        return None if self.fresh is None else self.fresh.accuracy


def in_use_epsilons(history: Iterable[PeriodReport]) -> list[float]:
    """What the sets in use were made for, whose sizes a history names."""
    return sorted(
        {one.in_use_epsilon for one in history if one.size is not None and one.in_use_epsilon is not None}
    )


def estimated_size(target: Tally, certificate: Certificate | None) -> float | None:
    """Mean size of a certificate's sets from the target's bins; None where they do not tell."""
    if certificate is None or target.bins is None or certificate.score != "probability":
        return None
    return mean_binned_size(target.bins, certificate.thresholds)


def timeline(history: Iterable[PeriodReport], gaps: Sequence[Gap]) -> list[PeriodReport | Gap]:
    """What there is to see along the time axis: reports in their order, each gap before what follows it."""
    found: list[PeriodReport | Gap] = []
    left = list(gaps)
    for report in history:
        while left and report.start is not None and left[0].end < report.start:
            found.append(left.pop(0))
        found.append(report)
    return [*found, *left]
