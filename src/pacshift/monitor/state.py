"""The state of a monitor on disk: small files of counts and one manifest, which alone says what counts.

A step locks the folder and reads what others have done. New files get new names; then the manifest is replaced
in one step; then files that it no longer names are removed. So a process that is killed at any moment leaves the
state before or after a step, never half of one, and no two processes forget each other's rows.
"""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from pacshift.arrays import KeyArray
from pacshift.certificate import Certificate
from pacshift.certification.request import Request
from pacshift.errors import InputError
from pacshift.files.codec import CHECKSUM, parse_json, require_seal, seal
from pacshift.files.lock import LOCK_NAME, FolderLock
from pacshift.files.reading import read_document
from pacshift.files.writing import atomic_write
from pacshift.monitor.manifest import Saved, from_document, to_document, upgraded
from pacshift.scores.check import shorten
from pacshift.tally import Tally

FORMAT, VERSION = "pacshift-monitor", 2
READABLE_VERSIONS = (1, 2)
"""Version 1 had no checksum."""
MANIFEST = "manifest.json"
CURRENT = "current.json"
"""A copy of the certificate in use, under a name that never changes."""
NUMBERED = re.compile(r"[\w-]*\.\d+\.(tally|json|keys)")
OWN_NAME = re.compile(rf"{NUMBERED.pattern}|{re.escape(LOCK_NAME)}|\..*\.part(\.\w+)?")
"""What a process may leave that is killed in the first step, before there is a manifest."""
SHA256_BYTES = 32


def request_settings(request: Request) -> dict[str, Any]:
    """What is asked for, as a folder remembers it. What is not asked for is left out: older folders lack it."""
    known = request.known
    said: dict[str, Any] = {
        "epsilon": request.epsilon,
        "delta": request.delta,
        "known_mix": None if known is None else [known.lower.tolist(), known.upper.tolist()],
    }
    if request.class_epsilon is not None:
        said["class_epsilon"] = request.class_epsilon
    return said | ({"contamination": request.contamination} if request.contamination else {})


def fingerprint(source: Tally) -> str:
    """SHA-256 of the counts of a source, by which a state folder knows its own."""
    digest = hashlib.sha256(json.dumps([source.classes, source.score, source.grid]).encode())
    cells = source.source_cells
    # Top scores that are not probabilities were not counted when the first folders were made.
    cells = cells.without_bins() if cells.bins == "top scores" else cells
    for array in (cells.codes, cells.counts, source.values, source.counts, source.starts):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class StateFolder:
    """Reads and writes ``Saved``. Files that are on disk already are not written again."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: dict[str, Any],
        source: str,
        default_options: dict[str, Any],
    ) -> None:
        self.path, self._settings, self._source = Path(path), settings, source
        self._defaults = default_options
        self._written: dict[int, tuple[Any, str]] = {}  # by identity: what a file holds never changes
        self._serial, self._n_files = 0, 0
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot use {self.path} as state folder: {error.strerror or error}.") from None
        self.lock = FolderLock(self.path)

    def read(self) -> Saved:
        """What was saved last; nothing if the folder is new. The folder must be locked."""
        if not (self.path / MANIFEST).exists():
            self._require_empty()
            return Saved()
        document = self._document()
        self._require_settings(document)
        try:
            self._written, self._serial = {}, int(document["serial"])
            self._n_files = int(document["n_files"])
            saved = from_document(document, self, self._settings)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise self._damaged(error) from None
        self._copy_current(saved)
        return saved

    def read_again(self, saved: Saved) -> Saved:
        """What was saved last: ``saved`` itself unless another process has written since. Needs the lock."""
        is_new = not self._serial and not (self.path / MANIFEST).exists()
        return saved if is_new or self._document()["serial"] == self._serial else self.read()

    def write(self, saved: Saved) -> None:
        """Save everything in one step. The folder must be locked."""
        head = {"format": FORMAT, "version": VERSION, "settings": self._settings, "source": self._source}
        content = to_document(saved, self)  # writes new files, and counts them
        document = head | {"serial": self._serial + 1, "n_files": self._n_files} | content
        with atomic_write(self.path / MANIFEST) as draft:
            draft.write_text(json.dumps(seal(document), indent=1), encoding="utf-8")
        self._serial += 1
        self._copy_current(saved)
        self._remove_unnamed()

    def _document(self) -> dict[str, Any]:
        """The manifest in the form of today, whole and unchanged."""
        try:
            document = parse_json(read_document(self.path / MANIFEST))
            if not isinstance(document, dict) or document["format"] != FORMAT:
                raise ValueError("it does not say what it is")
            version = document["version"]
            if type(version) is not int or version not in READABLE_VERSIONS:  # True == 1
                raise ValueError(f"version {version!r}")
            if version > 1 or CHECKSUM in document:
                require_seal(document)
            if version > 1:
                return document
            return upgraded(document)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> InputError:
        return InputError(
            f"{self.path / MANIFEST} is not the state of a monitor ({error!r}). Restore the folder from a "
            "copy, or choose another one with state=."
        )

    def _require_empty(self) -> None:
        """Files that the manifest does not name are removed, so they must not be someone else's."""
        foreign = [file.name for file in self.path.iterdir() if not _is_own(file.name)]
        if foreign:
            raise InputError(
                f"{self.path} holds {shorten(sorted(foreign))} but no {MANIFEST}. "
                "Choose a new or empty folder for state=."
            )

    def _require_settings(self, document: dict[str, Any]) -> None:
        try:
            found = document["settings"] | {"source": document["source"]}
        except (KeyError, TypeError) as error:
            raise self._damaged(error) from None
        asked = self._settings | {"source": self._source}
        if found["source"] != self._source:
            raise InputError(
                f"{self.path} was begun with another source, with which its reports are compared. Use that one, "
                "or begin another folder for a new source or model."
            )
        # An option that the folder does not know did not exist then, and was what it is by default.
        found["options"] = self._defaults | found.get("options", {})
        changed = [name for name in dict.fromkeys([*asked, *found]) if found.get(name) != asked.get(name)]
        if changed:
            was, now = ({name: each.get(name) for name in changed} for each in (found, asked))
            raise InputError(
                f"{self.path} belongs to a monitor with other settings: {was} there, {now} now. "
                "The shares of delta that were spent belong to them. Use the same settings, or another folder."
            )

    def name_of(self, content: Tally | Certificate | KeyArray | None, kind: str) -> str | None:
        """The name of the file that holds ``content``, written now if it is new."""
        if content is None:
            return None
        if id(content) not in self._written:
            self._n_files += 1  # one number per file: names of periods that look alike share no file
            self._remember(content, self._write_file(content, f"{_slug(kind)}.{self._n_files}"))
        return self._written[id(content)][1]

    def _write_file(self, content: Tally | Certificate | KeyArray, stem: str) -> str:
        if isinstance(content, np.ndarray):
            data, name = np.ascontiguousarray(content, "<u8").tobytes(), f"{stem}.keys"
            with atomic_write(self.path / name, private=True) as draft:
                draft.write_bytes(hashlib.sha256(data).digest() + data)
            return name
        name = stem + (".tally" if isinstance(content, Tally) else ".json")
        content.save(self.path / name)
        return name

    def tally(self, name: Any) -> Tally:
        """The tally in a file."""
        loaded = Tally.load(self._own(name))
        self._remember(loaded, name)
        return loaded

    def certificate(self, name: Any) -> Certificate | None:
        """The certificate in a file; None for None."""
        if name is None:
            return None
        loaded = Certificate.load(self._own(name))
        self._remember(loaded, name)
        return loaded

    def keys(self, name: Any) -> KeyArray | None:
        """The keys in a file; None for None."""
        if name is None:
            return None
        content = self._own(name).read_bytes()
        sha256, data = content[:SHA256_BYTES], content[SHA256_BYTES:]
        if hashlib.sha256(data).digest() != sha256:
            raise ValueError(f"{name} was changed after it was written")
        loaded = np.frombuffer(data, "<u8").astype(np.uint64)
        self._remember(loaded, name)
        return loaded

    def _own(self, name: Any) -> Path:
        if not isinstance(name, str) or not NUMBERED.fullmatch(name):
            raise ValueError(f"{name!r} is not a file of this folder")
        return self.path / name

    def _remember(self, content: Any, name: str) -> None:
        self._written[id(content)] = (content, name)  # kept alive, so that its id stays its own

    def _copy_current(self, saved: Saved) -> None:
        """Make ``current.json`` the certificate in use; a process may have been killed before it could."""
        current = self.path / CURRENT
        if saved.in_use is None:
            current.unlink(missing_ok=True)
            return
        content = (self.path / self._written[id(saved.in_use.certificate)][1]).read_bytes()
        if not current.exists() or current.read_bytes() != content:
            with atomic_write(current) as draft:
                draft.write_bytes(content)

    def _remove_unnamed(self) -> None:
        text = (self.path / MANIFEST).read_text(encoding="utf-8")
        self._written = {key: kept for key, kept in self._written.items() if f'"{kept[1]}"' in text}
        named = {name for _, name in self._written.values()} | {MANIFEST, CURRENT, LOCK_NAME}
        for file in self.path.iterdir():
            if _is_own(file.name) and file.name not in named:
                file.unlink(missing_ok=True)


def _is_own(name: str) -> bool:
    return OWN_NAME.fullmatch(name) is not None


def _slug(name: str) -> str:
    """A file name that any system allows; the manifest has the real name.

    >>> _slug("Mai 2026/Süd")
    'Mai_2026_S_d'
    """
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in name)[:80]
