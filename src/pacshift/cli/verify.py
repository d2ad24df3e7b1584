"""``pacshift verify``: make a certificate again from its data. Is it the same?"""

from typing import Annotated

import typer

from pacshift.cli import options
from pacshift.cli.console import BROKEN, plain, print_json, results
from pacshift.cli.options import known
from pacshift.words.verdicts import COLOURS, VERDICTS


def verify(
    certificate_file: options.CertificateFile,
    *,
    files: options.Files = None,
    target_label: Annotated[
        str | None,
        known(
            "--target-label COLUMN",
            "Column of the target's labels, if the certificate was made with them.",
            of_rows=True,
        ),
    ] = None,
    labelled: options.Labelled = None,
    as_json: options.Json = False,
) -> None:
    """Recompute a certificate from its data and compare.

    Method, columns, options, seed and all else are read from the certificate. Exit code 4: these data do not give
    it.

    Example: pacshift verify certificate.json source.parquet target.parquet
    """
    import pacshift
    from pacshift.cli.certificates import label_column
    from pacshift.cli.inputs import open_data
    from pacshift.rows.arrow.find import ReadOptions

    certificate = pacshift.Certificate.load(certificate_file)
    known = certificate.columns
    data = open_data(
        files,
        ReadOptions(
            label=label_column(certificate),
            group=None if known is None else known.group,
            drop_invalid=1.0,  # rows are left out again, and compared with those on record
        ),
        like=certificate,
        silent=as_json,
        target_label=target_label,
        labelled=labelled,
    )
    verification = pacshift.verify(certificate_file, *data, labelled=labelled)
    if as_json:
        parts = ("verdict", "differences", "provenance_differences", "unverified")
        print_json({name: getattr(verification, name) for name in parts})
    else:
        verdict, (first, *rest) = VERDICTS[verification.verdict], map(plain, verification.text.splitlines())
        results().print("\n".join([f"[{COLOURS[verdict.tone]}]{verdict.word}[/]: {first}", *rest]))
    if verification.verdict == "mismatch":
        raise typer.Exit(BROKEN)
