"""``pacshift methods``: what there is and what each promises."""

from rich.table import Table

from pacshift.cli import options
from pacshift.cli.console import print_json, results
from pacshift.methods import METHODS

SHORT = {"pac-target": "target (PAC)", "pac-source": "source only", "marginal": "on average", "none": "nothing"}

MEANING = """target (PAC)  the set holds the true label for at least 1 - epsilon of the target population,
              with confidence 1 - delta over the calibration data, if label shift holds
source only   the same for the source population; nothing where the label mix differs
on average    coverage 1 - epsilon on average over calibrations, if the weights used are the true ones
nothing       estimated weights are used as if they were true"""

IDEAS = {
    "PS-LP": "the smallest of three kinds of sets proven for all label mixes that the data allow; the default",
    "PS-W": "the paper's: a box around the weights, rejection sampling for its worst member",
    "PS-C": "a box around the weights, worst case of the source error",
    "PS-LW": "one threshold a class, right for any label mix",
    "ORACLE": "rejection sampling with the true weights, which you must know",
    "PS": "PAC on the source, blind to the shift",
    "APS": "PS on adaptive scores, blind to the shift",
    "PS-R": "rejection sampling with estimated weights as if they were true",
    "WCP": "weighted conformal prediction with estimated weights",
    "LWCP": "the conformal quantile of each class",
}


def methods(as_json: options.Json = False) -> None:
    """List the methods and what each guarantees.

    Example: pacshift methods
    """
    if as_json:
        rows = {name: {"guarantee": m.guarantee, "idea": IDEAS.get(name, "")} for name, m in METHODS.items()}
        print_json(rows)
        return
    table = Table("method", "guarantees", "how")
    for name, method in METHODS.items():
        colour = "green" if method.guarantee == "pac-target" else "yellow"
        table.add_row(f"[bold]{name}[/]", f"[{colour}]{SHORT[method.guarantee]}[/]", IDEAS.get(name, ""))
    console = results()
    console.print(table)
    console.print(MEANING, soft_wrap=True)
