"""``pacshift calibrate``: tables or tallies to a certificate."""

import shlex
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacshift.cli import options
from pacshift.cli.commands import to_args
from pacshift.cli.console import NOTHING_CERTIFIED, print_json, print_words, progress, say_written
from pacshift.cli.options import basic, expert
from pacshift.errors import AssumptionError, InputError, speak

if TYPE_CHECKING:
    from pacshift import Certificate
    from pacshift.methods import Method


def calibrate(
    ctx: typer.Context,
    *,
    files: options.Files = None,
    out: Annotated[Path, basic("--out -o FILE", "Certificate to write.")] = Path("certificate.json"),
    method: options.Method = "PS-LP",
    promise: options.ScoredPromise,
    reading: options.Reading,
    shared: options.Certifying,
    never_empty: Annotated[
        bool, expert("--never-empty", "Put the top label into empty sets. The promise still holds.")
    ] = False,
) -> None:
    """Make a certificate from a labelled SOURCE and an unlabelled TARGET.

    Example: pacshift calibrate source.parquet target.parquet --label diagnosis --epsilon 0.05 -o certificate.json
    """
    import pacshift
    from pacshift.methods import resolve_method
    from pacshift.scores.transforms import resolve_transform

    chosen = resolve_method(method)
    resolve_transform(promise.score or "probability")  # before the work
    verb = partial(pacshift.calibrate, method=chosen, score=promise.score, **promise.arguments())
    certify(ctx, verb, chosen, files, out, promise, reading, shared, fill=never_empty)


def certify(
    ctx: typer.Context,
    verb: "Callable[..., Certificate]",
    method: "Method",
    files: list[Path] | None,
    out: Path,
    promise: options.Promise,
    reading: options.Reading,
    shared: options.Certifying,
    *,
    fill: bool = False,
) -> None:
    """Run ``verb`` on the tables or tallies, write its certificate and say what it says.

    ``calibrate`` and ``accept`` share all options but those of the promise, and so all that is done with them.
    ``fill`` puts the top label into empty sets.
    """
    from pacshift.certificate.file import to_document
    from pacshift.certificate.provenance import check_stamp
    from pacshift.cli.certificates import CertifyingCommand, check_page, with_origin, write_refusal_page
    from pacshift.cli.inputs import open_data
    from pacshift.files.codec import seal
    from pacshift.words.statements import full_paragraphs, short_lines

    labelled, force, as_json = shared.labelled, shared.force, shared.as_json
    if out.suffix.lower() in (".html", ".htm"):
        raise InputError(
            f"-o names the certificate, a JSON file, got {out}. For a page of the certificate run "
            f"`pacshift report CERTIFICATE -o {out.name}` afterwards. For a page of a refusal, should there be "
            f"one, give --refusal-page {out.name}."
        )
    options.check_output(out, [*(files or ()), labelled])
    page = None if shared.are_given else shared.refusal_page  # with labels nothing is refused
    check_page(page, [*(files or ())], out)
    stamp = {name: getattr(shared, name) for name in ("model_id", "note", "valid_until")}
    check_stamp(**stamp)  # before the work
    data = open_data(files, reading.of_source(), shared, silent=as_json)
    if method.needs_target and data[-1] is None:
        raise InputError(
            f"no TARGET: method {method.name} needs one. Name it after the SOURCE, or use PS-LW, which needs none."
        )
    for file in (out, page) if page is not None else (out,):
        options.require_new(file, force, partial(_check_inputs, promise, method, data, shared.are_given))
    sheet = labelled if labelled is not None and labelled.is_file() else None
    before = sheet and sheet.read_bytes()  # a first certificate fixes what later looks are planned with
    if not as_json:  # what is printed afterwards says it too
        warnings.simplefilter("ignore", UserWarning)
    are_tallies = len(data) == 1  # tables show bars of their own
    try:
        with (
            speak(CertifyingCommand(ctx, reading, to_args(promise), data)),
            progress("finding thresholds (%)", silent=as_json) if are_tallies else nullcontext() as report,
        ):
            certificate = verb(*data, rng=shared.seed, labelled=labelled, progress=report)
    except AssumptionError as refusal:
        if page is not None:
            write_refusal_page(refusal, page, force=force, silent=as_json)
        raise
    certificate = with_origin((certificate.without_empty_sets() if fill else certificate).annotate(**stamp), ctx)
    certificate.save(out, overwrite=force)
    if as_json:
        document = {"certificate": str(out), "trivial": certificate.trivial, **to_document(certificate)}
        print_json(seal(document))  # so that what is printed can be loaded like the file
    else:
        more = f"More: pacshift report {shlex.quote(str(out))}"
        print_words(full_paragraphs(certificate) if shared.full else [*short_lines(certificate), more])
        say_written(out, *([sheet] if sheet and sheet.read_bytes() != before else []))
    if certificate.trivial:
        raise typer.Exit(NOTHING_CERTIFIED)


def _check_inputs(promise: options.Promise, method: "Method", data: tuple[Any, ...], has_labels: bool) -> None:
    """What the verb would refuse once it has the rows, as far as it can be known without counting them."""
    from pacshift.certification.request import check_request, require_fit
    from pacshift.cli.inputs import look_at_first_rows

    request = check_request(**promise.arguments())
    require_fit(method, request, has_labels=has_labels)
    request.for_classes(data[0].classes)
    look_at_first_rows(*data)
