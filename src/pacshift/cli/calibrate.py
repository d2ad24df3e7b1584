"""``pacshift calibrate``: tables or tallies to a certificate."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.cli import options
from pacshift.cli.console import NOTHING_CERTIFIED, print_json, print_words, progress, say_written
from pacshift.cli.options import basic, expert, known, output
from pacshift.errors import AssumptionError, InputError, UninformativeWarning

if TYPE_CHECKING:
    from pacshift import Certificate
    from pacshift.certification.certify import Data
    from pacshift.certification.request import Request
    from pacshift.cli.inputs import Inputs
    from pacshift.methods import Method as MethodObject
    from pacshift.tally import Tally


def calibrate(
    ctx: typer.Context,
    *,
    files: options.Files,
    tallies: options.Tallies = False,
    out: Annotated[Path, basic("--out -o FILE", "The certificate.")] = Path("certificate.json"),
    method: options.Method = "PS-LP",
    promise: options.Promise,
    class_balance: options.ClassBalance = None,
    label: options.LabelColumn = "label",
    columns: options.ColumnOptions,
    weights: options.Weights = None,
    target_label: Annotated[
        str | None,
        known("--target-label COLUMN", "Labels of a random sample of the target's rows, empty or null elsewhere."),
    ] = None,
    labels_per: Annotated[
        Literal["row", "group"] | None,
        known("--labels-per", "With --group: rows were labelled at random, or one in each of some random groups."),
    ] = None,
    labelled: options.Labelled = None,
    refusal_page: Annotated[
        Path | None,
        output("--refusal-page FILE", "If label shift is refuted, an HTML page on where, and on the ways on."),
    ] = None,
    never_empty: Annotated[bool, expert("--never-empty", "Fill empty sets with the top label.")] = False,
    origin: options.Origin,
    seed: options.Seed = 0,
    exact: options.Exact = False,
    engine: options.Engine = "arrow",
    master: options.Master = None,
    force: options.Force = False,
    printing: options.Printing,
) -> None:
    """Find thresholds with a guarantee, from a labelled SOURCE and an unlabelled TARGET.

    Example: pacshift calibrate source.parquet target.parquet --label diagnosis --epsilon 0.05 -o certificate.json
    """
    from pacshift.certification.label_sheet import LabelSheet
    from pacshift.certification.request import require_fit
    from pacshift.cli.certificates import check_page, with_commands, with_origin, write_page
    from pacshift.cli.inputs import Inputs
    from pacshift.methods import resolve_method
    from pacshift.methods.ps_lp import balanced
    from pacshift.tally.groups import check_labels_per

    _require_no_page(out)
    options.check_output(out, force, [*files.named, labelled])
    numbers = options.read_numbers(weights, "--weights")
    request = promise.check(never_empty=never_empty, weights=numbers, rng=seed, **asdict(origin))
    chosen = balanced(resolve_method(method), options.read_class_balance(class_balance))
    has_labels = target_label is not None or labelled is not None
    require_fit(chosen, request, has_labels=has_labels)
    options.require_one_way(target_label, labelled)
    check_labels_per(labels_per, has_labels=target_label is not None, has_groups=columns.group is not None)
    page = None if has_labels else refusal_page  # with labels nothing is refused
    check_page(page, force, files.named, out)
    data = None
    try:
        if tallies:
            options.require_no_table(target_label, labelled)
            certificate = _from_tallies(files.paths or (), chosen, request, printing)
        else:
            reading: dict[str, Any] = {**files.split(), **columns.reading(label), "engine": engine}
            reading |= {"some_labels": target_label, "labels_per": labels_per, "keep_source": True}
            data = Inputs(**reading, master=master, grid=not exact, silent=printing.silent, sha256=True)
            sheet = None if labelled is None else LabelSheet.load(labelled)
            counted = data.with_labels(_count(data, chosen, promise.score), request, sheet)
            certificate = _measured(_certify(counted, chosen, request, printing), data, counted.tally, chosen)
    except AssumptionError as refusal:
        told = with_commands(refusal, ctx, promise, columns, data)
        write_page(told, page, force=force, silent=printing.silent)
        raise told from None
    certificate = with_origin(certificate, ctx, seed).with_curves()
    certificate.save(out, overwrite=force)
    _show(certificate, out, printing)
    if certificate.trivial:
        raise typer.Exit(NOTHING_CERTIFIED)


def _require_no_page(out: Path) -> None:
    """Refuse a certificate that is called like a page."""
    if out.suffix.lower() in (".html", ".htm"):
        raise InputError(
            f"-o names the certificate, a JSON file, got {out}. For a page of the certificate run "
            f"`pacshift report CERTIFICATE -o {out.name}` afterwards. For a page of a refusal, should there be "
            f"one, give --refusal-page {out.name}."
        )


def _from_tallies(
    paths: Sequence[Path], method: "MethodObject", request: "Request", printing: options.Printing
) -> "Certificate":
    from pacshift.certification.certify import Data
    from pacshift.cli.certificates import with_tally_files
    from pacshift.cli.inputs import load_tallies

    return with_tally_files(_certify(Data(load_tallies(paths)), method, request, printing), paths)


def _count(data: "Inputs", method: "MethodObject", score: str) -> "Data":
    """What ``method`` needs of the tables."""
    from pacshift.certification.certify import Data
    from pacshift.methods.base import score_for
    from pacshift.scores.transforms import resolve_transform

    if data.engine == "spark" and not data.grid:
        raise InputError(
            "--exact does not work with --engine spark, which counts on the grid. Leave out one of them."
        )
    if method.needs_target and not data.target:
        raise InputError(f"no TARGET: method {method.name} needs unlabelled target scores as well as the source.")
    tally = data.tally(score_for(method, score), soft=method.needs_soft, bins=method.needs_bins)
    has_rows = bool(data.target) and data.engine != "spark"
    to_plan, sample = data.rows_to_plan if has_rows else None, data.sample_of(tally)
    return Data(tally, transform=resolve_transform(tally.score), to_plan=to_plan, sample=sample)


def _certify(
    data: "Data", method: "MethodObject", request: "Request", printing: options.Printing
) -> "Certificate":
    from pacshift.certification.certify import certify

    with warnings.catch_warnings():
        if not printing.silent:
            warnings.simplefilter("ignore", UninformativeWarning)  # the words printed below say it
        with progress("finding thresholds (%)", silent=printing.silent) as report:
            return certify(data, method, request.for_classes(data.tally.classes), progress=report)


def _measured(certificate: "Certificate", data: "Inputs", tally: "Tally", method: "MethodObject") -> "Certificate":
    """The certificate with the columns of the source, the sizes of target sets, and what follows from them."""
    from pacshift.certification.one_label import one_label_error, points_below

    if data.engine == "spark" or not data.target:
        # With Spark the rows may be too many to read twice: `pacshift predict` counts the sizes.
        return certificate.changed(columns=data.columns)
    points = points_below(certificate, tally, method)
    cuts = [certificate.changed(thresholds=point.thresholds) for point in points]
    own, *sizes = [measured.set_sizes for measured in data.measure([certificate, *cuts])]
    bound = one_label_error(points, sizes, epsilon=certificate.epsilon)
    return certificate.changed(columns=data.columns, set_sizes=own, one_label_error=bound)


def _show(certificate: "Certificate", out: Path, printing: options.Printing) -> None:
    from pacshift.certificate.file import to_document
    from pacshift.files.codec import seal
    from pacshift.words.statements import statements

    if printing.as_json:
        document = {"certificate": str(out), "trivial": certificate.trivial, **to_document(certificate)}
        print_json(seal(document))  # so that what is printed can be loaded like the file
        return
    print_words("\n".join(map(str, statements(certificate))))
    say_written(out)
