"""Put trained scores into the repository: ``python -m paper.ship_scores NAME=FILE ...``.

Scores are stored as quantised gaps. The place of the raw data on this machine is left out.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray
from pacshift.simulate import population
from paper.experiments.datasets import DATA, DEMO, FILES, load_scores


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
        raise SystemExit(f"{name}: not a data set of the paper, or {file} was not made by python -m paper train")
    gaps = pack_scores(data.probs)
    facts = {key: value for key, value in data.facts.items() if key != "raw"}
    path = Path(population.__file__).with_name("heart.npz") if name == DEMO else DATA / f"{name}.npz"
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


def pack_scores(probs: FloatArray) -> NDArray[np.uint16]:
    """Pack probabilities as gaps to the largest of the row, in units of 1/1024 of a natural logarithm.

    >>> population.unpack_scores(pack_scores(np.array([[0.7, 0.2, 0.1]]))).round(3)
    array([[0.7, 0.2, 0.1]])
    """
    with np.errstate(divide="ignore"):  # a probability of 0 becomes the largest gap that fits
        gaps = np.log(probs.max(axis=1, keepdims=True)) - np.log(probs)
    return np.asarray(np.minimum(np.rint(gaps * population.GAP_UNIT), np.iinfo(np.uint16).max), np.uint16)


def _small(ids: NDArray[Any]) -> NDArray[Any]:
    """Row numbers in four bytes, names as bytes."""
    return ids.astype(np.int32) if ids.dtype.kind in "iu" else ids.astype(np.bytes_)


if __name__ == "__main__":
    main()
