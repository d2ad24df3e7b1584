"""``python -m benchmarks [speed quality growth core]``: measure, print, and write into docs/performance.md."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import core, growth, page, quality, speed
from benchmarks.peers import Stage, full_stage, home_stage

PARTS = ("speed", "quality", "growth", "core")
SMALL_SIZES = ((5_000, 10),)


def main(arguments: list[str] | None = None) -> None:
    """Every part by default; ``--small`` is a quick look that writes nothing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; default: all")
    parser.add_argument("--small", action="store_true", help="small sizes, no peers, the page stays as it is")
    parser.add_argument("--trials", type=int, default=30, help="trials a panel in quality (default 30)")
    parser.add_argument("--rounds", type=int, default=1, help="rounds over all contestants in speed (default 1)")
    parser.add_argument("--data", help="folder of real scores (default: PACSHIFT_DATA, else what is shipped)")
    parser.add_argument("--page", type=Path, default=page.PAGE, help="where the tables go (docs/performance.md)")
    options = parser.parse_args(arguments)
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    say = progress()
    chosen = options.parts or PARTS
    stage = home_stage() if options.small or not {"speed", "quality"} & set(chosen) else full_stage(say)
    runs: dict[str, Callable[[], str]] = {
        "speed": lambda: run_speed(stage, options, say),
        "quality": lambda: run_quality(stage, options, say),
        "growth": lambda: run_growth(options, say),
        "core": lambda: core.measure(20_000 if options.small else 1_000_000, 10, 2 if options.small else 5),
    }
    for part in chosen:
        text = runs[part]()
        if part in ("speed", "quality", "growth"):
            text = f"{page.conditions(stage, f'python -m benchmarks {part}')}\n\n{text}"
        print(f"\n{text}\n", flush=True)
        if not options.small:
            page.fill(options.page, part, text)


def progress() -> Callable[[str], None]:
    """One line a step on the error stream, with the seconds since the start."""
    start = time.monotonic()
    return lambda line: print(f"[{time.monotonic() - start:6.0f} s] {line}", file=sys.stderr, flush=True)


def run_speed(stage: Stage, options: argparse.Namespace, say: Callable[[str], None]) -> str:
    sizes = SMALL_SIZES if options.small else speed.SIZES
    rounds = 1 if options.small else options.rounds
    return speed.markdown({size: speed.measure(stage, *size, say, rounds=rounds) for size in sizes})


def run_quality(stage: Stage, options: argparse.Namespace, say: Callable[[str], None]) -> str:
    names, trials = (("agnews-0.05",), 2) if options.small else (quality.PANELS, options.trials)
    return quality.markdown(quality.measure(stage, names, trials, say, data_dir=options.data))


def run_growth(options: argparse.Namespace, say: Callable[[str], None]) -> str:
    if not options.small:
        return growth.measure(say)
    return growth.measure(
        say,
        rows=(1_000, 4_000),
        classes=(2, 8),
        classes_rows=2_000,
        counts=(1, 2),
        panel="agnews-0.05",
        repeats=1,
    )


if __name__ == "__main__":
    main()
