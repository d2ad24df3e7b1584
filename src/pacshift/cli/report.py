"""``pacshift report``: a certificate as one HTML page."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from pacshift.cli import options
from pacshift.cli.console import say_written
from pacshift.cli.options import basic
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift.report import ComparisonRow


def report(
    certificate_file: options.CertificateFile,
    out: Annotated[Path, basic("--out -o FILE", "The page.")] = Path("report.html"),
    comparison: Annotated[
        Path | None, basic("--comparison FILE", "Also show what `pacshift compare --json` printed.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Write one self-contained HTML page that says what is guaranteed, under which assumption, from which data.

    Example: pacshift report certificate.json -o report.html
    """
    from pacshift import Certificate
    from pacshift.cli.certificates import warn_before_use
    from pacshift.files.reading import require_regular
    from pacshift.report import write_report

    require_regular(certificate_file)  # that it is missing is the first thing to say
    options.check_output(out, force, [certificate_file, comparison])
    certificate = Certificate.load(certificate_file)
    warn_before_use(certificate, None)
    rows = None if comparison is None else read_comparison(comparison)
    write_report(certificate, out, comparison=rows, overwrite=force)
    say_written(out)


def read_comparison(path: Path) -> "list[ComparisonRow]":
    """The rows of ``pacshift compare --json``."""
    from pacshift.files.codec import parse_json
    from pacshift.files.reading import read_document
    from pacshift.methods import METHODS, Guarantee
    from pacshift.report import ComparisonRow

    content, rows = read_document(path), []
    try:
        for row in parse_json(content)["methods"]:
            size, empty, error = (
                None if row[key] is None else float(row[key]) for key in ("size", "empty", "error")
            )
            if not all(number is None or math.isfinite(number) for number in (size, empty, error)):
                raise ValueError("a number that is not finite")
            method, promise = str(row["method"]), row["guarantee"]
            if promise not in get_args(Guarantee) or (method in METHODS and promise != METHODS[method].guarantee):
                raise ValueError(f"method {method} with guarantee {promise!r}")
            trivial, note = row["trivial"] is True, str(row["note"])
            rows.append(ComparisonRow(method, promise, size, empty, error, trivial, note))
        return rows
    except (ValueError, KeyError, TypeError) as fault:
        raise InputError(
            f"{path} is not what `pacshift compare --json` prints ({fault!r}). Make it again."
        ) from None
