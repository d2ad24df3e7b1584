"""Fit the twins that the package ships to real scores: ``python scripts/fit_twins.py DATA_DIR``."""

import argparse
from pathlib import Path

import numpy as np

from pacshift.experiments.datasets import load_dataset
from pacshift.experiments.twins import fit_twin

SHIPPED = Path(__file__).resolve().parents[1] / "src" / "pacshift" / "experiments" / "data"


def main() -> None:
    """Write one small NPZ of parameters per data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", help="folder of real scores, laid out as docs/data-sets.md says")
    data_dir = parser.parse_args().data_dir
    for name in ("entity13", "chestxray"):
        real = load_dataset(name, data_dir)
        if real.origin != "real":
            raise SystemExit(f"{data_dir} holds no scores of {name}: nothing to fit")
        twin = fit_twin(real.probs, real.labels, relative=name == "entity13")
        path = SHIPPED / f"{name}.npz"
        np.savez_compressed(path, allow_pickle=False, class_names=np.array(real.class_names), **twin.arrays())
        print(f"{name}: fitted to {len(real.labels):,} rows, {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
