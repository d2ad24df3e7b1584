"""``pacshift calibrate``: tables or tallies to a certificate."""

import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pacshift.cli import options
from pacshift.cli.console import NOTHING_CERTIFIED, print_json, print_words, progress, say_written
from pacshift.cli.options import basic, expert, known, output
from pacshift.errors import AssumptionError, InputError, UninformativeWarning


def calibrate(
    ctx: typer.Context,
    *,
    files: options.Files,
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
    engine: options.Engine,
    force: options.Force = False,
    printing: options.Printing,
) -> None:
    """Find thresholds with a guarantee, from a labelled SOURCE and an unlabelled TARGET.

    Example: pacshift calibrate source.parquet target.parquet --label diagnosis --epsilon 0.05 -o certificate.json
    """
    from pacshift.certificate.file import to_document
    from pacshift.certification.calibrate import calibrate_rows
    from pacshift.certification.label_sheet import LabelSheet
    from pacshift.certification.request import require_fit
    from pacshift.cli import certificates as after
    from pacshift.cli.certificates import tally_inputs, with_origin
    from pacshift.cli.inputs import load_tallies, open_both
    from pacshift.files.codec import seal
    from pacshift.methods import resolve_method
    from pacshift.methods.ps_lp import balanced
    from pacshift.tally.groups import check_labels_per
    from pacshift.words.statements import statements

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
    after.check_page(page, force, files.named, out)
    if not printing.silent:  # what is printed afterwards says that every set holds all labels
        warnings.simplefilter("ignore", UninformativeWarning)
    rows = None
    try:
        if files.are_tallies:
            options.require_no_table(target_label, labelled)
            tally = load_tallies(files.named)
            with progress("finding thresholds (%)", silent=printing.silent) as report:
                made = calibrate_rows(tally, None, chosen, request, progress=report)
            certificate = replace(made, provenance=replace(made.provenance, inputs=tally_inputs(files.named)))
        else:
            both = files.split()
            if chosen.needs_target and not both["target"]:
                raise InputError(
                    f"no TARGET: method {chosen.name} needs unlabelled target scores as well as the source."
                )
            if engine.engine == "spark" and labelled is not None:
                raise InputError("--labelled does not work with --engine spark. Leave out one of them.")
            sheet = None if labelled is None else LabelSheet.load(labelled)
            asked: dict[str, Any] = {**both, **columns.reading(label), **asdict(engine.check())}
            asked |= {"target_label": target_label, "some_labels": True, "labels_per": labels_per}
            rows = open_both(**asked, grid=not exact, silent=printing.silent)
            certificate = calibrate_rows(*rows, chosen, request, promise.score, labelled=sheet)
    except AssumptionError as refusal:
        found = None if rows is None else rows[0].columns
        given = None if rows is None else after.Given(files.split()["target"], found, engine.engine)
        told = after.with_commands(refusal, ctx, promise, columns, given)
        after.write_page(told, page, force=force, silent=printing.silent)
        raise told from None
    certificate = with_origin(certificate, ctx, seed).with_curves()
    certificate.save(out, overwrite=force)
    if printing.as_json:
        document = {"certificate": str(out), "trivial": certificate.trivial, **to_document(certificate)}
        print_json(seal(document))  # so that what is printed can be loaded like the file
    else:
        print_words(statements(certificate))
        say_written(out)
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
