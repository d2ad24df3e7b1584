"""ChestX-ray14: the label table of the NIH and folders of images; rows with exactly one finding, out of six."""

from pathlib import Path

import numpy as np

from pacshift.errors import InputError
from paper.recipes.raw.data import RawData
from paper.recipes.raw.images import find_images, require_folder
from paper.recipes.raw.tables import read_table, require_columns

CLASSES = ("Atelectasis", "Effusion", "Infiltration", "Mass", "Nodule", "Pneumothorax")
COLUMNS = ("Image Index", "Finding Labels", "Patient ID")


def read_chestxray(folder: Path) -> RawData:
    """Images of the table that are in the folder, in the order of their names; each patient is a group."""
    require_folder(folder, "Data_Entry_2017*.csv and the images")
    tables = sorted(path for path in folder.rglob("*.csv*") if path.is_file())
    if len(tables) != 1:
        shown = ", ".join(path.name for path in tables[:4]) or "none"
        raise InputError(f"{folder}: expected one label table (Data_Entry_2017*.csv), found {shown}.")
    table = read_table(tables[0])
    require_columns(tables[0], table, COLUMNS)
    names, findings, patients = (table[name].to_pylist() for name in COLUMNS)
    paths = {path.name: path for path in find_images(folder)}
    rows = [
        (name, CLASSES.index(finding), int(patient), str(paths[name]))
        for name, finding, patient in zip(names, findings, patients, strict=True)
        if finding in CLASSES and name in paths
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
        CLASSES,
        found,
        np.zeros(len(rows), bool),
        groups=numbers.astype(np.int64),
        has_files=True,
    )
