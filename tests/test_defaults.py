"""The same promise everywhere unless the user asks for another: in Python and on the command line."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import pacshift
from pacshift.cli.calibrate import calibrate as calibrate_command
from pacshift.cli.commands import one_by_one
from pacshift.cli.compare import compare as compare_command
from pacshift.cli.label import label as label_command
from pacshift.cli.plan import plan as plan_command
from pacshift.cli.prevalence import prevalence as prevalence_command

DOORS = (
    pacshift.calibrate,
    pacshift.compare,
    pacshift.label_sheet,
    pacshift.Monitor,
    pacshift.PACClassifier,
    pacshift.plan,
    pacshift.prevalence,
    *(one_by_one(command) for command in (calibrate_command, compare_command, plan_command, prevalence_command)),
    one_by_one(label_command),
)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__doc__.partition(".")[0])
def test_epsilon_and_delta_have_the_same_defaults_everywhere(door: Callable[..., Any]) -> None:
    parameters = inspect.signature(door).parameters
    assert parameters["delta"].default == 0.05
    if "epsilon" in parameters:
        assert parameters["epsilon"].default == 0.1


def test_every_parameter_of_the_classifier_has_a_default() -> None:
    parameters = inspect.signature(pacshift.PACClassifier).parameters.values()
    assert [parameter.name for parameter in parameters if parameter.default is parameter.empty] == []
