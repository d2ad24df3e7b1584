"""Tallies on disk: an .npz of plain arrays with a JSON header, sealed by checksums. Nothing in it is executed."""

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError
from pacshift.files.codec import (
    ANYTHING,
    COUNT,
    FLAG,
    Document,
    Entries,
    ListOf,
    choice,
    parse_document,
    record,
    require,
    require_seal,
    seal,
)
from pacshift.files.origin import PACSHIFT_VERSION, TIME_FORMAT, current_time
from pacshift.files.reading import read_arrays
from pacshift.files.writing import atomic_write
from pacshift.scores.check import check_classes
from pacshift.scores.kind import ScoreKind
from pacshift.tally.cells import Bins, Cells
from pacshift.tally.inputs import Grouped, Input
from pacshift.tally.rules import SCORE, TALLY, require_arrays, require_side
from pacshift.tally.same_rows import list_inputs
from pacshift.tally.stores import Distinct, SoftSums

if TYPE_CHECKING:
    from pacshift.tally.tally import Tally

FORMAT, VERSION = "pacshift-tally", 1

Arrays = dict[str, NDArray[Any]]

HEADER = Entries(
    {
        "classes": ListOf(ANYTHING, check_classes),
        "score": SCORE,
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
    origin = ORIGIN.write({"inputs": list_inputs(tally), "n_more_inputs": tally.n_more_inputs})
    arrays = arrays_of(tally)
    head = {"format": FORMAT, "version": VERSION, **written, **origin, "arrays": checksums(arrays)}
    header = np.array(json.dumps(seal(head | header_of(tally))))
    with atomic_write(path) as draft, open(draft, "wb") as file:
        np.savez_compressed(file, header=header, **arrays)  # type: ignore[arg-type]


def checksums(arrays: Arrays) -> dict[str, str]:
    """SHA-256 of every array by name. The zip's own checksums do not cover names, so an array could get lost."""
    return {name: hashlib.sha256(np.ascontiguousarray(array).data).hexdigest() for name, array in arrays.items()}


def header_of(tally: "Tally") -> Document:
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


def read(path: str | os.PathLike[str], cls: "type[Tally]") -> "Tally":
    """A tally whose content is what was written, as the checksums say, and keeps the rules of real counts."""
    try:
        arrays = read_arrays(path)
        header = str(arrays.pop("header")).encode()
    except InputError:
        raise
    except (KeyError, ValueError) as error:
        raise InputError(f"{path} is not a pacshift tally ({error}). Make one with `pacshift tally`.") from None

    def read_tally(document: Document) -> "Tally":
        require_seal(document)
        if document["arrays"] != checksums(arrays):
            raise ValueError("the counts do not match their checksums")
        fields = HEADER.read(document, "") | ORIGIN.read(document, "")
        require_arrays(arrays, len(fields["classes"]))
        for side, n_labels in (("source", len(fields["classes"])), ("target", 1)):
            codes, counts = arrays[f"{side}_codes"], arrays[f"{side}_counts"]
            fields[f"{side}_cells"] = Cells(codes, counts, n_labels, fields.pop(f"{side}_bins"))
        if "soft_labels" in arrays:
            fields["soft"] = SoftSums(*(arrays[f"soft_{name}"] for name in ("labels", "sums", "target")))
        scores = Distinct(*(arrays[name] for name in ("values", "counts", "starts")))
        tally = cls(**fields, scores=scores, bins=arrays.get("bins"))
        require(TALLY, tally)
        by_class, kinds = tally.class_counts, (tally.source_kind, tally.target_kind)
        require_side("source", tally.n_source, by_class=by_class, kind=kinds[0], grouped=tally.source_grouped)
        require_side("target", tally.n_target, by_class=None, kind=kinds[1], grouped=tally.target_grouped)
        return tally

    return parse_document(header, path, FORMAT, VERSION, read_tally, what="tally")
