"""``pacshift verify``: make a certificate again from its data. Is it the same?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacshift.cli import options
from pacshift.cli.console import BROKEN, plain, print_json, results
from pacshift.cli.options import known

if TYPE_CHECKING:
    from pacshift import Certificate, Verification
    from pacshift.arrays import FloatArray, IntArray
    from pacshift.certification.certify import Data
    from pacshift.cli.inputs import Inputs


def verify(
    certificate_file: options.CertificateFile,
    *,
    files: options.Files,
    tallies: options.Tallies = False,
    label: options.KnownLabel = None,
    scores: options.KnownScores = None,
    by_position: options.ByPosition = False,
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

    options.require_one_way(target_label, labelled)
    certificate = Certificate.load(certificate_file)
    if tallies:
        options.require_no_table(target_label, labelled)
        found = _from_tallies(certificate_file, files.paths or ())
    else:
        columns = {"label": label, "scores": scores, "by_position": by_position, "some_labels": target_label}
        data = _inputs(certificate, {**files.split(), **columns}, silent=printing.silent)
        found = _from_tables(certificate_file, certificate, data, labelled)
    if printing.as_json:
        parts = ("verdict", "differences", "provenance_differences", "unverified")
        print_json({name: getattr(found, name) for name in parts})
    else:
        _show(found)
    if found.verdict == "different":
        raise typer.Exit(BROKEN)


def _from_tallies(certificate_file: Path, paths: Sequence[Path]) -> "Verification":
    from pacshift.certification.certify import Data
    from pacshift.certification.verify import verify_data
    from pacshift.cli.certificates import tally_inputs
    from pacshift.cli.inputs import load_tallies

    tally = load_tallies(paths)
    return verify_data(certificate_file, Data(tally), inputs=tally_inputs(paths))


def _inputs(certificate: "Certificate", reading: dict[str, Any], *, silent: bool) -> "Inputs":
    """The tables, read as the certificate was made; rows are left out again and compared with those on record."""
    from pacshift.cli.inputs import Inputs

    remembered = certificate.columns
    if reading["label"] is None:
        reading["label"] = "label" if remembered is None or remembered.label is None else remembered.label
    return Inputs(
        keep_source=True,
        **reading,
        classes=certificate.classes,
        known_columns=None if reading["scores"] else remembered,
        grid=certificate.provenance.counting.grid,
        drop_invalid=True,
        softmax=certificate.softmax,
        group=None if remembered is None else remembered.group,
        labels_per=None if certificate.target_grouped is None else certificate.target_grouped.labels_per,
        silent=silent,
        sha256=True,
    )


def _from_tables(
    certificate_file: Path,
    certificate: "Certificate",
    data: "Inputs",
    labelled: Path | None,
) -> "Verification":
    from pacshift.certification.verify import verify_data

    def count(certificates: "Sequence[Certificate]") -> "list[IntArray]":
        return [measured.set_sizes for measured in data.measure(certificates)]

    counted = _count(certificate, data, labelled)
    named = data.known_columns is not None and not data.by_position
    return verify_data(certificate_file, counted, None, count if data.target else None, named=named)


def _count(certificate: "Certificate", data: "Inputs", labelled: Path | None) -> "Data":
    """The counts that the certificate was made from, and its rows where these helped to choose."""
    from pacshift.certification.certify import Data
    from pacshift.certification.label_sheet import LabelSheet
    from pacshift.certification.remembered import method_of, request_of
    from pacshift.rows.sets import mean_and_empty

    def mean_sizes(cuts: "Sequence[FloatArray]") -> list[float]:
        plain_sets = [certificate.changed(thresholds=cut, never_empty=False) for cut in cuts]
        return [mean_and_empty(measured.set_sizes)[0] for measured in data.measure(plain_sets)]

    method, counting = method_of(certificate, None), certificate.provenance.counting
    tally = data.tally(certificate.score, soft=method.needs_soft, bins=counting.bins)
    has_rows = counting.rows and bool(data.target) and certificate.score == "probability"
    sample = data.sample_of(tally, needed=True) if counting.sample else None
    counted = Data(tally, count_labels=mean_sizes if has_rows else None, sample=sample)
    sheet = None if labelled is None else LabelSheet.load(labelled)
    return data.with_labels(counted, request_of(certificate).for_classes(tally.classes), sheet)


def _show(found: "Verification") -> None:
    console, (first, *rest) = results(), found.text.splitlines()
    colour = {"different": "red", "equal": "green"}.get(found.verdict, "yellow")
    console.print(f"[{colour}]{found.verdict}[/]: {plain(first)}")
    for line in rest:
        console.print(plain(line))
