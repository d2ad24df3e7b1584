"""Put the scores that ``pacshift train`` made into the package: ``python scripts/ship_scores.py NAME=FILE ...``.

Scores are stored as quantised gaps. The place of the raw data on this machine is left out.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.experiments.datasets import FILES, load_scores
from pacshift.experiments.packed import pack_scores

SHIPPED = Path(__file__).resolve().parents[1] / "src" / "pacshift" / "experiments" / "data"


def main() -> None:
    """One small NPZ per data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scores", nargs="+", metavar="NAME=FILE", help=f"NAME is one of {', '.join(FILES)}")
    for pair in parser.parse_args().scores:
        name, _, file = pair.partition("=")
        ship(name, Path(file))


def ship(name: str, file: Path) -> None:
    """Quantise the scores of one file, and say how good they are as written."""
    data = load_scores(file, name=name)
    if name not in FILES or not data.facts or data.row_ids is None:
        raise SystemExit(f"{name}: not a data set of the package, or {file} was not made by pacshift train")
    gaps = pack_scores(data.probs)
    facts = {key: value for key, value in data.facts.items() if key != "raw"}
    path = SHIPPED / f"{name}.npz"
    np.savez_compressed(
        path,
        allow_pickle=False,
        gaps=gaps,
        labels=data.labels.astype(np.uint8),
        class_names=np.array(data.class_names),
        row_ids=_small(data.row_ids),
        facts=np.array(json.dumps(facts)),
    )
    accuracy = (gaps.argmin(axis=1) == data.labels).mean()
    print(f"{name}: {data.story}")
    print(f"  {len(gaps):,} rows, {path.stat().st_size / 1024:.0f} KB, accuracy as stored {accuracy:.4f}")


def _small(ids: NDArray[Any]) -> NDArray[Any]:
    """Row numbers in four bytes, names as bytes."""
    return ids.astype(np.int32) if ids.dtype.kind in "iu" else ids.astype(np.bytes_)


if __name__ == "__main__":
    main()
