"""``pacshift methods``: the methods and what each promises."""

from dataclasses import asdict

from rich.table import Table

from pacshift.cli import options
from pacshift.cli.compare import guarantee_cell
from pacshift.cli.console import print_json, results


def methods(as_json: options.Json = False) -> None:
    """List the methods and what each guarantees.

    Example: pacshift methods
    """
    from pacshift.methods import METHODS
    from pacshift.methods.base import facts_of
    from pacshift.methods.guarantee import MEANINGS, assumption, condition

    chosen = [method() for method in METHODS.values()]
    if as_json:
        print_json({method.name: {"guarantee": method.guarantee, **asdict(facts_of(method))} for method in chosen})
        return
    table = Table("method", "guarantees", "idea")
    for method in chosen:
        table.add_row(f"[bold]{method.name}[/]", guarantee_cell(method.guarantee), method.idea)
    console = results()
    console.print(table)
    for guarantee, meaning in MEANINGS.items():
        if guarantee not in {method.guarantee for method in chosen}:
            continue  # what accepts promises something else, and is a command of its own
        rests_on = condition(assumes_label_shift=True)
        empty = {"and_limit": "", "cases": "", "condition": rests_on}
        promise = meaning.one_line.format(epsilon="epsilon", sure="1 - delta", **empty)
        console.print(f"{meaning.in_short:12}  {promise}", soft_wrap=True)
    for method in chosen:
        if method.extra_assumption:
            console.print(f"[bold]{method.name}[/], extra assumption: {method.extra_assumption}", soft_wrap=True)
        if not method.assumes_label_shift:
            rests_on = assumption(method.guarantee, assumes_label_shift=False)
            console.print(f"[bold]{method.name}[/], instead of label shift: {rests_on}", soft_wrap=True)
