"""``pacshift methods``: the methods and what each promises."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table

from pacshift.cli import options
from pacshift.cli.console import print_json, results

if TYPE_CHECKING:
    from pacshift.methods import Guarantee

MEANING = """target (PAC)  the set contains the true label for at least 1 - epsilon of the target population,
              with confidence 1 - delta over the calibration data, if label shift holds
source only   the same for the source population; nothing where the label mix differs
on average    the same on average over many calibrations, if label shift holds; one calibration may do worse
nothing       no promise, even if label shift holds"""


def methods(as_json: options.Json = False) -> None:
    """List the methods and what each guarantees.

    Example: pacshift methods
    """
    from pacshift.methods import METHODS
    from pacshift.methods.base import facts_of

    chosen = [method() for method in METHODS.values()]
    if as_json:
        print_json({method.name: {"guarantee": method.guarantee, **asdict(facts_of(method))} for method in chosen})
        return
    table = Table("method", "guarantees", "idea")
    for method in chosen:
        table.add_row(f"[bold]{method.name}[/]", guarantee_cell(method.guarantee), method.idea)
    console = results()
    console.print(table)
    console.print(MEANING, soft_wrap=True)
    for method in chosen:
        if method.extra_assumption:
            console.print(f"[bold]{method.name}[/], extra assumption: {method.extra_assumption}", soft_wrap=True)


def guarantee_cell(guarantee: "Guarantee") -> str:
    """A guarantee in two words with Rich markup, green if it holds on the target."""
    from pacshift.methods.base import GUARANTEE_IN_SHORT

    return f"[{'green' if guarantee == 'pac-target' else 'yellow'}]{GUARANTEE_IN_SHORT[guarantee]}[/]"
