"""``python -m benchmarks PART...``: measure, print, and with ``--write`` fill the pages of the documentation."""

import argparse
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from benchmarks.lab import Blocks, Lab
from benchmarks.page import fill, page_of

PARTS = {
    "speed": ("speed.run", "seconds and memory beside MAPIE, TorchCP, puncc and crepes"),
    "core": ("core.run", "the calls against floors measured in the same run"),
    "picture": ("picture.run", "time and memory of everything, against rows and classes, in one picture"),
    "scale": ("scale.run", "counting files of up to 16 million rows, 10,000 classes, 256 files"),
    "quality": ("quality.run", "who keeps what they promise when the label mix moves"),
    "judges": ("judges.run", "language models as judges of real answers (needs --data)"),
    "sharpness": ("sharpness.run", "set sizes beside the best that knows everything"),
    "needs": ("needs.run", "set sizes by classes, rows per class, epsilon and delta"),
    "many": ("many.run", "set sizes with 100 and 1,000 classes (needs --data, else one synthetic case)"),
    "guarantee": ("guarantee.run", "how often each method breaks its promise"),
    "hunt": ("hunt.run", "a search for worlds in which a promise is broken too often"),
    "power": ("power.run", "what the test of label shift notices, by violation and number of rows (--data)"),
    "populations": ("populations.run", "the test of label shift on halves of real people (needs --data)"),
    "lazy-labels": ("labels.run", "labels that `label --next` asks for (--data for people)"),
    "after-refusal": (
        "after_refusal.run",
        "what labels certify where label shift is refused (--data)",
    ),
    "accept": ("accept.run", "what is accepted, and how much of it is wrong, on real scores (needs --data)"),
    "plans": ("plans.run", "set sizes that plans foresee, beside true ones (--data for real scores)"),
    "reproduce": ("reproduce.run", "tables, counts and figures of the page on the paper"),
    "figures": ("figures.run", "the figures of the page on the idea"),
    "cases": ("cases.run", "people and headlines with their sets, for the page of real cases (needs --data)"),
    "try-it": ("try_it.run", "results behind the interactive picture of the first page (needs --data)"),
}
"""Name of a part, its function in this folder, and what it measures."""


def main(arguments: list[str] | None = None) -> None:
    """Run the parts asked for, one after the other."""
    options = build_parser().parse_args(arguments)
    settings = {name: value for name, value in vars(options).items() if name != "parts"}
    # Taken out of the environment: a part that asks for the shipped scores must not get the real ones.
    environment = os.environ.pop("PACSHIFT_DATA", None)
    lab = Lab(**settings | {"data": options.data or environment})
    for name in options.parts:
        for block, text in load(name)(lab):
            print(f"\n{text.strip()}\n", flush=True)
            page = page_of(block)
            if lab.write:
                fill(page, block, text)


def load(name: str) -> Callable[[Lab], Blocks]:
    """The function of a part; only the parts asked for are imported."""
    module, function = PARTS[name][0].split(".")
    part: Callable[[Lab], Blocks] = getattr(import_module(f"benchmarks.{module}"), function)
    return part


def build_parser() -> argparse.ArgumentParser:
    """The one parser of the lab; a part ignores options that do not concern it."""
    parts = "\n".join(f"  {name:14} {summary}" for name, (_, summary) in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"parts:\n{parts}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="PART", help="one or more of the parts below")
    parser.add_argument("--small", action="store_true", help="small sizes, no peers: does everything run?")
    parser.add_argument("--write", action="store_true", help="put tables and figures into the documentation")
    parser.add_argument("--trials", type=int, help="draws per panel or sample size (default: depends on the part)")
    parser.add_argument(
        "--panels", default="", metavar="TEXT", help="sharpness, plans: only panels whose name holds this"
    )
    parser.add_argument("--data", metavar="DIR", help="real scores (default: PACSHIFT_DATA, else what is shipped)")
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="trials and figures (out)")
    return parser


if __name__ == "__main__":
    main()
