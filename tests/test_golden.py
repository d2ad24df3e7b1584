"""What two hundred requests gave before: thresholds, sets, tallies and JSON do not change unnoticed."""

import json

import pytest

import golden


def changed(plane: str) -> list[str]:
    """Requests that give something else than recorded."""
    record = {
        name: close
        for name, (_, close) in json.loads(golden.RECORD.read_text(encoding="utf-8")).items()
        if name.startswith(f"{plane}: ")
    }
    now = {name: golden.hashed(golden.rounded(answer)) for name, answer in golden.answers(plane).items()}
    return [name for name in {**record, **now} if record.get(name) != now.get(name)]


@pytest.mark.thorough
@pytest.mark.parametrize("plane", golden.QUICK)
def test_answers_are_those_of_before(plane: str) -> None:
    assert changed(plane) == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.usefixtures("spark")
def test_answers_on_spark_are_those_of_before() -> None:
    assert changed("spark") == []


def test_a_changed_bit_changes_the_first_hash_and_a_changed_number_both() -> None:
    first, bit, number = (golden.plain({"threshold": value}) for value in (0.25, 0.25 + 2**-54, 0.2501))
    assert golden.hashed(first) != golden.hashed(bit)
    assert golden.hashed(golden.rounded(first)) == golden.hashed(golden.rounded(bit))
    assert golden.hashed(golden.rounded(first)) != golden.hashed(golden.rounded(number))
