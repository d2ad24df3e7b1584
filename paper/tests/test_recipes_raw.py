"""The readers: every official format, and what they say about missing or damaged files."""

import gzip
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacshift.errors import InputError
from paper.recipes import raw
from paper.tests import raw_data


def check(data: raw.RawData) -> None:
    """One label, id and mark per row, and no id twice."""
    n_rows = len(data.labels)
    assert len(data.content) == len(data.ids) == len(data.is_test) == n_rows
    assert len(set(data.ids.tolist())) == n_rows
    assert set(data.labels.tolist()) == set(range(len(data.class_names)))


@pytest.mark.parametrize("name", ["survey.csv", "survey.parquet"])
def test_heart_is_read_from_csv_and_parquet(tmp_path: Path, name: str) -> None:
    labels = raw_data.write_heart(tmp_path / name)
    for place in (tmp_path, tmp_path / name):
        data = raw.read_heart(place)
        check(data)
        assert np.array_equal(data.labels, labels)
        assert data.columns == ("HighBP", "BMI", "Age")
        assert np.asarray(data.content).shape == (400, 3)


def test_words_of_the_survey_of_2020_become_one_column_each(tmp_path: Path) -> None:
    (tmp_path / "heart.csv").write_text("HeartDisease,Race,BMI\nNo,a,20.5\nYes,b,31\nYes,c,30\n")
    data = raw.read_heart(tmp_path)
    assert data.labels.tolist() == [0, 1, 1]
    assert np.array_equal(np.asarray(data.content), np.array([[0, 0, 20.5], [1, 0, 31], [0, 1, 30]]))
    assert data.columns == ("Race", "Race", "BMI")


def test_news_are_read_from_the_official_files(tmp_path: Path) -> None:
    raw_data.write_news_csv(tmp_path)
    data = raw.read_agnews(tmp_path)
    check(data)
    assert data.content[0].startswith('A "quoted" title ')
    assert "\n" in data.content[1]
    assert data.is_test.sum() == 100
    assert not data.is_test[:300].any()


def test_news_are_read_from_parquet(tmp_path: Path) -> None:
    raw_data.write_news_parquet(tmp_path / "news.parquet")
    data = raw.read_agnews(tmp_path)
    check(data)
    assert data.is_test.sum() == 100


def test_cifar_batches_and_folder_give_the_same_kind_of_rows(tmp_path: Path) -> None:
    (tmp_path / "python" / "cifar-10-batches-py").mkdir(parents=True)
    raw_data.write_cifar_batches(tmp_path / "python" / "cifar-10-batches-py")
    raw_data.write_cifar_folder(tmp_path / "images")
    for folder, n_rows, n_test in (("python", 120, 20), ("images", 150, 30)):
        data = raw.read_cifar10(tmp_path / folder)
        check(data)
        assert np.asarray(data.content).shape == (n_rows, 32, 32, 3)
        assert data.is_test.sum() == n_test
    assert data.title == "CIFAR-10 PNG folder"
    assert data.ids[0] == "train/airplane/0000.png"


def test_channels_of_a_batch_are_in_their_place(tmp_path: Path) -> None:
    raw_data.write_cifar_batches(tmp_path)
    stored = pickle.loads((tmp_path / "test_batch").read_bytes())[b"data"]
    data = raw.read_cifar10(tmp_path)
    assert np.array_equal(np.asarray(data.content)[data.is_test][3][:, :, 1].ravel(), stored[3][1024:2048])


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, ("touch " + str(tmp_path / "hacked"),)

    raw_data.write_cifar_batches(tmp_path)
    (tmp_path / "data_batch_2").write_bytes(pickle.dumps({b"data": Evil(), b"labels": []}))
    with pytest.raises(InputError, match=r"data_batch_2: not a batch of CIFAR-10 \(it refers to"):
        raw.read_cifar10(tmp_path)
    assert not (tmp_path / "hacked").exists()


def test_corrupt_images_are_left_out_counted_and_named(tmp_path: Path) -> None:
    raw_data.write_cifar_folder(tmp_path)
    whole = (tmp_path / "train/cat/0001.png").read_bytes()
    (tmp_path / "train/cat/0001.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "test/dog/0000.png").write_bytes(b"")
    data = raw.read_cifar10(tmp_path)
    check(data)
    assert len(data.labels) == 148
    assert len(data.broken) == 2
    note = raw.describe_broken(data.broken)
    assert note.startswith("2 unreadable images left out: ")
    assert "train/cat/0001.png" in note
    assert raw.describe_broken({}) == ""


def test_images_are_scaled_and_cut_to_the_middle(tmp_path: Path) -> None:
    from PIL import Image

    wide = np.zeros((10, 30, 3), np.uint8)
    wide[:, 10:20] = 200
    Image.fromarray(wide).save(tmp_path / "wide.png")
    found: Any = raw.ImageReader(size=8, shorter_side=10).read(tmp_path / "wide.png")
    assert found.shape == (8, 8, 3)
    assert (found == 200).all()


def test_entity13_is_grouped_by_the_hierarchy(tmp_path: Path) -> None:
    raw_data.write_entity13(tmp_path)
    data = raw.read_entity13(tmp_path)
    check(data)
    assert data.class_names == ("n1 name", "n2 name", "n3 name")
    assert data.title == "Entity-13, 59 of 60 classes"
    assert np.bincount(data.labels).tolist() == [60, 60, 57]
    assert data.is_test.sum() == 59


def test_the_drawn_classes_are_the_published_ones() -> None:
    """Entity-13's birds: ImageNet's 59 birds after a first superclass of 25 classes, in the published order."""
    birds = [*range(7, 25), *range(80, 101), *range(127, 147)]
    first = [f"n9{number:03}" for number in range(25)]
    edges = [("n00001740", "a"), ("a", "b"), ("b", "dummy32"), ("b", "n01503061")]
    edges += [("dummy32", leaf) for leaf in first] + [("n01503061", f"n0{number:03}") for number in birds]
    found = raw.superclasses_of(edges, [*first, *(f"n0{number:03}" for number in birds)], {})
    published = [87, 92, 91, 137, 14, 145, 129, 135, 85, 21, 83, 98, 146, 20, 99, 143, 132, 8, 90, 82]
    assert [int(leaf[2:]) for leaf in found[1].subclasses] == published


def test_depth_is_the_longest_path() -> None:
    leaves = [f"n{number:03}" for number in range(20)]
    short = [("n00001740", "a"), ("a", "b"), ("b", "c"), ("a", "c"), *(("c", leaf) for leaf in leaves)]
    (entry,) = raw.superclasses_of(short, leaves, {"c": "the class, a synonym"})
    assert entry.name == "the class"
    with pytest.raises(InputError, match="cycle"):
        raw.superclasses_of([*short, ("c", "b")], leaves, {})


def test_superclasses_can_be_listed_instead(shared_data: Path) -> None:
    found = raw.read_superclasses(shared_data / "entity13")
    assert [entry.name for entry in found][:3] == ["garment", "bird", "reptile"]
    assert len({leaf for entry in found for leaf in entry.subclasses}) == 260


def test_chest_keeps_single_findings_and_knows_patients(tmp_path: Path) -> None:
    raw_data.write_chest(tmp_path)
    data: Any = raw.read_chestxray(tmp_path)
    check(data)
    assert data.class_names == raw.FINDINGS
    assert len(data.labels) == 40 * 3 - 8  # eight third visits have a second finding
    patients = [int(str(row_id)[:8]) for row_id in data.ids]
    assert len(set(zip(patients, data.groups.tolist(), strict=True))) == len(set(patients)) == 40
    table = tmp_path / "Data_Entry_2017_v2020.csv"
    (tmp_path / "labels.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    table.unlink()
    assert np.array_equal(raw.read_chestxray(tmp_path).labels, data.labels)


def without(write: Callable[[Path], object], name: str) -> Callable[[Path], None]:
    """A data set that lacks a file."""

    def make(folder: Path) -> None:
        write(folder)
        (folder / name).unlink()

    return make


def with_files(**texts: str) -> Callable[[Path], None]:
    """Files of these texts; ``a_csv`` is ``a.csv``."""

    def make(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name.replace("_", ".")).write_text(text)

    return make


def wrong_class(folder: Path) -> None:
    raw_data.write_news_csv(folder)
    (folder / "test.csv").write_text('"5","a","b"\n')


def strange_class(folder: Path) -> None:
    raw_data.write_cifar_folder(folder)
    (folder / "train" / "cat").rename(folder / "train" / "lynx")


def no_images(folder: Path) -> None:
    raw_data.write_entity13(folder)
    for part in ("train", "val"):
        shutil.rmtree(folder / part)


def only_other_findings(folder: Path) -> None:
    raw_data.write_chest(folder)
    table = folder / "Data_Entry_2017_v2020.csv"
    text = table.read_text()
    for finding in raw.FINDINGS:
        text = text.replace(finding, "Hernia")
    table.write_text(text)


@pytest.mark.parametrize(
    ("dataset", "make", "message"),
    [
        ("heart", lambda folder: None, "expected one table"),
        ("heart", with_files(a_csv="x\n1\n", b_csv="x\n1\n"), "Found: a.csv, b.csv"),
        ("heart", with_files(a_csv="BMI,Age\n1,2\n"), "no column HeartDiseaseorAttack or HeartDisease"),
        ("heart", with_files(a_csv="HeartDiseaseorAttack,BMI\n0,1\n1,\n"), "column 'BMI' has no answer in row 1"),
        ("agnews", without(raw_data.write_news_csv, "test.csv"), "test.csv: no such file"),
        ("agnews", wrong_class, "row 0 has class 5, expected 1 to 4"),
        ("agnews", with_files(a_parquet="PAR1 broken"), "a.parquet: not a readable table"),
        ("cifar10", lambda folder: None, "holds neither data_batch_1 nor images"),
        ("cifar10", without(raw_data.write_cifar_batches, "data_batch_4"), "data_batch_4: no such file"),
        ("cifar10", strange_class, "folder 'lynx' is not one of the classes"),
        ("entity13", without(raw_data.write_entity13, "hierarchy/node_names.txt"), "node_names.txt is missing"),
        ("entity13", no_images, "holds no images"),
        ("chestxray", without(raw_data.write_chest, "Data_Entry_2017_v2020.csv"), "expected one label table"),
        ("chestxray", only_other_findings, "none of the 120 images"),
    ],
)
def test_wrong_raw_data_are_refused_with_a_remedy(
    tmp_path: Path, dataset: str, make: Callable[[Path], None], message: str
) -> None:
    make(tmp_path)
    with pytest.raises(InputError, match=message):
        raw.READERS[dataset](tmp_path)


@pytest.mark.parametrize("dataset", ["heart", "agnews", "cifar10", "entity13", "chestxray"])
def test_a_folder_that_does_not_exist_is_named(tmp_path: Path, dataset: str) -> None:
    with pytest.raises(InputError, match=r"absent: no such .*It should"):
        raw.READERS[dataset](tmp_path / "absent")
