"""``pacshift plan``: how many rows for which size of sets?"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacshift.cli import options
from pacshift.cli.console import plain, print_json, progress, results, say_written, to_json
from pacshift.cli.options import basic
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift.arrays import Label
    from pacshift.rows.base import CheckedRows

PICTURES = (".png", ".svg", ".pdf")


def plan(
    pilot: Annotated[Path, typer.Argument(metavar="PILOT", help="Labelled table.")],
    *,
    target_mix: Annotated[
        list[str] | None,
        basic(
            "--target-mix A=0.2,B=0.8",
            "Expected class shares in the target, or a table like the target; repeatable, plans for the worst.",
        ),
    ] = None,
    size: Annotated[float | None, basic("--size LABELS", "Wanted number of labels per set.")] = None,
    n_source: Annotated[int | None, basic("--n-source ROWS", "Number of labelled source rows.")] = None,
    n_target: Annotated[int | None, basic("--n-target ROWS", "Number of unlabelled target rows.")] = None,
    out: Annotated[Path | None, basic("--out -o FILE", "Also draw the curve: .png, .svg or .pdf.")] = None,
    epsilon: options.Epsilon = EPSILON,
    delta: options.Delta = DELTA,
    method: options.Method = "PS-LP",
    label: options.LabelColumn = "label",
    scores: options.Scores = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Find how many rows you need, or how large the sets will be.

    Give two of --size, --n-source and --n-target; the third is found by simulation from the pilot.

    Example: pacshift plan pilot.parquet --target-mix healthy=0.6,sick=0.4 --size 1.1 --n-target 10000
    """
    import pacshift
    from pacshift.certification.request import check_request
    from pacshift.cli.inputs import look_at_first_rows
    from pacshift.methods import resolve_method
    from pacshift.rows.arrow.find import ReadOptions
    from pacshift.rows.arrow.table import read_rows

    if out is not None:
        options.check_output(out, [pilot])
        if out.suffix.lower() not in PICTURES:
            raise InputError(f"{out}: unknown kind of picture. Its name must end in {', '.join(PICTURES)}.")
    if pilot.suffix == ".tally":
        raise InputError(f"{pilot} is a tally, which has no rows to draw from. Give the labelled table.")
    chosen, rows = resolve_method(method), read_rows(pilot, ReadOptions(label, scores), keep=False)
    mixes = [
        mix_of_table(Path(text), rows, label, scores)
        if "=" not in text and Path(text).exists()
        else read_mix(text, rows.classes)
        for text in target_mix or ()
    ]
    if out is not None:
        check_request(epsilon=epsilon, delta=delta)
        options.require_new(out, force, partial(look_at_first_rows, rows))
    with progress("simulating", silent=as_json) as report:
        answer = pacshift.plan(
            rows,
            epsilon=epsilon,
            delta=delta,
            method=chosen,
            target_mix=mixes or None,
            n_source=n_source,
            n_target=n_target,
            size=size,
            progress=report,
        )
    if out is not None:
        from matplotlib.figure import Figure

        from pacshift.files.writing import atomic_write
        from pacshift.plots import plan_curve
        from pacshift.plots.axes import WIDTH

        figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
        plan_curve(answer, ax=figure.subplots())
        with atomic_write(out, overwrite=force) as draft:
            figure.savefig(draft, format=out.suffix[1:].lower(), dpi=200)
    if as_json:
        print_json({**to_json(answer), "picture": None if out is None else str(out)})
    else:
        results().print(plain(answer.explain()))
        say_written(*([] if out is None else [out]))


def mix_of_table(path: Path, pilot: "CheckedRows", label: str | None, scores: str | None) -> "dict[Label, float]":
    """The mix of a table that is like the target: counted if it has labels, else the middle of its bounds."""
    import pacshift
    from pacshift.rows.arrow.files import open_source
    from pacshift.rows.arrow.find import ReadOptions
    from pacshift.rows.arrow.table import read_rows

    has_labels = label in open_source([path], label=None, scores=scores).schema.names
    rows = read_rows(path, ReadOptions(label if has_labels else None, scores, pilot.classes), keep=False)
    if has_labels:
        counts = rows.tally(soft=False).class_counts
        shares = counts / counts.sum()
    else:
        bounds = pacshift.prevalence(pilot, rows).mix
        middle = (bounds.lower + bounds.upper) / 2
        shares = middle / middle.sum()
    return dict(zip(pilot.classes, shares.tolist(), strict=True))


def read_mix(text: str, classes: "tuple[Label, ...]") -> dict[str, float]:
    """``a=0.2,b=0.8`` by class name.

    >>> read_mix("no=0.25, yes=0.75", ("no", "yes"))
    {'no': 0.25, 'yes': 0.75}
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (word.strip() for word in part.rpartition("="))
        try:
            number = float(share)
        except ValueError:
            raise InputError(
                f"a mix is written as class=share,class=share; got {part.strip()!r}. The classes are "
                f"{', '.join(map(str, classes))}."
            ) from None
        if name in shares:
            raise InputError(f"the mix {text!r} names class {name!r} twice. Name every class once.")
        shares[name] = number
    return shares
