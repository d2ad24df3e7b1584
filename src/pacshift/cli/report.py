"""``pacshift report``: a certificate as one HTML page."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacshift.certificate import Certificate
from pacshift.cli import options
from pacshift.cli.console import plain, print_json, results
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift.report import ComparisonRow


def report(
    certificate_file: options.CertificateFile,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page.")] = Path("report.html"),
    comparison: Annotated[
        Path | None,
        typer.Option("--comparison", metavar="FILE", help="Also show what `pacshift compare --json` printed."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write one self-contained HTML page: what is guaranteed, under which assumption, from which data.

    Example: pacshift report certificate.json -o report.html
    """
    from pacshift.report import write_report

    options.require_free(out, force)
    certificate = Certificate.load(certificate_file)
    rows = None if comparison is None else read_comparison(comparison)
    write_report(certificate, out, comparison=rows, overwrite=force)
    if as_json:
        print_json({"report": str(out)})
    elif not quiet:
        results().print(f"written: {plain(out)}")


def read_comparison(path: Path) -> "list[ComparisonRow]":
    """The rows of ``pacshift compare --json``."""
    from pacshift.report import ComparisonRow

    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["methods"]
        return [ComparisonRow(**{name: row[name] for name in ComparisonRow.__slots__}) for row in rows]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path} is not what `pacshift compare --json` prints ({error!r}). Make it again."
        ) from None
