"""From raw data to scores: the models of the paper, and small ones for a laptop. Needs the extra ``train``."""

from paper.recipes.examples import write_examples
from paper.recipes.train import Trained, train

__all__ = ["Trained", "train", "write_examples"]
