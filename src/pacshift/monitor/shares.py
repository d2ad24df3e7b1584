"""How δ is spent over the reports of a monitor ("Shares of δ" of docs/methods/monitor.md)."""

SOURCE_SHARE = 0.1
"""Share of δ for the miss rates of the source. It is spent once, however many reports there are."""


def report_delta(delta: float, number: int, *, forever: bool) -> float:
    """δ of the fresh certificate of report ``number``, counted from 1 over all reports of a monitor.

    A report by itself gets what the source leaves over. ``forever`` uses the series 1 / (i (i + 1)),
    which adds up to 1.
    Every look at a period is a report with a number of its own, so a period that late rows open again pays again.

    >>> report_delta(0.1, 3, forever=False), round(report_delta(0.1, 3, forever=True), 6)
    (0.09000000000000001, 0.0075)
    """
    whole = (1 - SOURCE_SHARE) * delta
    return whole / (number * (number + 1)) if forever else whole


def source_delta(delta: float) -> float:
    """δ of the band around the source's miss rates.

    >>> source_delta(0.1)
    0.010000000000000002
    """
    return SOURCE_SHARE * delta
