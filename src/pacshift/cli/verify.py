"""``pacshift verify``: make a certificate again from its data. Is it the same?"""

import typer

from pacshift.cli import options
from pacshift.cli.console import BROKEN, plain, print_json, results
from pacshift.words.verdicts import COLOURS, VERDICTS


def verify(
    certificate_file: options.CertificateFile,
    *,
    files: options.Files = None,
    labels: options.TargetLabels,
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
        labels,
        like=certificate,
        silent=as_json,
    )
    verification = pacshift.verify(certificate_file, *data, labelled=labels.labelled)
    if as_json:
        parts = ("verdict", "differences", "provenance_differences", "unverified")
        print_json({name: getattr(verification, name) for name in parts})
    else:
        verdict, (first, *rest) = VERDICTS[verification.verdict], map(plain, verification.text.splitlines())
        results().print("\n".join([f"[{COLOURS[verdict.tone]}]{verdict.word}[/]: {first}", *rest]))
    if verification.verdict == "mismatch":
        raise typer.Exit(BROKEN)
