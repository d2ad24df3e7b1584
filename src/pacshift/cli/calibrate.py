"""``pacshift calibrate``: tables or tallies to a certificate."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from pacshift.certificate import Certificate
from pacshift.certificate.file import to_document
from pacshift.certification.calibrate import calibrate_tally
from pacshift.cli import inputs, options, provenance
from pacshift.cli.console import NOTHING_CERTIFIED, plain, print_json, print_words, results
from pacshift.cli.inputs import Inputs
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError, UninformativeWarning
from pacshift.files.documents import seal
from pacshift.methods import resolve_method
from pacshift.methods.base import score_for
from pacshift.tally import Tally
from pacshift.wording import mean_size, percent


def calibrate(
    ctx: typer.Context,
    paths: inputs.Paths = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The certificate.")] = Path(
        "certificate.json"
    ),
    epsilon: options.Epsilon = EPSILON,
    delta: options.Delta = DELTA,
    method: options.Method = "PS-LP",
    label: options.LabelColumn = "label",
    scores: options.Scores = None,
    classes: options.Classes = None,
    by_position: options.ByPosition = False,
    source: inputs.MoreSource = None,
    target: inputs.MoreTarget = None,
    tallies: inputs.Tallies = False,
    score: options.Score = "probability",
    weights: options.Weights = None,
    never_empty: Annotated[
        bool, typer.Option("--never-empty", help="Fill empty sets with the top label.")
    ] = False,
    class_epsilon: options.ClassEpsilon = None,
    contamination: options.Contamination = 0.0,
    known: options.Known = None,
    target_label: Annotated[
        str | None,
        typer.Option(
            "--target-label",
            metavar="COLUMN",
            help="Labels of a random sample of the target's rows; empty or null in the other rows, and in rows of "
            "a new kind.",
        ),
    ] = None,
    model_id: provenance.ModelId = None,
    note: provenance.Note = None,
    valid_until: provenance.ValidUntil = None,
    exact: options.Exact = False,
    drop_invalid: options.DropInvalid = False,
    engine: options.Engine = "arrow",
    master: options.Master = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find thresholds with a guarantee, from a labelled SOURCE and an unlabelled TARGET.

    Example: pacshift calibrate source.parquet target.parquet --label diagnosis --epsilon 0.05 -o certificate.json
    """
    options.check_output(out, force, [*(paths or ()), *(source or ()), *(target or ())])
    options.check_request(
        epsilon, delta, score=score, method=method, class_epsilon=class_epsilon, contamination=contamination
    )
    provenance.check_origin(model_id, note, valid_until)
    known_mix = options.read_known(known)
    data, labelled = None, None
    if tallies:
        tally = _add_tallies(paths, target_label)
    else:
        files = inputs.split_paths(paths, source, target)
        data = Inputs(
            source=files[0],
            target=files[1],
            label=label,
            scores=scores,
            classes=options.read_classes(classes),
            grid=not exact,
            drop_invalid=drop_invalid,
            silent=quiet or as_json,
            engine=engine,
            master=master,
            by_position=by_position,
            sha256=True,
        )
        tally = count(data, method, score)
        if target_label is not None:
            labelled = data.labelled_target(target_label, tally.classes, tally.score)
    with warnings.catch_warnings():
        if not (as_json or quiet):
            warnings.simplefilter("ignore", UninformativeWarning)  # the words printed below say it
        certificate = calibrate_tally(
            tally,
            epsilon=epsilon,
            delta=delta,
            method=method,
            weights=options.read_numbers(weights, "--weights"),
            rng=seed,
            never_empty=never_empty,
            class_epsilon=class_epsilon,
            contamination=contamination,
            known_mix=options.known_for(known_mix, tally.classes),
            target_labels=labelled,
            note=note,
            model_id=model_id,
            valid_until=valid_until,
        )
    if data is None:
        certificate = provenance.with_tally_files(certificate, paths or ())
    else:
        certificate = _with_table(certificate, data)
    certificate = provenance.with_origin(certificate, ctx, seed)
    certificate.save(out, overwrite=force)
    _show(certificate, out, as_json=as_json, quiet=quiet)
    if certificate.trivial:
        raise typer.Exit(NOTHING_CERTIFIED)


def _add_tallies(paths: list[Path] | None, target_label: str | None) -> Tally:
    """The sum of tally files. Labels of the target would be in a table, which is not here."""
    if target_label is not None:
        raise InputError("--target-label names a column of the TARGET table, but --tallies gives no tables.")
    return inputs.load_tallies(paths)


def count(data: Inputs, method: str, score: str) -> Tally:
    """The tally that ``method`` needs."""
    if data.engine == "spark" and not data.grid:
        raise InputError(
            "--exact does not work with --engine spark, which counts on the grid. Leave out one of them."
        )
    chosen = resolve_method(method)
    if chosen.needs_target and not data.target:
        raise InputError(f"no TARGET: method {method} needs unlabelled target scores as well as the source.")
    return data.tally(score_for(chosen, score), soft=chosen.needs_soft, bins=chosen.needs_bins)


def _with_table(certificate: Certificate, data: Inputs) -> Certificate:
    """The certificate with the columns of the source and the sizes of the target's sets."""
    if data.engine == "spark" or not data.target:
        # With Spark the rows may be too many to read twice: `pacshift predict` counts the sizes.
        return certificate.changed(columns=data.columns)
    (measured,) = data.measure([certificate])
    return certificate.changed(set_sizes=measured.set_sizes, columns=data.columns)


def _show(certificate: Certificate, out: Path, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        document = {"certificate": str(out), "trivial": certificate.trivial, **to_document(certificate)}
        print_json(seal(document))  # so that what is printed can be loaded like the file
        return
    if quiet:
        return
    console = results()
    print_words(certificate.explain())
    if certificate.set_sizes is not None:
        total = certificate.set_sizes.sum()
        mean = float(certificate.set_sizes @ range(len(certificate.set_sizes)) / total)
        single, empty = certificate.set_sizes[1] / total, certificate.set_sizes[0] / total
        console.print(
            f"[bold]On the target[/]: {mean_size(mean)} labels per set on average, "
            f"{percent(single)} with exactly one, {percent(empty)} empty."
        )
    console.print(f"written: {plain(out)}")
