"""Train a linear text model on AG News and store its held-out scores.

Run ``python scripts/train_agnews.py DATA_DIR``. The paper fine-tuned Electra, which needs a GPU and its
weights; this is TF-IDF of words and word pairs with logistic regression, fitted on the rows marked ``fit``.
It is weaker, so sets are larger than in the paper.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from pacshift.experiments.datasets import pack_scores

SHIPPED = Path(__file__).resolve().parents[1] / "src" / "pacshift" / "experiments" / "data"


def main() -> None:
    """Train, score the rows not trained on, store them small."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path, help="folder with agnews/agnews.parquet")
    table = pq.read_table(parser.parse_args().data_dir / "agnews" / "agnews.parquet").to_pandas()
    fit = table["fit"].to_numpy()
    labels = table["label"].to_numpy().astype(np.int64)
    texts = table["text"]

    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, dtype=np.float32),
        LogisticRegression(C=10.0, max_iter=300),
    )
    model.fit(texts[fit], labels[fit])

    # Train rows were shuffled, test rows follow in their own order: shuffle once more so halves are alike.
    held_out = np.random.default_rng(2019).permutation(np.flatnonzero(~fit))
    gaps = pack_scores(model.predict_proba(texts.iloc[held_out]))
    truth = labels[held_out].astype(np.uint8)
    path = SHIPPED / "agnews.npz"
    names = np.array(["World", "Sports", "Business", "Sci/Tech"])
    np.savez_compressed(path, gaps=gaps, labels=truth, class_names=names)
    accuracy = (gaps.argmin(axis=1) == truth).mean()
    print(f"trained on {fit.sum():,} rows, scored {len(truth):,}; {path.stat().st_size / 1024:.0f} KB")
    print(f"accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
