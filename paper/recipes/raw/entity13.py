"""Entity-13: folders of ImageNet (``train/WNID/*.JPEG``, ``val/WNID/*.JPEG``) grouped into 13 superclasses."""

from pathlib import Path

import numpy as np

from pacshift.errors import InputError
from paper.recipes.raw.breeds import read_superclasses
from paper.recipes.raw.data import RawData
from paper.recipes.raw.images import find_images, require_folder

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
