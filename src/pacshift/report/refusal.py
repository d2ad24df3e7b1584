"""A refusal as one HTML page: where the target differs, and the ways on."""

import os

from pacshift.assumption import OTHER_WAYS
from pacshift.certification.after_refusal import too_small
from pacshift.errors import AssumptionError
from pacshift.report.page import render, write_page
from pacshift.report.pictures import drawn, groups_picture
from pacshift.words.numbers import capital, one_of


def write_refusal(error: AssumptionError, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a refusal as one HTML page that loads nothing and runs no scripts.

    Parameters
    ----------
    error : AssumptionError
        What ``calibrate`` raised.
    path : path
        The file. It is written whole or not at all.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the file exists and may not be replaced, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pacshift import AssumptionError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_refusal(AssumptionError("label shift is refuted."), Path(folder) / "refused.html")
    """
    write_page(render_refusal(error), path, overwrite=overwrite)


def render_refusal(error: AssumptionError) -> str:
    """Return the HTML page of ``write_refusal`` as text.

    Parameters
    ----------
    error : AssumptionError
        What ``calibrate`` raised.

    Returns
    -------
    str

    Examples
    --------
    >>> import pacshift
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500
    >>> try:
    ...     certificate = pacshift.calibrate(scores, labels, [[0.6, 0.4], [0.4, 0.6]] * 500)
    ... except pacshift.AssumptionError as refusal:
    ...     page = render_refusal(refusal)
    >>> page[:15], "pacshift.label_sheet(target, budget=400" in page
    ('<!doctype html>', True)
    """
    tested, attempt = error.assumption, error.attempt
    return render(
        "refusal.html",
        refusal=capital(error.refusal),
        tested=tested,
        pictures=drawn({} if tested is None else {"groups": groups_picture(tested)}),
        expected_sizes=error.expected_sizes,
        attempt=attempt,
        looks="" if attempt is None else one_of([f"{look:,}" for look in attempt.looks]),
        too_small="" if attempt is None or attempt.looks else f"{too_small(attempt)}.",
        other_ways=OTHER_WAYS if attempt is None else attempt.other_ways,
    )
