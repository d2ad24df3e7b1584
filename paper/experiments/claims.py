"""What section 4 of the paper and its appendices claim, and how often the trials agree.

Verdicts use the true error, which has no noise of a test draw; the counts give both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from paper.experiments.runner import PanelResult
from paper.experiments.summary import MethodSummary, number, summarise

SIMILAR_SIZES = ("cifar10-small",)
"""Where the paper finds PS-W and PS-C about equally large: a small shift and limited data."""


@dataclass(frozen=True)
class Claim:
    """One claim, whether the trials support it, and the counts behind the verdict."""

    text: str
    verdict: str
    counts: str


def check_claims(results: Sequence[PanelResult]) -> tuple[Claim, ...]:
    """Check every claim whose methods and panels are among the results."""
    table = Table(results)
    claims = [
        *(table.keeps(name, f"{name} keeps the guarantee in all trials") for name in ("PS-W", "PS-C", "PS-LP")),
        table.smaller(
            "PS-W", "PS-C", "PS-W gives smaller sets than PS-C, small shift of CIFAR-10 aside", alike=False
        ),
        table.smaller("PS-W", "PS-C", "at the small shift of CIFAR-10 the two are alike", alike=True),
        *(table.violates(name, f"{name} violates the guarantee") for name in ("PS", "PS-R", "WCP")),
        table.smaller("PS-W", "PS-LW", "PS-LW is more conservative than PS-W"),
        table.violates("LWCP", "LWCP holds on average, not for every draw"),
        table.violates("APS", "PS on APS scores does not hold the guarantee"),
        table.near_oracle("PS-W", "PS-W comes close to the oracle that knows the weights"),
        table.near_oracle("PS-LP", "PS-LP (ours) comes close to the oracle"),
        table.smaller("PS-LP", "PS-W", "PS-LP (ours) gives smaller sets than PS-W"),
    ]
    return tuple(claim for claim in claims if claim is not None)


class Table:
    """Summaries by panel and method."""

    def __init__(self, results: Sequence[PanelResult]) -> None:
        self.panels = [(result, {row.method: row for row in summarise(result)}) for result in results]

    def having(self, *methods: str) -> list[tuple[PanelResult, list[MethodSummary]]]:
        """Panels where all ``methods`` ran, with their summaries."""
        return [(panel, [of[name] for name in methods]) for panel, of in self.panels if of.keys() >= {*methods}]

    def keeps(self, method: str, text: str) -> Claim | None:
        """No trial whose true error is above ε, anywhere."""
        rows = [row for _, (row,) in self.having(method)]
        if not rows:
            return None
        bad = [f"{row.panel} {row.truly_above}" for row in rows if row.truly_above]
        refused = sum(row.refused for row in rows)
        counts = _above(rows) + (f" ({_names(bad)})" if bad else "")
        counts += f"; {refused} refused (label shift refuted)" if refused else ""
        return Claim(text, "not in all" if bad else "holds", counts)

    def violates(self, method: str, text: str) -> Claim | None:
        """Some trials whose true error is above ε, on as many panels as there are."""
        rows = [row for _, (row,) in self.having(method)]
        if not rows:
            return None
        bad = [row for row in rows if row.truly_above]
        kept = [row.panel for row in rows if not row.truly_above]
        verdict = "holds" if not kept else "on some panels" if bad else "not seen here"
        also = f"; on {len(bad)} of {len(rows)} panels" + (f", not on {_names(kept)}" if bad and kept else "")
        return Claim(text, verdict, _above(rows) + also)

    def smaller(self, first: str, second: str, text: str, *, alike: bool | None = None) -> Claim | None:
        """Mean size of ``first`` below that of ``second`` on every panel (``alike``: within a tenth of it)."""
        panels = [
            (result, rows)
            for result, rows in self.having(first, second)
            if alike is None or (result.panel.row in SIMILAR_SIZES) == alike
        ]
        if not panels:
            return None
        ratios = [a.mean_size / b.mean_size for _, (a, b) in panels]
        good = [abs(ratio - 1) <= 0.1 if alike else ratio < 1 for ratio in ratios]
        verdict = "holds" if all(good) else "on some panels" if any(good) else "does not hold"
        word = "within 10 %" if alike else "smaller"
        span = f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else f"{ratios[0]:.2f}"
        counts = f"{word} on {sum(good)} of {len(good)} panels; size ratio {first}/{second} {span}"
        larger = [result.name for (result, _), is_good in zip(panels, good, strict=True) if not is_good]
        return Claim(text, verdict, counts + (f"; not on {_names(larger)}" if any(good) and larger else ""))

    def near_oracle(self, method: str, text: str) -> Claim | None:
        """Within a tenth of the oracle's size."""
        panels = self.having(method, "ORACLE")
        if not panels:
            return None
        near = [a.mean_size / b.mean_size <= 1.1 for _, (a, b) in panels]
        verdict = "holds" if all(near) else "on some panels" if any(near) else "does not hold"
        sizes = [
            f"{result.name} {number(a.mean_size, 3)} against {number(b.mean_size, 3)}" for result, (a, b) in panels
        ]
        return Claim(text, verdict, "; ".join(sizes))


def _above(rows: Sequence[MethodSummary]) -> str:
    """Trials above ε as measured and, where that differs, without the noise of the test draw."""
    above, truly, trials = (sum(getattr(row, key) for row in rows) for key in ("above", "truly_above", "trials"))
    if above == truly:
        return f"error above ε in {above} of {trials} trials"
    return f"true error above ε in {truly} of {trials} trials (on the test rows in {above})"


def _names(panels: Sequence[str], most: int = 6) -> str:
    """A list short enough for a table."""
    more = f" and {len(panels) - most} more" if len(panels) > most else ""
    return ", ".join(panels[:most]) + more
