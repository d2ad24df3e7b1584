"""``pacshift verify``: make a certificate again from its data. Is it the same?"""

from typing import Annotated

import typer

from pacshift.cli import options
from pacshift.cli.console import BROKEN, plain, print_json, results
from pacshift.cli.options import known


def verify(
    certificate_file: options.CertificateFile,
    *,
    files: options.Files,
    label: options.KnownLabel = None,
    target_label: Annotated[
        str | None, known("--target-label COLUMN", "The target's labels, if the certificate was made with them.")
    ] = None,
    labelled: options.Labelled = None,
    printing: options.Printing,
) -> None:
    """Make a certificate again from its SOURCE and TARGET, and say whether it is the same.

    Method, options, seed and all else are read from the certificate. Exit code 4: these data do not give it.

    Example: pacshift verify certificate.json source.parquet target.parquet
    """
    from pacshift import Certificate
    from pacshift.certification.label_sheet import LabelSheet
    from pacshift.certification.verify import verify_rows
    from pacshift.cli.certificates import tally_inputs
    from pacshift.cli.inputs import load_tallies, open_both

    options.require_one_way(target_label, labelled)
    certificate = Certificate.load(certificate_file)
    if files.are_tallies:
        options.require_no_table(target_label, labelled)
        inputs = tally_inputs(files.named)
        found = verify_rows(certificate_file, load_tallies(files.named), None, inputs=inputs)
    else:
        known = certificate.columns
        rows = open_both(
            **files.split(),
            label=label or (None if known is None else known.label) or "label",
            classes=certificate.classes,
            columns=known,
            group=None if known is None else known.group,
            softmax=certificate.softmax,
            drop_invalid=True,  # rows are left out again, and compared with those on record
            target_label=target_label,
            some_labels=True,
            labels_per=None if certificate.target_grouped is None else certificate.target_grouped.labels_per,
            silent=printing.silent,
        )
        sheet = None if labelled is None else LabelSheet.load(labelled)
        found = verify_rows(certificate_file, *rows, labelled=sheet, named=known is not None)
    if printing.as_json:
        parts = ("verdict", "differences", "provenance_differences", "unverified")
        print_json({name: getattr(found, name) for name in parts})
    else:
        console, (first, *rest) = results(), found.text.splitlines()
        colour = {"different": "red", "equal": "green"}.get(found.verdict, "yellow")
        console.print(f"[{colour}]{found.verdict}[/]: {plain(first)}")
        for line in rest:
            console.print(plain(line))
    if found.verdict == "different":
        raise typer.Exit(BROKEN)
