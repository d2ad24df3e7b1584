"""Tallies on disk: an .npz of plain arrays with a JSON header. Nothing in it is executed, nonsense is refused."""

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import running_sum
from pacshift.errors import InputError
from pacshift.files.codec import ANYTHING, COUNT, FLAG, TEXT, Entries, ListOf, choice, parse_json, record
from pacshift.files.origin import PACSHIFT_VERSION, TIME_FORMAT, current_time
from pacshift.files.reading import read_arrays
from pacshift.files.writing import atomic_write
from pacshift.scores.check import check_classes
from pacshift.scores.kind import ScoreKind
from pacshift.tally.cells import Bins, Cells, n_codes
from pacshift.tally.grid import BINS
from pacshift.tally.groups import Grouped
from pacshift.tally.once import Input, all_inputs
from pacshift.tally.stores import Distinct, SoftSums

if TYPE_CHECKING:
    from pacshift.tally.tally import Tally

FORMAT, VERSION = "pacshift-tally", 1
MAX_TOTAL = 2.0**62
"""Counts and sums of probabilities may add up to this: more would come close to overflow."""

Arrays = dict[str, NDArray[Any]]

HEADER = Entries(
    {
        "classes": ListOf(ANYTHING, check_classes),
        "score": TEXT,
        "grid": FLAG,
        "source_bins": choice(*get_args(Bins)),
        "target_bins": choice(*get_args(Bins)),
        "source_kind": record(ScoreKind).or_null,
        "target_kind": record(ScoreKind).or_null,
        "source_grouped": record(Grouped).or_null,
        "target_grouped": record(Grouped).or_null,
        "softmax": FLAG,
    }
)
"""What two equal tallies agree on."""
ORIGIN = Entries({"inputs": ListOf(record(Input)), "n_more_inputs": COUNT})
"""What the rows came from, which makes no difference."""


def write(tally: "Tally", path: str | os.PathLike[str]) -> None:
    """All of it, or no file."""
    written = {"created": current_time().strftime(TIME_FORMAT), "pacshift_version": PACSHIFT_VERSION}
    origin = ORIGIN.write({"inputs": all_inputs(tally), "n_more_inputs": tally.n_more_inputs})
    arrays = arrays_of(tally)
    head = {"format": FORMAT, "version": VERSION, **written, **origin, "arrays": checksums(arrays)}
    header = np.array(json.dumps(head | header_of(tally)))
    with atomic_write(path) as draft, open(draft, "wb") as file:
        np.savez_compressed(file, header=header, **arrays)  # type: ignore[arg-type]


def checksums(arrays: Arrays) -> dict[str, str]:
    """SHA-256 of every array by name. The zip's own checksums do not cover names, so an array could get lost."""
    return {name: hashlib.sha256(np.ascontiguousarray(array).data).hexdigest() for name, array in arrays.items()}


def header_of(tally: "Tally") -> dict[str, Any]:
    """What is to be said about the counts."""
    bins = {"source_bins": tally.source_cells.bins, "target_bins": tally.target_cells.bins}
    return dict(HEADER.write(bins | {name: getattr(tally, name) for name in HEADER.kinds if name not in bins}))


def arrays_of(tally: "Tally") -> Arrays:
    """The counts."""
    arrays: Arrays = {name: getattr(tally, name) for name in ("values", "counts", "starts")}
    for side, cells in (("source", tally.source_cells), ("target", tally.target_cells)):
        arrays |= {f"{side}_codes": cells.codes, f"{side}_counts": cells.counts}
    if tally.soft is not None:
        arrays |= {f"soft_{name}": getattr(tally.soft, name) for name in ("labels", "sums", "target")}
    return arrays if tally.bins is None else arrays | {"bins": tally.bins}


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of a tally, checked: the counts add up."""
    try:
        arrays = read_arrays(path)
        header = parse_json(str(arrays.pop("header")).encode())
        version = header["version"] if header["format"] == FORMAT else None
    except InputError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a pacshift tally ({error}). Make one with `pacshift tally`.") from None
    if type(version) is not int or version != VERSION:  # True == 1
        raise InputError(
            f"{path}: tally version {version!r}, this pacshift reads {VERSION}. Update pacshift or count again."
        )
    if header.get("arrays") != checksums(arrays):
        raise InputError(f"{path}: the counts do not match their checksums, the file is damaged. Make it again.")
    try:
        found: dict[str, Any] = HEADER.read(header, "") | ORIGIN.read(header, "")
        for side, n_labels in (("source", len(found["classes"])), ("target", 1)):
            codes, counts = arrays[f"{side}_codes"], arrays[f"{side}_counts"]
            found[f"{side}_cells"] = Cells(codes, counts, n_labels, found.pop(f"{side}_bins"))
        _require_sound(arrays, found["source_cells"], found["target_cells"])
        if any(name.startswith("soft_") for name in arrays):
            found["soft"] = SoftSums(*(arrays[f"soft_{name}"] for name in ("labels", "sums", "target")))
        scores = Distinct(*(arrays[name] for name in ("values", "counts", "starts")))
        return found | {"scores": scores, "bins": arrays.get("bins")}
    except (InputError, TypeError, KeyError, ValueError, IndexError) as error:
        raise InputError(f"{path}: the counts of this tally do not add up ({error}). Make it again.") from None


def _require_sound(arrays: Arrays, source: Cells, target: Cells) -> None:
    """ValueError where the arrays contradict each other or the header."""
    n_classes, values, n_soft = source.n_labels, arrays["values"], arrays.get("soft_labels", source.codes).size
    shapes = {"counts": values.shape, "starts": (n_classes + 1,), "bins": (n_classes, BINS)}
    shapes |= {"soft_labels": (n_soft,), "soft_sums": (n_soft, n_classes), "soft_target": (n_classes,)}
    for side, cells in (("source", source), ("target", target)):
        shapes |= {f"{side}_codes": (cells.codes.size,), f"{side}_counts": (cells.codes.size,)}
    for name, array in arrays.items():
        if name == "values":
            continue
        if array.dtype != np.int64 or array.shape != shapes[name] or (array < 0).any():
            raise ValueError(f"{name} must hold counts of shape {shapes[name]}")
        if not name.endswith("_codes") and array.sum(dtype=np.float64) > MAX_TOTAL:
            raise ValueError(f"{name} adds up to more than {MAX_TOTAL:g}")
    for side, cells in (("source", source), ("target", target)):
        limit = n_codes(n_classes, cells.n_labels, cells.bins)
        if (np.diff(cells.codes) <= 0).any() or cells.codes.max(initial=0) >= limit:
            raise ValueError(f"{side}_codes must ascend and name cells of {n_classes} classes")
        if (cells.counts == 0).any():
            raise ValueError(f"{side}_counts must be at least 1")
        if cells.bins == "none" and cells.bin.any():
            raise ValueError(f"{side}_codes name bins, which the header denies")
    counts, starts, class_counts = arrays["counts"], arrays["starts"], source.label_counts()
    if values.dtype != np.float64 or values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("values must be finite floats")
    if (np.diff(starts) < 0).any() or starts[0] != 0 or starts[-1] != len(values):
        raise ValueError("starts must grow from 0 to the number of values")
    ascending = np.diff(values) > 0
    ascending[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(values))] - 1] = True
    if not ascending.all() or (counts == 0).any():
        raise ValueError("scores of a class must ascend and occur at least once")
    if not np.array_equal(np.diff(running_sum(counts)[starts]), class_counts):
        raise ValueError("the scores of a class must be as many as its examples")
    if "bins" in arrays and (arrays["bins"].sum(axis=1) != target.n_rows).any():
        raise ValueError("the bins of a class must hold every target row")
    if "soft_labels" in arrays and not np.array_equal(arrays["soft_labels"], np.flatnonzero(class_counts)):
        raise ValueError("soft_labels must be the labels that occur")
