"""Readers of the official formats. They need NumPy, pyarrow (tables) and Pillow (images), never torch."""

import atexit
import json
import pickle
import shutil
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray
from pacshift.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image


# What every reader returns: the rows of a raw data set, each with an id, a label and its content.

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RawData:
    """Rows in an order that depends only on the files, never on the file system.

    Attributes
    ----------
    title : str
        What was read, for people: "CIFAR-10, folder of images".
    ids : array of shape (n,)
        Row numbers of a table, or paths relative to the folder.
    labels : array of shape (n,)
        Class index of every row.
    class_names : tuple of str
        Names of the classes.
    content : sequence
        The rows themselves: a matrix of answers, texts, image paths, or pixels.
    is_test : array of shape (n,)
        Official test rows, which no model is fitted on.
    groups : array of shape (n,), optional
        Rows of one group (a patient) always stay together.
    columns : tuple of str
        Names of the columns of ``content``, where it is a matrix of answers.
    has_files : bool
        Whether ``content`` holds paths of image files.
    broken : mapping of str to str
        Files that were left out because they could not be read, with the reason.
    """

    title: str
    ids: NDArray[Any]
    labels: IntArray
    class_names: tuple[str, ...]
    content: NDArray[Any] | Sequence[str]
    is_test: BoolArray
    groups: IntArray | None = None
    columns: tuple[str, ...] = ()
    has_files: bool = False
    broken: Mapping[str, str] = field(default_factory=dict)


# A table of raw rows, CSV (also compressed) or Parquet, as Arrow columns.

TABLE_SUFFIXES = (".parquet", ".csv", ".csv.gz")


def find_table(place: Path, what: str, *, names: Sequence[str] = ()) -> Path:
    """``place`` itself if it is a file; else the one table in the folder, the first of ``names`` that is there."""
    if place.is_file():
        return place
    if not place.is_dir():
        raise InputError(f"{place}: no such file or folder. It should be {what}. Check the path.")
    known = [place / name for name in names if (place / name).is_file()]
    found = sorted(path for path in place.iterdir() if path.name.lower().endswith(TABLE_SUFFIXES))
    if known or len(found) == 1:
        return (known or found)[0]
    shown = ", ".join(path.name for path in found[:5]) or "none"
    raise InputError(f"{place}: expected one table, {what}. Found: {shown}. Name the file itself.")


def read_table(path: Path, *, column_names: Sequence[str] | None = None) -> Any:
    """An Arrow table. ``column_names`` is for CSV files without a header."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if path.suffix == ".parquet":
            return pa.parquet.read_table(path)
        read = pa.csv.ReadOptions(column_names=list(column_names) if column_names else None)
        # News articles quote with doubled quotes and run over several lines.
        parse = pa.csv.ParseOptions(newlines_in_values=True)
        with pa.OSFile(str(path)) as raw:
            stream = pa.CompressedInputStream(raw, "gzip") if path.suffix == ".gz" else raw
            return pa.csv.read_csv(stream, read_options=read, parse_options=parse)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Check the path.") from None
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable table ({error}). Use CSV or Parquet.") from error


def require_columns(path: Path, table: Any, names: Sequence[str]) -> None:
    """Refuse a table without the columns of its data set."""
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise InputError(
            f"{path}: column {missing[0]!r} is missing. The columns are {', '.join(table.column_names[:30])}."
        )


# Image files: found in a fixed order, decoded one by one; a broken file is noted, never a crash.

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png"}

Pixels = NDArray[np.uint8]


def find_images(folder: Path) -> list[Path]:
    """Every image below ``folder``, sorted by its path."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES)


@cache
def unpacked(path: Path) -> Path:
    """A folder with the files of a ZIP, until the program ends."""
    folder = Path(tempfile.mkdtemp(prefix="pacshift-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a readable ZIP file ({error}). Unpack it, and name the folder.") from error
    return folder


def require_folder(folder: Path, what: str) -> Path:
    """The folder itself, or an error that says what belongs there."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder. It should hold {what}. Check the path.")
    return folder


class ImageReader:
    """Decodes images to one size and remembers the files that could not be read."""

    def __init__(self, size: int, *, shorter_side: int | None = None) -> None:
        self.size = size
        self.shorter_side = shorter_side or size
        self.broken: dict[str, str] = {}
        """Path of each unreadable file and the reason."""

    def read(self, path: Path) -> Pixels | None:
        """Height x width x 3, or None where the file is broken."""
        import PIL.Image

        try:
            with PIL.Image.open(path) as image:
                return np.asarray(self._resize(image.convert("RGB")))
        except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError) as error:
            self.broken[str(path)] = str(error) or type(error).__name__
            return None

    def _resize(self, image: "Image") -> "Image":
        """Scale the shorter side, then cut out the square in the middle: the usual way for ImageNet networks."""
        from PIL.Image import Resampling

        scale = self.shorter_side / min(image.size)
        width, height = (max(self.size, round(side * scale)) for side in image.size)
        if (width, height) != image.size:
            image = image.resize((width, height), Resampling.BILINEAR)
        left, top = (width - self.size) // 2, (height - self.size) // 2
        return image.crop((left, top, left + self.size, top + self.size))

    def read_all(self, paths: Iterable[Path]) -> tuple[Pixels, NDArray[np.bool_]]:
        """All images that can be read, and for each path whether it could."""
        found = [self.read(path) for path in paths]
        is_good = np.array([image is not None for image in found], bool)
        good = [image for image in found if image is not None]
        if not good:
            raise InputError(f"none of {len(found):,} images could be read. {describe_broken(self.broken)}")
        return np.stack(good), is_good


def describe_broken(broken: Mapping[str, str], most: int = 3) -> str:
    """How many files could not be read, and the names of the first."""
    if not broken:
        return ""
    names = ", ".join(sorted(broken)[:most]) + (", ..." if len(broken) > most else "")
    return f"{len(broken):,} unreadable image{'s' if len(broken) > 1 else ''} left out: {names}"


# CDC heart: the BRFSS survey as a table of answers, "had heart disease or a heart attack" as the label.

HEART_LABELS = ("HeartDiseaseorAttack", "HeartDisease")
"""Of the extracts of 2015 and 2020."""
NOT_ANSWERS = ("fit",)
HEART = ("no heart disease", "heart disease")


def read_heart(place: Path) -> RawData:
    """Every column but the label is an answer. Words (as in 2020) become one column per word."""
    path = find_table(place, "the BRFSS survey as CSV or Parquet", names=("brfss2015.parquet",))
    table = read_table(path)
    label = next((name for name in HEART_LABELS if name in table.column_names), None)
    if label is None:
        raise InputError(
            f"{path}: no column {' or '.join(HEART_LABELS)}. The columns are {', '.join(table.column_names[:30])}."
        )
    names = [name for name in table.column_names if name not in (label, *NOT_ANSWERS)]
    answers = [_answers(path, table, name) for name in names]
    truth = table[label].to_numpy()
    labels = (truth == "Yes" if truth.dtype == object else truth > 0).astype(np.int64)
    year = "2020" if label == "HeartDisease" else "2015"
    return RawData(
        f"BRFSS {year}",
        np.arange(len(labels)),
        labels,
        HEART,
        np.column_stack(answers),
        np.zeros(len(labels), bool),
        columns=tuple(name for name, part in zip(names, answers, strict=True) for _ in range(part.shape[1])),
    )


def _answers(path: Path, table: Any, name: str) -> Any:
    values = table[name].to_numpy()
    if values.dtype == object:
        words = sorted(set(values))
        return (values[:, None] == np.array(words[1:], object)).astype(np.float64)
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"{path}: column {name!r} has no answer in row {row}. Drop such rows or fill them in.")
    return values[:, None]


# AG News: the official ``train.csv`` and ``test.csv`` (class 1 to 4, title, description), or a Parquet table.

NEWS = ("World", "Sports", "Business", "Sci/Tech")
OFFICIAL = ("class", "title", "description")


def read_agnews(place: Path) -> RawData:
    """Title and description of every article as one text."""
    if (place / "train.csv").is_file():
        return _read_official(place)
    path = find_table(place, "train.csv and test.csv, or a Parquet table", names=("agnews.parquet",))
    table = read_table(path)
    require_columns(path, table, ("text", "label"))
    labels = _news_labels(path, table["label"], first=0)
    is_test = np.zeros(len(labels), bool)
    if "part" in table.column_names:
        is_test = np.array(table["part"].to_pylist()) == "test"
    return RawData("AG News", np.arange(len(labels)), labels, NEWS, table["text"].to_pylist(), is_test)


def _read_official(folder: Path) -> RawData:
    """Train rows, then test rows; both files lack a header."""
    texts: list[str] = []
    labels, is_test = [], []
    for name in ("train.csv", "test.csv"):
        table = read_table(folder / name, column_names=OFFICIAL)
        labels.append(_news_labels(folder / name, table["class"], first=1))
        parts = zip(table["title"].to_pylist(), table["description"].to_pylist(), strict=True)
        texts += [f"{title} {description}" for title, description in parts]
        is_test.append(np.full(table.num_rows, name == "test.csv"))
    known = np.concatenate(labels)
    return RawData("AG News", np.arange(len(known)), known, NEWS, texts, np.concatenate(is_test))


def _news_labels(path: Path, column: Any, *, first: int) -> Any:
    """Class numbers counted from 0."""
    try:
        labels = column.to_numpy().astype(np.int64) - first
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: the classes must be numbers ({error}).") from error
    wrong = np.flatnonzero((labels < 0) | (labels >= len(NEWS)))
    if len(wrong):
        last = first + len(NEWS) - 1
        raise InputError(
            f"{path}: row {wrong[0]} has class {labels[wrong[0]] + first}, expected {first} to {last}."
        )
    return labels


# CIFAR-10: the official Python batches, or a folder of images (``train/CLASS/*.jpg``, ``test/CLASS/*.jpg``).

THINGS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch")


def read_cifar10(folder: Path) -> RawData:
    """All rows that can be read."""
    require_folder(
        folder, "data_batch_1 to data_batch_5 and test_batch, or train/CLASS/*.jpg and test/CLASS/*.jpg"
    )
    for place in (folder, folder / "cifar-10-batches-py"):
        if (place / BATCHES[0]).exists():
            return _read_batches(place)
    return _read_folder(folder)


def _read_batches(folder: Path) -> RawData:
    """Rows in official order; a row's id is its batch and its place there."""
    parts = [_load_batch(folder / name) for name in BATCHES]
    pixels = np.concatenate([part[b"data"] for part in parts]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    sizes = [len(part[b"labels"]) for part in parts]
    ids = [f"{name}/{row}" for name, size in zip(BATCHES, sizes, strict=True) for row in range(size)]
    labels = np.concatenate([part[b"labels"] for part in parts]).astype(np.int64)
    is_test = np.repeat([name == "test_batch" for name in BATCHES], sizes)
    return RawData("CIFAR-10", np.array(ids), labels, THINGS, np.ascontiguousarray(pixels), is_test)


class _ArraysOnly(pickle.Unpickler):
    """A pickle can run any code; these hold dictionaries, lists, bytes and NumPy arrays only."""

    def find_class(self, module: str, name: str) -> Any:
        is_array = module.split(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype")
        if is_array or (module, name) == ("_codecs", "encode"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it refers to {module}.{name}")


def _load_batch(path: Path) -> dict[bytes, Any]:
    try:
        with path.open("rb") as file:
            batch: dict[bytes, Any] = _ArraysOnly(file, encoding="bytes").load()
        if batch[b"data"].shape != (len(batch[b"labels"]), 3072):
            raise ValueError(f"data of shape {batch[b'data'].shape} for {len(batch[b'labels'])} labels")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. The folder must hold {', '.join(BATCHES)}.") from None
    except (OSError, EOFError, KeyError, ValueError, AttributeError, pickle.UnpicklingError) as error:
        raise InputError(
            f"{path}: not a batch of CIFAR-10 ({error}). Download the Python version again."
        ) from error
    return batch


def _read_folder(folder: Path) -> RawData:
    """Small enough to be decoded at once."""
    paths = [path for part in ("train", "test") for path in find_images(folder / part)]
    if not paths:
        raise InputError(
            f"{folder} holds neither {BATCHES[0]} nor images in train/CLASS and test/CLASS. Check the path."
        )
    unknown = {path.parent.name for path in paths} - set(THINGS)
    if unknown:
        raise InputError(f"{folder}: folder {sorted(unknown)[0]!r} is not one of the classes {', '.join(THINGS)}.")
    reader = ImageReader(size=32)
    pixels, is_good = reader.read_all(paths)
    kept = [path for path, good in zip(paths, is_good, strict=True) if good]
    return RawData(
        f"CIFAR-10 {kept[0].suffix.lstrip('.').upper().replace('JPG', 'JPEG')} folder",
        np.array([path.relative_to(folder).as_posix() for path in kept]),
        np.array([THINGS.index(path.parent.name) for path in kept]),
        THINGS,
        pixels,
        np.array([path.relative_to(folder).parts[0] == "test" for path in kept]),
        broken=reader.broken,
    )


# Entity-13 computed from the class hierarchy of ImageNet (BREEDS: Santurkar et al., 2020), not downloaded.
#
# The rule: superclasses are the nodes at depth 3 (longest path from the root) with at least 20 ImageNet classes
# below, in the order of their ids. 20 classes are drawn for each, with NumPy's legacy generator seeded with 2.

ROOT = "n00001740"
DEPTH, N_SUBCLASSES, SEED = 3, 20, 2
BREEDS = ("class_hierarchy.txt", "dataset_class_info.json", "node_names.txt")


@dataclass(frozen=True)
class Superclass:
    """One of the 13 labels and the ImageNet classes (WordNet ids) that make it up."""

    name: str
    subclasses: tuple[str, ...]


def read_superclasses(folder: Path) -> tuple[Superclass, ...]:
    """From ``classes.json``, a list made earlier, or from the three hierarchy files of BREEDS."""
    if (folder / "classes.json").is_file():
        listed = json.loads((folder / "classes.json").read_text(encoding="utf-8"))
        return tuple(
            Superclass(entry["name"].split(",")[0], tuple(sub["wordnet_id"] for sub in entry["subclasses"]))
            for entry in listed
        )
    missing = [name for name in BREEDS if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder}: {missing[0]} is missing. Entity-13 needs the hierarchy of BREEDS ({', '.join(BREEDS)}) "
            "in the folder 'hierarchy' of the data."
        )
    edges = [tuple(line.split()) for line in (folder / BREEDS[0]).read_text(encoding="utf-8").splitlines() if line]
    leaves = [entry[1] for entry in json.loads((folder / BREEDS[1]).read_text(encoding="utf-8"))]
    lines = (folder / BREEDS[2]).read_text(encoding="utf-8").splitlines()
    names = dict(line.split("\t", 1) for line in lines if "\t" in line)
    return superclasses_of([(edge[0], edge[1]) for edge in edges], leaves, names)


def superclasses_of(
    edges: list[tuple[str, str]], leaves: list[str], names: dict[str, str], *, root: str = ROOT
) -> tuple[Superclass, ...]:
    """Apply the rule to a hierarchy given as (parent, child) pairs."""
    children = _towards_leaves(edges, set(leaves))
    depth = _longest_paths(children, root)
    rng = np.random.RandomState(SEED)
    found = []
    for node in sorted(node for node, level in depth.items() if level == DEPTH):
        if len(_leaves_below(node, children, set(leaves))) >= N_SUBCLASSES:
            listed = _leaves_by_branch(node, children, set(leaves))
            drawn = rng.choice(listed, N_SUBCLASSES, replace=False)
            found.append(Superclass(names.get(node, node).split(",")[0], tuple(map(str, drawn))))
    return tuple(found)


def _towards_leaves(edges: list[tuple[str, str]], leaves: set[str]) -> dict[str, list[str]]:
    """The children of every node that leads to a leaf; other branches of WordNet are cut off."""
    parents = defaultdict(set)
    for parent, child in edges:
        parents[child].add(parent)
    useful, todo = set(leaves), list(leaves)
    while todo:
        new = parents[todo.pop()] - useful
        useful |= new
        todo += new
    children: dict[str, list[str]] = defaultdict(list)
    for parent, child in edges:
        if child in useful and child not in children[parent]:
            children[parent].append(child)
    return children


def _longest_paths(children: dict[str, list[str]], root: str) -> dict[str, int]:
    """Depth of every node below the root, by the longest way down to it."""
    depth: dict[str, int] = {}
    todo = [root]
    level = 0
    while todo:
        depth |= dict.fromkeys(todo, level)
        todo = sorted({child for node in todo for child in children.get(node, ())})
        level += 1
        if level > len(children) + 1:
            raise InputError("the hierarchy has a cycle: a class lies below itself. Check class_hierarchy.txt.")
    return depth


def _leaves_below(node: str, children: dict[str, list[str]], leaves: set[str]) -> set[str]:
    """ImageNet classes below a node; nothing below such a class is looked at."""
    found, todo = {node} & leaves, {node}
    while todo:
        below = {child for parent in todo for child in children.get(parent, ())}
        found |= below & leaves
        todo = below - leaves
    return found


def _leaves_by_branch(node: str, children: dict[str, list[str]], leaves: set[str]) -> list[str]:
    """Sorted leaves of the first branches below a node; a class on two branches is listed twice, as published."""
    branches = children[node]
    while len(branches) == 1:
        branches = children[branches[0]]
    return sorted(leaf for branch in branches for leaf in _leaves_below(branch, children, leaves))


# Entity-13: folders of ImageNet (``train/WNID/*.JPEG``, ``val/WNID/*.JPEG``) grouped into 13 superclasses.

PARTS = ("train", "val")


def read_entity13(folder: Path) -> RawData:
    """Paths of all images of the classes that are there; the official validation images are the test rows."""
    require_folder(folder, "train/WNID/*.JPEG, val/WNID/*.JPEG and the hierarchy of BREEDS")
    hierarchy = folder / "hierarchy" if (folder / "hierarchy").is_dir() else folder
    superclasses = read_superclasses(hierarchy)
    label_of = {wnid: label for label, entry in enumerate(superclasses) for wnid in entry.subclasses}
    paths = [path for part in PARTS for wnid in sorted(label_of) for path in find_images(folder / part / wnid)]
    if not paths:
        raise InputError(
            f"{folder} holds no images in train/WNID or val/WNID of Entity-13's classes. Check the path."
        )
    places = [path.relative_to(folder).parts for path in paths]
    n_present = len({place[1] for place in places})
    subset = "" if n_present == len(label_of) else f", {n_present} of {len(label_of)} classes"
    return RawData(
        f"Entity-13{subset}",
        np.array(["/".join(place) for place in places]),
        np.array([label_of[place[1]] for place in places]),
        tuple(entry.name for entry in superclasses),
        [str(path) for path in paths],
        np.array([place[0] == "val" for place in places]),
        has_files=True,
    )


# ChestX-ray14: the label table of the NIH and folders of images; rows with exactly one finding, out of six.

FINDINGS = ("Atelectasis", "Effusion", "Infiltration", "Mass", "Nodule", "Pneumothorax")
CHEST_COLUMNS = ("Image Index", "Finding Labels", "Patient ID")


def read_chestxray(place: Path) -> RawData:
    """Images of the table that are in the folder or ZIP, in the order of their names; each patient is a group."""
    zips = [place] if place.suffix == ".zip" else sorted(place.glob("chestxray14*.zip"))
    what = "Data_Entry_2017*.csv and the images, or a ZIP of them"
    folder = unpacked(zips[0]) if zips else require_folder(place, what)
    tables = sorted(path for path in folder.rglob("*.csv*") if path.is_file())
    if len(tables) != 1:
        shown = ", ".join(path.name for path in tables[:4]) or "none"
        raise InputError(f"{folder}: expected one label table (Data_Entry_2017*.csv), found {shown}.")
    table = read_table(tables[0])
    require_columns(tables[0], table, CHEST_COLUMNS)
    names, findings, patients = (table[name].to_pylist() for name in CHEST_COLUMNS)
    paths = {path.name: path for path in find_images(folder)}
    rows = [
        (name, FINDINGS.index(finding), int(patient), str(paths[name]))
        for name, finding, patient in zip(names, findings, patients, strict=True)
        if finding in FINDINGS and name in paths
    ]
    if not rows:
        raise InputError(f"{folder}: none of the {len(paths):,} images has exactly one of the six findings.")
    rows.sort()
    ids, labels, groups, found = zip(*rows, strict=True)
    _, numbers = np.unique(groups, return_inverse=True)
    return RawData(
        "ChestX-ray14, one finding out of six",
        np.array(ids),
        np.array(labels),
        FINDINGS,
        found,
        np.zeros(len(rows), bool),
        groups=numbers.astype(np.int64),
        has_files=True,
    )


# The reader of each data set.

READERS: dict[str, Callable[[Path], RawData]] = {
    "heart": read_heart,
    "heart-natural": read_heart,
    "agnews": read_agnews,
    "cifar10": read_cifar10,
    "entity13": read_entity13,
    "chestxray": read_chestxray,
}
