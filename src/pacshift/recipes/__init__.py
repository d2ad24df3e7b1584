"""From raw data to scores: the models of the paper, and small ones for a laptop. Needs the extra ``train``."""

from pacshift.recipes.examples import write_examples
from pacshift.recipes.train import Trained, train

__all__ = ["Trained", "train", "write_examples"]
