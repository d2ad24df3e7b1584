"""The paper's experiments: panels, data sets, trials, tables and figures."""

from paper.experiments.datasets import Dataset, load_dataset, load_scores
from paper.experiments.panels import PANELS, Panel, select_panels
from paper.experiments.reproduce import run_reproduce

__all__ = ["PANELS", "Dataset", "Panel", "load_dataset", "load_scores", "run_reproduce", "select_panels"]
