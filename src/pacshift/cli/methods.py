"""``pacshift methods``: the methods and what each promises."""

from rich.table import Table

from pacshift.cli import options
from pacshift.cli.compare import guarantee_cell
from pacshift.cli.console import print_json, results, to_json


def methods(as_json: options.Json = False) -> None:
    """List the methods and what each one promises.

    Example: pacshift methods
    """
    from pacshift.methods import METHODS
    from pacshift.methods.base import facts_of
    from pacshift.methods.guarantee import MEANINGS, RANDOM_SAMPLE

    chosen = [method() for method in METHODS.values()]
    if as_json:
        print_json(
            {method.name: {"guarantee": method.guarantee, **to_json(facts_of(method))} for method in chosen}
        )
        return
    table = Table("method", "promise", "idea")
    for method in chosen:
        table.add_row(f"[bold]{method.name}[/]", guarantee_cell(method.guarantee), method.idea)
    console = results()
    console.print(table)
    for meaning in (MEANINGS[one] for one in MEANINGS if one in {method.guarantee for method in chosen}):
        console.print(f"{meaning.in_short}: {meaning.legend}", soft_wrap=True)
    for method in chosen:
        if method.extra_assumption:
            console.print(f"[bold]{method.name}[/] also assumes: {method.extra_assumption}", soft_wrap=True)
        if not method.assumes_label_shift:
            console.print(
                f"[bold]{method.name}[/] assumes, instead of label shift: {RANDOM_SAMPLE}", soft_wrap=True
            )
