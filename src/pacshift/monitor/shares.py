"""How δ is spent over the reports and sources of a monitor ("Shares of δ" and "A new source" of its page)."""

SOURCE_SHARE = 0.1
"""Share of δ for the miss rates of the first source. It is spent once, however many reports there are.
A round number; not measured."""
NEW_SOURCES_SHARE = 0.02
"""Share of δ for the miss rates of all later sources together, where reports hold simultaneously: what the other
two leave. So nothing changes before there is a new source."""
FRESH_SHARE = 0.8
"""Share of δ for the fresh certificates. What is left covers the test of label shift, at a tenth of theirs.
A round number; not measured."""


def report_delta(delta: float, number: int, *, forever: bool, looks: int = 1) -> float:
    """δ of the fresh certificate of report ``number``, counted from 1 over all reports of a monitor.

    A report by itself gets the whole share. ``forever`` uses the series 1 / (i (i + 1)), which adds up to 1. Every
    look at a period is a report with a number of its own, so a period that late rows open again pays again.
    ``looks`` is in how many sizes the source might have come: each of them gets an equal part.

    >>> round(report_delta(0.1, 3, forever=False), 6), round(report_delta(0.1, 3, forever=True), 6)
    (0.08, 0.006667)
    """
    whole = FRESH_SHARE * delta / looks
    return whole / (number * (number + 1)) if forever else whole


def source_delta(delta: float, number: int = 0, *, forever: bool = False, looks: int = 1) -> float:
    """δ of the band around the miss rates of a source with ``number`` labelled periods so far; 0 is the first one.

    A report by itself uses one source, which gets the whole share. ``forever`` later sources share by the series.
    ``looks`` is in how many sizes the source might have come, as in ``report_delta``.

    >>> round(source_delta(0.1), 6), round(source_delta(0.1, 1, forever=True), 6)
    (0.01, 0.001)
    """
    if number and forever:
        return NEW_SOURCES_SHARE * delta / looks / (number * (number + 1))
    return SOURCE_SHARE * delta / looks
