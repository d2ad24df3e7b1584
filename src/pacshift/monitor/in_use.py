"""The certificate in use: which one it is, and who chose it. A choice persists until there is another one."""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pacshift.certificate import Certificate
from pacshift.words.numbers import given

Choice: TypeAlias = Literal["first", "given", "adopted", "labelled"]
"""The fresh certificate of the first period, the one that the monitor was started with, an adopted one, or the one
that came with a new source."""


@dataclass(frozen=True, slots=True, eq=False)
class InUse:
    """The certificate in use.

    Parameters
    ----------
    certificate : Certificate
        The certificate itself.
    number : int
        How many certificates have been in use, this one included.
    choice : {"first", "given", "adopted", "labelled"}
        Why it is in use: as the fresh certificate of the first period, as the one the monitor was started with,
        because it was adopted, or because it came with a new source.
    period : str or None
        The period whose fresh certificate it is, or whose labels made it; None for one made elsewhere.

    Examples
    --------
    >>> from pacshift import Monitor, Population, Tally
    >>> population = Population.synthetic(["healthy", "sick"], strength=5, rng=0)
    >>> source = Tally.from_scores(*population.draw([0.9, 0.1], 4000, rng=1), classes=["healthy", "sick"])
    >>> monitor = Monitor(source, epsilon=0.1, delta=0.05)
    >>> report = monitor.update(population.draw([0.8, 0.2], 4000, rng=2)[0], period="January")
    >>> monitor.in_use.number, monitor.in_use.choice, monitor.in_use.period
    (1, 'first', 'January')
    """

    certificate: Certificate
    number: int
    choice: Choice
    period: str | None = None

    @property
    def in_words(self) -> str:
        """Which certificate it is, and how it was made."""
        made = self.certificate
        which = "the certificate that was given" if self.choice == "given" else "a certificate made elsewhere"
        if self.period is not None:
            kind = "certificate by labelled rows" if self.choice == "labelled" else "fresh certificate"
            which = f"the {kind} of {self.period}"
        how = {"first": ", the first period", "adopted": ", adopted"}.get(self.choice, "")
        return f"{which}{how} ({made.method}, epsilon {given(made.epsilon)}, made {made.provenance.created})"


def use_digest(certificate: Certificate) -> str:
    """SHA-256 of what a certificate does and for whom. When it was made and by which version does not matter."""
    made = certificate.provenance
    origin = made.model_id, made.valid_until
    facts = [[float(cut).hex() for cut in certificate.thresholds], certificate.never_empty, certificate.score]
    return hashlib.sha256(json.dumps([*facts, *origin]).encode()).hexdigest()
