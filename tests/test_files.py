"""Files are written whole or not at all, never over an input, and looked at before they are read."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacshift import Certificate, InputError, Tally, read
from pacshift.files.codec import parse_json
from pacshift.files.origin import code_identity
from pacshift.files.reading import max_bytes, read_arrays, read_document
from pacshift.files.writing import atomic_write, check_output
from special import special_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def put(path: Path, text: str) -> None:
    with atomic_write(path) as draft:
        draft.write_text(text)


def test_the_new_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_write(path) as draft:
        draft.write_text("new")
        assert path.read_text() == "old"
        assert draft.suffix == ".txt"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_new_file_has_the_permissions_of_the_old_one(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    group = 4321 if os.geteuid() == 0 else os.getgroups()[-1]
    os.chown(path, -1, group)
    path.chmod(mode)
    with atomic_write(path) as draft:
        assert draft.stat().st_mode & 0o777 == 0o600  # nobody else reads it meanwhile
        draft.write_text("new")
    assert (path.read_text(), path.stat().st_mode & 0o777, path.stat().st_gid) == ("new", mode, group)
    with atomic_write(tmp_path / "b.txt", private=True) as draft:
        draft.write_text("secret")
    assert (tmp_path / "b.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("error", [InputError("x"), OSError("x"), KeyboardInterrupt(), SystemExit(1)])
def test_the_old_file_stays_if_writing_fails(error: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with suppress(InputError, KeyboardInterrupt, SystemExit), atomic_write(path) as draft:
        draft.write_text("ne")
        raise error
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("length", [1, 200, 235, 243, 250, 255])
@pytest.mark.parametrize("letter", ["x", "é", "日"])
def test_long_names_work(letter: str, length: int, tmp_path: Path) -> None:
    stem = letter * ((length - 5) // len(letter.encode())) or "x"
    for suffix in (".json", "." + "y" * (length - 2)):
        path = tmp_path / (f"{stem}{suffix}" if suffix == ".json" else f"x{suffix}")
        put(path, "text")
        assert path.read_text() == "text"


@pytest.mark.parametrize("name", ["x" * 256, "é" * 130, "x" * 251 + ".json", "a\0b"])
def test_impossible_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*(too long|null)"):
        put(tmp_path / name, "text")
    if "\0" not in name:
        with pytest.raises(InputError, match=r"cannot read .*too long"):
            read(tmp_path / f"{name}.parquet").tally()


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket", "device"])
def test_only_regular_files_are_replaced(kind: str, tmp_path: Path) -> None:
    out = special_file(tmp_path, kind)
    (tmp_path / "link").symlink_to(out)
    for path in (out, tmp_path / "link"):
        with pytest.raises(InputError, match=r"cannot write .*(name a file|pipe. Name a regular file)"):
            put(path, "text")
    assert out.exists()
    assert not out.is_file()


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    put(tmp_path / "link.txt", "new")
    assert (tmp_path / "real.txt").read_text() == "new"
    assert (tmp_path / "link.txt").is_symlink()


def test_an_input_is_never_an_output(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("precious")
    (tmp_path / "soft.csv").symlink_to(table)
    os.link(table, tmp_path / "hard.csv")
    for out in ("table.csv", "soft.csv", "hard.csv", f"../{tmp_path.name}/table.csv"):
        with pytest.raises(InputError, match="is the same file as the input"):
            check_output(tmp_path / out, overwrite=True, inputs=[tmp_path / "absent", table])
    check_output(tmp_path / "other.csv", overwrite=True, inputs=[table])


DRAFT_OF_A_KILLED_PROCESS = """
import os, signal, sys
from pacshift.files.writing import atomic_write
with atomic_write(sys.argv[1]) as draft:
    draft.write_text("half")
    print("ready", flush=True)
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


def start(path: Path, what: str) -> Any:
    command = [sys.executable, "-c", DRAFT_OF_A_KILLED_PROCESS, str(path), what]
    process: Any = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_the_next_write_removes_drafts_of_dead_processes_only(tmp_path: Path) -> None:
    mine = [tmp_path / ".pacshift-0123456789ab-notes.txt", tmp_path / ".other.part", tmp_path / "x.part.json"]
    for path in mine:
        path.write_text("not a draft")
    with start(tmp_path / "alive.json", "wait") as alive:
        with start(tmp_path / "dead.json", "die") as dead:
            dead.wait()
        assert dead.returncode == -signal.SIGKILL
        drafts = [name for name in names(tmp_path) if ".part" in name and name.startswith(".pacshift")]
        assert len(drafts) == 2
        put(tmp_path / "new.txt", "text")
        left = [name for name in names(tmp_path) if name in drafts]
        assert len(left) == 1
        assert "alive" in left[0]
        alive.communicate("")
    assert alive.returncode == 0
    assert names(tmp_path) == sorted(["alive.json", "new.txt", *(path.name for path in mine)])


def test_archives_are_measured_before_they_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "bomb.npz"
    np.savez_compressed(bomb, probs=np.zeros((1000, 100)), labels=np.zeros(1000, int))
    monkeypatch.setenv("PACSHIFT_MAX_BYTES", "100000")
    expected = r"would take 808,\d+ bytes of memory, the limit is 100,000. .*PACSHIFT_MAX_BYTES"
    for use in (read_arrays, Tally.load, lambda path: read(path, label="labels").tally()):
        with pytest.raises(InputError, match=expected):
            use(bomb)
    monkeypatch.setenv("PACSHIFT_MAX_BYTES", "1000000")
    assert read_arrays(bomb)["probs"].shape == (1000, 100)
    assert list(read_arrays(bomb, ["labels"])) == ["labels"]
    monkeypatch.setenv("PACSHIFT_MAX_BYTES", "9" * 23)
    assert max_bytes() == 10**18
    monkeypatch.setenv("PACSHIFT_MAX_BYTES", "4 GB")
    with pytest.raises(InputError, match="must be a whole number of bytes above 0, got '4 GB'"):
        max_bytes()


def test_documents_are_measured_before_they_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.json"
    path.write_text(json.dumps(["x"] * 1000))
    monkeypatch.setenv("PACSHIFT_MAX_BYTES", "16000")
    for use in (read_document, Certificate.load):
        with pytest.raises(InputError, match=r"would take 80,000 bytes of memory, the limit is 16,000"):
            use(path)


def test_endless_files_are_refused_at_once(tmp_path: Path) -> None:
    for suffix in (".json", ".csv", ".parquet", ".feather", ".npz", ".tally"):
        (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    for load in (Certificate.load, Tally.load):
        with pytest.raises(InputError, match=r"cannot read .*(it is a device|not a regular file)"):
            load(tmp_path / "zero.json")
    for suffix in (".csv", ".parquet", ".feather", ".npz"):
        with pytest.raises(InputError, match=r"cannot read .*not a regular file"):
            read(tmp_path / f"zero{suffix}").tally()


def test_a_certificate_may_come_through_a_pipe() -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"a": 1}')
    os.close(writing)
    assert parse_json(read_document(f"/dev/fd/{reading}")) == {"a": 1}
    os.close(reading)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "a": 1}', "the key 'a' occurs twice"),
        (b'[{"a": [{"b": 1, "b": 1}]}]', "the key 'b' occurs twice"),
        (b"[1e999]", "1e999 is beyond the range of numbers"),
        (b"[NaN]", "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"\xff", "can't decode"),
        (b"[" * 10**5, "nested too deeply"),
        (b'"\\ud800"', "surrogates"),
    ],
)
def test_json_that_could_be_read_in_two_ways_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json(text)


def test_the_same_modules_have_the_same_hash_and_others_another(tmp_path: Path) -> None:
    for copy, end in (("one", b"\n"), ("other", b"\r\n")):
        (tmp_path / copy / "inner").mkdir(parents=True)
        (tmp_path / copy / "inner" / "a.py").write_bytes(b"first" + end)
        (tmp_path / copy / "b.py").write_bytes(b"second" + end)
    (tmp_path / "other" / "notes.txt").write_text("not a module")
    one, other = code_identity(tmp_path / "one"), code_identity(tmp_path / "other")
    assert one is not None
    assert one.startswith("source sha256:")
    assert one == other
    code_identity.cache_clear()
    (tmp_path / "other" / "b.py").write_text("edited")
    assert code_identity(tmp_path / "other") != one
    assert code_identity(tmp_path / "packed.zip") is None
