"""The panels of the paper, and those of a user's own scores."""

import numpy as np
import pytest

from pacshift.errors import InputError
from pacshift.methods import METHODS
from paper.experiments.datasets import FILES
from paper.experiments.panels import PANELS, STANDARD, VARIANTS, select_panels
from paper.experiments.reproduce import at_epsilon, own_panels


def test_the_panels_are_those_of_the_paper() -> None:
    assert len(PANELS) == len({panel.name for panel in PANELS}) == 21
    assert {panel.dataset for panel in PANELS} == set(FILES) - {"heart-natural"}
    for panel in (*PANELS, *VARIANTS):
        assert np.isclose(sum(panel.source_mix), 1)
        assert np.isclose(sum(panel.target_mix), 1)
        assert len(panel.target_mix) == panel.n_classes
        assert np.isclose(np.array(panel.source_mix) @ panel.weights, 1)
        assert set(panel.methods) <= set(METHODS)
    # 26 figures: a panel each, and one more for each of the 5 figures that add methods to a panel.
    extras = {panel.name: panel.extras for panel in PANELS if panel.extras}
    assert extras == {
        "heart-small-0.1": ("LWCP", "PS-LW", "APS"),
        "heart-large-0.1": ("ORACLE",),
        "cifar10-large-0.1": ("ORACLE",),
    }
    assert STANDARD == ("PS", "PS-C", "PS-R", "PS-W", "WCP", "PS-LP")


def test_panels_are_chosen_by_name_row_or_data_set() -> None:
    assert select_panels(["all"]) == PANELS
    assert select_panels(["heart-natural"]) == VARIANTS
    assert [p.name for p in select_panels(["cifar10"])] == [
        "cifar10-large-0.1", "cifar10-large-0.05", "cifar10-large-0.03", "cifar10-small-0.1",
    ]  # fmt: skip
    assert [p.name for p in select_panels(["agnews-0.1", "heart-large-reversed"])] == [
        "heart-large-reversed-0.03", "agnews-0.1",
    ]  # fmt: skip
    with pytest.raises(InputError, match="heart-medium"):
        select_panels(["heart-medium"])


def test_other_epsilons_keep_each_shift_once() -> None:
    panels = at_epsilon(select_panels(["heart-small", "cifar10-small"]), [0.2, 0.15])
    assert [p.name for p in panels] == [
        "heart-small-0.2", "heart-small-0.15", "cifar10-small-0.2", "cifar10-small-0.15",
    ]  # fmt: skip
    with pytest.raises(InputError, match="epsilon"):
        at_epsilon(PANELS[:1], [1.5])


@pytest.mark.parametrize(
    ("source", "target", "sizes", "message"),
    [
        ([1, 1], [1, 1, 1], (9, 9, 9), "equally long"),
        ([1, -1], [1, 1], (9, 9, 9), "source mix"),
        ([1, 1], [0, 0], (9, 9, 9), "target mix"),
        ([1, 0], [1, 1], (9, 9, 9), "class 1"),
        ([1, 1], [1, 1], (9, 0, 9), "sample sizes"),
    ],
)
def test_own_panels_refuse_mixes_that_make_no_sense(
    source: list[float], target: list[float], sizes: tuple[int, int, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        own_panels("mine", source, target, [0.1], sizes)
