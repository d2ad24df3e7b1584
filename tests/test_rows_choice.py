"""One random row of each group: every row is equally likely, and the order of the rows does not matter."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from pacshift import InputError, Rows, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.rows.arrow.batch import ArrowBatch, Layout
from pacshift.rows.arrow.source import Records
from pacshift.rows.choice import check_groups, choose_rows, choose_rows_with_labels, row_keys
from pacshift.scores.check import check_scores
from pacshift.tally.coins import group_coins, name_hashes, rows_digest
from pacshift.tally.inputs import Grouped, Role


def one_row_per_group(groups: Any, scores: Any, labels: Any = None) -> IntArray:
    """Places of the rows that are counted."""
    role: Role = "target" if labels is None else "source"
    places = Rows(scores, labels, groups=groups).bind(name="rows", role=role).numbers
    assert places is not None
    return places


def rows_of(n_rows: int, digits: int = 17, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Scores of two classes, many of them alike if ``digits`` are few, with labels."""
    rng = np.random.default_rng(seed)
    scores = rng.random(n_rows).round(digits)
    return np.column_stack([1 - scores, scores]), rng.integers(0, 2, n_rows)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 1)), min_size=1), st.randoms())
def test_the_choice_depends_on_rows_and_not_on_their_order(
    drawn: list[tuple[int, int, int]], shuffler: Any
) -> None:
    found = []
    for _ in range(2):
        groups, values, labels = (np.array(column) for column in zip(*drawn, strict=True))
        scores = check_scores(np.column_stack([values, 3 - values]) / 3, name="rows")
        places = one_row_per_group(groups, scores, labels)
        assert sorted(groups[places]) == sorted(set(groups.tolist()))
        found.append(sorted((groups[place], values[place], labels[place]) for place in places))
        shuffler.shuffle(drawn)
    assert found[0] == found[1]


def test_every_row_of_a_group_is_equally_likely() -> None:
    """Three rows that are alike and one that is not: the latter is chosen in a quarter of the groups."""
    n_groups = 4000
    scores = check_scores(np.tile([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.3, 0.7]], (n_groups, 1)), name="rows")
    chosen = one_row_per_group(np.repeat(np.arange(n_groups), 4), scores)
    assert len(chosen) == n_groups
    odd = np.count_nonzero(chosen % 4 == 3)
    assert abs(odd - n_groups / 4) < 4 * np.sqrt(n_groups * 3 / 16)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_number_of_the_chosen_row_is_uniform_whatever_the_scores(size: int) -> None:
    """Sorted scores, which a stream of numbers would follow: each rank is chosen equally often."""
    n_groups = 3000
    ranks = np.tile(np.arange(size), n_groups)
    scores = check_scores(np.column_stack([ranks, size - ranks]) / size, name="rows")
    chosen = one_row_per_group(np.repeat([f"p{group}" for group in range(n_groups)], size), scores)
    assert chisquare(np.bincount(ranks[chosen])).pvalue > 1e-3


def test_the_same_names_get_other_coins_in_another_sample() -> None:
    """Ids such as 0, 1, 2 come in every sample. If their coins did too, their luck would never average out."""
    names, rows = np.repeat([*range(2000), "other"], 2), np.array([[0.9, 0.1], [0.2, 0.8]] * 2001)
    chosen = []
    for other in (0.2, 0.3):  # one row of one group differs
        rows[-1] = [other, 1 - other]
        chosen.append(one_row_per_group(names, check_scores(rows, name="rows"))[:-1] % 2)
    assert abs(np.corrcoef(chosen[0], chosen[1])[0, 1]) < 0.08
    renamed = one_row_per_group([*names[:-2], "else", "else"], check_scores(rows, name="rows"))[:-1] % 2
    assert abs(np.corrcoef(chosen[-1], renamed)[0, 1]) < 0.08


def test_coins_of_ids_in_a_row_are_as_good_as_independent() -> None:
    """Whole numbers are mixed as they are. Neighbours, in steps or in one bit, share no bit of their coins."""
    ids = np.arange(20_000, dtype=np.uint64)
    for more in range(3):
        coins = group_coins(ids, np.array([20_000, 5, more], np.uint64), "source")
        assert chisquare(np.bincount((coins >> np.uint64(56)).astype(int))).pvalue > 1e-4
        others = [np.roll(coins, step) for step in (1, 2, 7, 1000)] + [coins[ids ^ np.uint64(4)]]
        for other in others:
            ones = np.unpackbits((coins ^ other).view(np.uint8).reshape(-1, 8), axis=1).sum(axis=0, dtype=int)
            assert (np.abs(ones - 10_000) < 550).all()  # 5.5 standard deviations


def test_source_and_target_that_are_numbered_alike_share_no_coins() -> None:
    scores, names = check_scores([[0.9, 0.1], [0.2, 0.8]] * 2000, name="rows"), np.repeat(np.arange(2000), 2)
    source, target = (one_row_per_group(names, scores, labels) % 2 for labels in (np.zeros(4000, int), None))
    assert abs(np.corrcoef(source, target)[0, 1]) < 0.08


def test_the_digest_adds_up_and_sees_who_has_which_row() -> None:
    names, rows = name_hashes("aabbc"), row_keys(np.array([[0.1], [0.1], [0.1], [0.4], [0.5]]))
    whole = rows_digest(names, rows)
    assert np.array_equal(whole, rows_digest(names[:2], rows[:2]) + rows_digest(names[2:], rows[2:]))
    assert np.array_equal(whole, rows_digest(names[::-1], rows[::-1]))
    others = [rows_digest(names, rows[[0, 1, 2, 4, 3]]), rows_digest(names[[2, 0, 1, 3, 4]], rows)]
    others += [rows_digest(names, rows[[0, 0, 2, 3, 3]]), rows_digest(rows, names)]
    assert len({tuple(each) for each in [whole, *others]}) == 4  # rows that are alike may change places


def test_rows_that_count_may_have_labels_and_so_may_all_rows_of_a_group() -> None:
    scores = check_scores([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7], [0.4, 0.6]], name="rows")
    names, rows = name_hashes("aaabb"), row_keys(scores.values)
    coins = group_coins(names, rows_digest(names, rows), "target")
    counted = one_row_per_group(list("aaabb"), scores)
    alone = np.where(np.isin(np.arange(5), counted), 1, -1)
    for marks in (np.array([0, 1, 1, -1, -1]), alone):
        assert choose_rows_with_labels(names, coins, rows, marks).tolist() == counted.tolist()
    with pytest.raises(InputError, match="3 labels on rows that are not the counted one of their group"):
        choose_rows_with_labels(names, coins, rows, np.where(np.isin(np.arange(5), counted), -1, 1))


def test_tallies_of_groups_count_one_row_each_and_say_so(tmp_path: Path) -> None:
    scores, labels = rows_of(1000)
    groups = np.arange(1000) // 4
    source = Rows(scores, labels, groups=groups).tally()
    target = Rows(scores, groups=[str(group) for group in groups]).tally()
    assert (source.n_source, target.n_target) == (250, 250)
    assert source.source_grouped == target.target_grouped == Grouped(1000)
    assert source.target_grouped is target.source_grouped is None
    assert "one per group" in repr(source)
    source.save(tmp_path / "groups.tally")
    assert Tally.load(tmp_path / "groups.tally") == source
    order = np.random.default_rng(1).permutation(1000)
    assert source == Rows(scores[order], labels[order], groups=groups[order]).tally()
    places = one_row_per_group(groups, check_scores(scores, name="rows"), labels)
    alone = Tally.from_scores(scores[places], labels[places])
    assert source != alone  # the same counts, of other draws
    assert np.array_equal(source.counts, alone.counts)


@pytest.mark.parametrize(
    "groups",
    [
        [1, 1, 2, 2],
        [1.0, 1.0, 2.0, 2.0],
        ["1", "1", "2", "2"],
        [1, "1", 2.0, "2"],
        np.array([1, 1, 2, 2], np.uint8),
        pd.Series([1, 1, 2, 2], dtype="Int64"),
        pd.Series(["1", "1", "2", "2"], dtype="category"),
        pl.Series([1, 1, 2, 2]),
    ],
    ids=str,
)
def test_ids_are_compared_as_text(groups: Any) -> None:
    scores = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]
    assert Rows(scores, groups=groups).tally() == Rows(scores, groups=["1", "1", "2", "2"]).tally()
    assert len(np.unique(check_groups(["1", "01", "1.0", "1"], n_rows=4, name="groups"))) == 3


def test_names_get_numbers_of_their_own_alone_and_among_many() -> None:
    letters = "ab\0 é\ud800😀"
    names = ["".join(word) for length in range(1, 6) for word in itertools.product(letters, repeat=length)]
    names += [f"patient-{number}" for number in range(20_000)]
    found = name_hashes(names)
    assert len(np.unique(found)) == len(names)
    assert np.array_equal(found[::501], [int(name_hashes([name])[0]) for name in names[::501]])
    # Every bit is one half of the time: five standard deviations.
    bits = np.unpackbits(found.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 2.5 / np.sqrt(len(names))


@pytest.mark.parametrize("largest", [7, 10**18 - 1, 10**18, 2**63 - 1])
def test_whole_numbers_are_their_text_however_large(largest: int) -> None:
    """Up to 18 digits they are mixed as they are, beyond as text: the same in an array, a list, text and Arrow."""
    ids, scores = [largest, -largest, 0, 12], np.full((4, 2), 0.5)
    found = check_groups(np.array(ids), n_rows=4, name="groups")
    assert len(set(found.tolist())) == 4
    for other in (ids, list(map(str, ids)), np.array(ids, object)):
        assert np.array_equal(found, check_groups(other, n_rows=4, name="groups"))
    table = pa.record_batch({"0": scores[:, 0], "1": scores[:, 1], "id": pa.array([*ids[:3], None], pa.int64())})
    batch = ArrowBatch(Records(table, "", 0), Layout(("0", "1"), (0, 1), group="id"), "none", False)
    names, missing = batch.group_names()
    assert np.array_equal(names[:3], found[:3])
    assert missing is not None
    assert missing.tolist() == [False, False, False, True]
    above = np.array([2**63, 2**64 - 1], np.uint64)
    assert np.array_equal(check_groups(above, n_rows=2, name="groups"), name_hashes(map(str, above.tolist())))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", None, "b", None], r"2 rows have no group id, the first is row 1. .* fill in the ids"),
        ([1.0, float("nan"), 2.0, 3.0], r"1 row has no group id, the first is row 1"),
        (["a", "b", " ", "c"], r"1 row has no group id, the first is row 2"),
        (pd.Series([1, None, 2, 3], dtype="Int64"), "1 row.* no group id"),
        (["a", "b"], r"one group id per row is needed \(4\), got shape \(2,\)"),
        ([["a"], ["b"], ["c"], ["d"]], "one group id per row"),
        (pd.Timestamp("2026-01-01") + pd.to_timedelta(range(4), "D"), "must be text, numbers or booleans"),
        ([b"a", b"b", b"c", b"d"], "must be text, numbers or booleans, got b'a' in row 0"),
        (pd.Series(list("abcd"), index=[3, 2, 1, 0]), "different indexes"),
        (np.array([2**53, 2**53 + 1, 1, 2], float), r"found 9007199254740992.0 in row 0.* pass integers or texts"),
        ([1.0, -(2.0**53), 1.0, 2.0], r"found -9007199254740992.0 in row 1"),
        (
            np.array([2**24, 2**24 + 1, 1, 2], np.float32),
            r"whole numbers below 16,777,216.*found 16777216.0 in row 0",
        ),
        (pd.Series([2**53 + 1, None, 1, 2]), r"found 9007199254740992.0 in row 0"),  # pandas makes floats of them
        (pd.Series([1.0, None, 2.0**53, 2], dtype="Float64"), r"found 9007199254740992.0 in row 2"),
        (["a", 3.0, 1.5, 2], r"found 1.5 in row 2"),
        ([1.0, float("inf"), 2.0, 3.0], r"found inf in row 1"),
    ],
)
def test_bad_ids_are_refused(groups: Any, message: str) -> None:
    scores = pd.DataFrame([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    with pytest.raises(InputError, match=message):
        Rows(scores, groups=groups).tally()


def test_bad_scores_are_found_in_rows_that_are_not_chosen_too() -> None:
    scores, labels = rows_of(40)
    scores[:20, 0] = np.nan
    with pytest.raises(InputError, match="20 rows have NaN or infinite scores"):
        Rows(scores, labels, groups=np.arange(40) % 20).tally()


def test_row_keys_know_scores_and_label_and_nothing_else() -> None:
    scores = np.array([[0.25, 0.75], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0], [-0.0, 1.0]])
    keys = row_keys(scores)
    assert keys[0] == keys[2] != keys[1]
    assert keys[3] == keys[4]
    assert np.array_equal(keys, row_keys(np.asfortranarray(scores)))
    assert np.array_equal(keys, row_keys(scores.astype(np.float32)))  # these numbers are exact
    with_labels = row_keys(scores, np.array([0, 0, 1, 0, 0]))
    assert with_labels[0] != with_labels[2]


def test_the_last_row_is_chosen_by_the_largest_coin() -> None:
    top = np.full(3, np.uint64(2**64 - 1))
    assert choose_rows(top, top, np.array([5, 1, 3], np.uint64)).tolist() == [0]
    assert choose_rows(top, top * np.uint64(0), np.array([5, 1, 3], np.uint64)).tolist() == [1]


def test_sums_remember_their_parts_and_refuse_to_mix_groups_and_rows() -> None:
    scores, labels = rows_of(200)
    first, second = (Rows(scores[::step], labels[::step], groups=range(0, 200, step)).tally() for step in (1, 2))
    both = first + second + Tally.from_target(scores)
    assert both.source_grouped == Grouped(300, parts=2)
    assert both.target_grouped is None
    with pytest.raises(InputError, match="1 of 2 source tallies hold one row per group, the others every row"):
        first + Tally.from_scores(scores[:50], labels[:50])
