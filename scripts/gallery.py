"""Make the pictures of the gallery: run every example, keep the picture that it leaves or draw its result.

Usage: python scripts/gallery.py [EXAMPLE ...]    (default: all of them; one whose library is missing is left out)
"""

import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

from pacshift import evaluate
from pacshift.plots import label_mix
from pacshift.plots.axes import LIMIT, TARGET, UNDECIDED

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "figures" / "gallery"
WIDTH, COLOURS = 900, 64
"""Pixels and colours of a picture: a page with twenty of them loads fast even so."""


def main(names: list[str]) -> None:
    """Run the examples, each in an empty folder."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "examples").glob("*.py")):
        if names and path.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                picture(path)
            except (ImportError, SystemExit) as reason:
                print(f"left out: {path.stem} ({reason})", file=sys.stderr)
            os.chdir(ROOT)


def picture(path: Path) -> None:
    """Run one example and write its picture."""
    results = runpy.run_path(str(path), run_name="__main__")
    picture_file = Path(f"{path.stem}.png")
    if not picture_file.exists():
        draw = contest if "their_sets" in results else mix
        draw(results).savefig(picture_file, dpi=150)
    with Image.open(picture_file) as image:
        height = round(image.height * WIDTH / image.width)
        small = image.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
    small.quantize(COLOURS).save(PICTURES / picture_file.name, optimize=True)


def mix(results: dict[str, Any]) -> Any:
    """The label mix of source and target, for examples that end with a certificate."""
    return label_mix(results["certificate"] if "certificate" in results else results["model"].certificate_).figure


def contest(results: dict[str, Any]) -> Figure:
    """What the sets of another library and ours miss on the target, for the examples "Coming from ..."."""
    truth = results["target_y"] if "target_y" in results else results["y"][results["target"]]
    figure = Figure(figsize=(6, 2.2), layout="constrained")
    axes = figure.subplots()
    other = next(name for name in ("MAPIE", "crepes", "TorchCP", "puncc") if name in results["__doc__"])
    both = results["their_sets"], results["our_sets"]
    errors = [100 * evaluate(sets, truth[: len(sets)]).error for sets in both]
    bars = axes.barh([other, "pacshift"], errors, color=[UNDECIDED, TARGET])
    axes.bar_label(bars, fmt="%.1f", padding=4)
    axes.axvline(10, color=LIMIT, linestyle="--")
    axes.set(xlabel="missed on the target, in % (allowed: 10)", xlim=(0, 1.2 * max(errors)))
    axes.invert_yaxis()
    return figure


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main(sys.argv[1:])
