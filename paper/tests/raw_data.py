"""Tiny made-up raw data in every official format."""

import csv
import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from PIL import Image

from pacshift.arrays import IntArray
from paper.recipes.raw import BATCHES, FINDINGS, NEWS, THINGS, Pixels

TOPICS = (
    "minister treaty war election embassy",
    "goal league striker coach match",
    "shares profit oil market bank",
    "software chip internet browser robot",
)


def painted(label: int, rng: np.random.Generator, size: int = 32) -> Pixels:
    """A noisy image whose colour and brightest quarter tell the class."""
    image = rng.integers(0, 60, (size, size, 3))
    half = size // 2
    top, left = half * (label % 2), half * (label // 2 % 2)
    image[top : top + half, left : left + half, label % 3] += 90 + 6 * label
    return image.astype(np.uint8)


def write_heart(path: Path, n_rows: int = 400, seed: int = 0) -> IntArray:
    """BRFSS 2015 as CSV or Parquet; the label depends on two of the answers. Returns the labels."""
    rng = np.random.default_rng(seed)
    answers = {
        "HighBP": rng.integers(0, 2, n_rows),
        "BMI": rng.integers(15, 50, n_rows),
        "Age": rng.integers(1, 14, n_rows),
    }
    risk = 1.5 * answers["HighBP"] + 0.4 * answers["Age"] - 3.5
    labels = (rng.random(n_rows) < 1 / (1 + np.exp(-risk))).astype(np.int64)
    table = pa.table({"HeartDiseaseorAttack": labels, **answers})
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.csv.write_csv(table, path)
    return labels


def articles(n_rows: int, rng: np.random.Generator) -> tuple[list[str], IntArray]:
    """Texts of five words, four of them of their own topic."""
    labels = rng.integers(0, 4, n_rows)
    texts = []
    for label in labels:
        own, any_topic = TOPICS[label].split(), " ".join(TOPICS).split()
        texts.append(" ".join([*rng.choice(own, 4), str(rng.choice(any_topic))]))
    return texts, labels


def write_news_csv(folder: Path, n_train: int = 300, n_test: int = 100) -> None:
    """``train.csv`` and ``test.csv``: classes from 1, quotes doubled, one text over two lines."""
    rng = np.random.default_rng(1)
    for name, size in (("train.csv", n_train), ("test.csv", n_test)):
        texts, labels = articles(size, rng)
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
                title = 'A "quoted" title' if row == 0 else f"title {row}"
                writer.writerow([label + 1, title, text.replace(" ", "\n", 1) if row == 1 else text])


def write_news_parquet(path: Path, n_train: int = 300, n_test: int = 100) -> None:
    """One table with the official parts marked."""
    texts, labels = articles(n_train + n_test, np.random.default_rng(1))
    parts = ["train"] * n_train + ["test"] * n_test
    pa.parquet.write_table(pa.table({"text": texts, "label": labels.astype(np.int8), "part": parts}), path)


def write_cifar_batches(folder: Path, rows_per_batch: int = 20) -> None:
    """The six pickles of the Python version."""
    rng = np.random.default_rng(2)
    for name in BATCHES:
        labels = [row % len(THINGS) for row in range(rows_per_batch)]
        pixels = np.stack([painted(label, rng).transpose(2, 0, 1).ravel() for label in labels])
        (folder / name).write_bytes(pickle.dumps({b"data": pixels, b"labels": labels, b"batch_label": b"made up"}))


def write_images(folder: Path, classes: tuple[str, ...], n_images: int, suffix: str, size: int = 32) -> None:
    """``n_images`` files in a folder for each class."""
    rng = np.random.default_rng(3)
    for label, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for number in range(n_images):
            Image.fromarray(painted(label, rng, size)).save(folder / name / f"{number:04}{suffix}")


def write_cifar_folder(folder: Path, n_train: int = 12, n_test: int = 3) -> None:
    """``train/CLASS/*.png`` and ``test/CLASS/*.png``."""
    write_images(folder / "train", THINGS, n_train, ".png")
    write_images(folder / "test", THINGS, n_test, ".png")


def write_hierarchy(folder: Path, leaves: dict[str, list[str]]) -> None:
    """The three files of BREEDS for superclasses (nodes at depth 3) with these ImageNet classes below."""
    folder.mkdir(parents=True)
    edges = [("n00001740", "thing"), ("thing", "kind")]
    for node, classes in leaves.items():
        edges += [("kind", node), *((node, f"{node}-{part}") for part in "ab")]
        edges += [(f"{node}-{'ab'[place % 2]}", leaf) for place, leaf in enumerate(classes)]
    edges.append(("kind", "no-image-below"))
    every = sorted({leaf for classes in leaves.values() for leaf in classes})
    (folder / "class_hierarchy.txt").write_text("\n".join(f"{parent} {child}" for parent, child in edges))
    (folder / "node_names.txt").write_text("\n".join(f"{node}\t{node} name, other name" for node in leaves))
    (folder / "dataset_class_info.json").write_text(json.dumps([[k, leaf, leaf] for k, leaf in enumerate(every)]))


def write_entity13(folder: Path, n_train: int = 2, n_val: int = 1) -> None:
    """Three superclasses of 20 classes each, with a hierarchy; one class has no folder."""
    leaves = {f"n{number}": [f"n{number}{leaf:03}" for leaf in range(20)] for number in range(1, 4)}
    write_hierarchy(folder / "hierarchy", leaves)
    rng = np.random.default_rng(4)
    for part, size in (("train", n_train), ("val", n_val)):
        for label, classes in enumerate(leaves.values()):
            for leaf in classes[: 19 if label == 2 else 20]:
                (folder / part / leaf).mkdir(parents=True)
                for number in range(size):
                    Image.fromarray(painted(label, rng, 40)).save(folder / part / leaf / f"{number}.JPEG")


def write_chest(folder: Path, n_patients: int = 40) -> None:
    """The label table with the official columns, and grey images of the first three visits of each patient."""
    rng = np.random.default_rng(5)
    (folder / "images").mkdir(parents=True)
    lines = ["Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position"]
    for patient in range(1, n_patients + 1):
        for visit in range(3):
            label = (patient + visit) % 6
            other = "|Hernia" if visit == 2 and patient % 5 == 0 else ""
            name = f"{patient:08}_{visit:03}.png"
            lines.append(f"{name},{FINDINGS[label]}{other},{visit},{patient},60,F,PA")
            Image.fromarray(painted(label, rng, 40)[:, :, 0]).save(folder / "images" / name)
    lines.append("99999999_000.png,Mass,0,99999999,60,F,PA")  # in the table, not in the folder
    (folder / "Data_Entry_2017_v2020.csv").write_text("\n".join(lines) + "\n")


assert len(NEWS) == len(TOPICS)
