"""``pacshift report``: a certificate as one HTML page."""

from pathlib import Path
from typing import Annotated

from pacshift.cli import options
from pacshift.cli.console import say_written
from pacshift.cli.options import basic


def report(
    certificate_file: options.CertificateFile,
    out: Annotated[Path, basic("--out -o FILE", "Page to write.")] = Path("report.html"),
    force: options.Force = False,
) -> None:
    """Write a certificate as one HTML page.

    Example: pacshift report certificate.json -o report.html
    """
    from pacshift import Certificate
    from pacshift.cli.certificates import warn_before_use
    from pacshift.files.reading import require_regular
    from pacshift.report import write_report

    require_regular(certificate_file)  # that it is missing is the first thing to say
    options.check_output(out, [certificate_file])
    certificate = Certificate.load(certificate_file)
    options.require_new(out, force)
    warn_before_use(certificate, None)
    write_report(certificate, out, overwrite=force)
    say_written(out)
