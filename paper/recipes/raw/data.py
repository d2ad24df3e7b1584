"""What every reader returns: the rows of a raw data set, each with an id, a label and its content."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray

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
