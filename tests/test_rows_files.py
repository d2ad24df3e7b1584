"""The files of a table: none of them may be counted twice."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import bad, good, make_tables, run
from pacshift import Certificate, read, write_sets
from pacshift.errors import InputError
from pacshift.files.same import find_same_files
from pacshift.rows.arrow.files import list_files
from score_tables import labelled, save, unlike_its_columns


def part(rows: slice) -> Any:
    """Some rows of the table of all tests."""
    return labelled().slice(rows.start, rows.stop - rows.start)


@pytest.fixture(params=[".parquet", ".feather", ".csv"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with the two halves of a table."""
    made = tmp_path / "table"
    (made / "later").mkdir(parents=True)
    save(part(slice(0, 150)), made / f"a{request.param}")
    save(part(slice(150, 300)), made / "later" / f"b{request.param}")
    return made


def first_of(folder: Path) -> Path:
    (first,) = folder.glob("a.*")
    return first


COPIES = {
    "a copy": shutil.copy,
    "a symbolic link": lambda first, second: second.symlink_to(first),
    "a hard link": lambda first, second: second.hardlink_to(first),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_a_copy_in_the_folder_is_refused_and_both_are_named(folder: Path, copy: Any) -> None:
    assert read(folder, label="label").tally().n_source == 300
    first = first_of(folder)
    second = folder / "later" / f"copy of {first.name}"
    copy(first, second)
    with pytest.raises(InputError, match="counted twice") as caught:
        read(folder, label="label").tally()
    assert str(first) in str(caught.value)
    assert str(second) in str(caught.value)


def test_a_file_is_named_once_in_whatever_spelling(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = first_of(folder)
    monkeypatch.chdir(folder)
    for again in (first, first.name, folder / "later" / ".." / first.name):
        with pytest.raises(InputError, match=r"(is given twice|are the same file): its rows would be"):
            read([first, again], label="label").tally()
    for paths in ([folder, first], [first, folder], [folder, folder / "later"], [folder, folder]):
        with pytest.raises(InputError, match="is given twice"):
            read(paths, label="label").tally()


def test_all_who_read_tables_refuse(folder: Path, tmp_path: Path) -> None:
    first, certificate = first_of(folder), unlike_its_columns()
    shutil.copy(first, folder / f"c{first.suffix}")
    for use in (
        lambda: read(folder, label="label", like=certificate),
        lambda: write_sets(certificate, folder, tmp_path / "sets.parquet"),
    ):
        with pytest.raises(InputError, match="have the same content"):
            use()


def test_files_without_rows_are_alike_and_allowed(folder: Path) -> None:
    kind = first_of(folder).suffix
    for name in ("empty", "also empty"):
        save(part(slice(0, 0)), folder / f"{name}{kind}")
    assert read(folder, label="label").tally().n_source == 300


def test_only_files_of_one_size_that_begin_alike_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for copies costs nothing in a folder of a thousand different files."""
    contents = {"short": b"a", "head": b"b" * 100_000, "tail": b"c" * 100_000, "end": b"c" * 99_999 + b"d"}
    files = [tmp_path / name for name in contents]
    for file in files:
        file.write_bytes(contents[file.name])
    read: list[str] = []

    def digest(path: Path, *, head: int | None = None) -> bytes:
        read.extend([path.name] if head is None else [])
        return path.read_bytes()[:head]

    monkeypatch.setattr("pacshift.files.same.file_sha256", digest)
    assert find_same_files(files) == []
    assert read == ["tail", "end"]
    assert find_same_files([*files, files[0]]) == [[files[0], files[0]]]
    assert read == ["tail", "end"]  # one file under two names need not be read
    shutil.copy(files[2], tmp_path / "again")
    assert find_same_files([*files, tmp_path / "again"]) == [[files[2], tmp_path / "again"]]


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    pipes = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for pipe in pipes:
        os.mkfifo(pipe)
    assert list_files(pipes) == pipes  # and not waited for; the reader says what is wrong


def test_the_same_rows_written_otherwise_are_other_files(tmp_path: Path) -> None:
    """What the page of file formats says is not noticed."""
    pa.parquet.write_table(labelled(), tmp_path / "a.parquet")
    pa.parquet.write_table(labelled(), tmp_path / "b.parquet", compression="gzip")
    assert read(tmp_path, label="label").tally().n_source == 600


def test_commands_name_both_copies(tmp_path: Path) -> None:
    data, twice = make_tables(tmp_path), tmp_path / "twice"
    twice.mkdir()
    for name in ("a.parquet", "b.parquet"):
        shutil.copy(data.source, twice / name)
    planned = ("--target-mix", "crow=1", "--n-source", 9, "--n-target", 9)
    for words in (
        ("calibrate", twice, data.target),
        ("check", data.certificate, twice),
        ("plan", twice, *planned),
    ):
        assert f"{twice / 'a.parquet'} and {twice / 'b.parquet'} have the same content" in bad(*words)
    assert "is given twice" in bad("check", data.certificate, *[data.labelled] * 3)
    shown = run("monitor", data.source, twice, "-o", tmp_path / "m.html")  # one of them is counted
    assert (shown.exit_code, "have the same content" in shown.stderr) == (2, True)
    for command in ("calibrate", "compare", "prevalence"):  # rows cannot be a source and an independent target
        again = twice / ".." / "source.parquet"
        assert f"{data.source} is both SOURCE and TARGET" in bad(command, data.source, again)


def test_counting_parquet_files_loads_no_pandas(tmp_path: Path) -> None:
    """Arrow's own conversions would: 0.4 s and 50 MB of every command."""
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"p_a": [0.9, 0.2], "p_b": [0.1, 0.8], "label": ["a", "b"]}), path)
    code = f"from pacshift import read; read({str(path)!r}, label='label').tally(); import sys"
    program = f"{code}; print('pandas' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


LOGGED = {
    "Delta": "_delta_log/00000000000000000000.json",
    "Hudi": ".hoodie/hoodie.properties",
    "Iceberg": "metadata/v2.metadata.json",
    "Paimon": "manifest/manifest-list-4ccc-0",
    "a Spark stream": "_spark_metadata/0",
    "several jobs": "_committed_12",
}


@pytest.mark.parametrize(("what", "log"), LOGGED.items(), ids=LOGGED.keys())
def test_folders_with_a_log_of_the_files_that_count_are_refused(folder: Path, what: str, log: str) -> None:
    """Compaction leaves the old files beside the new ones: every row would be counted twice."""
    (folder / log).parent.mkdir(exist_ok=True)
    (folder / log).write_text('{"added": [], "removed": ["part-0.parquet"]}')
    outside = folder.parent / "link"
    outside.symlink_to(folder / "later")
    (folder.parent / "links").mkdir()
    linked = folder.parent / "links" / first_of(folder).name
    linked.symlink_to(first_of(folder))
    for named in (folder, folder / "later", first_of(folder), folder.parent, outside, linked.parent):
        with pytest.raises(InputError, match=rf"{what}.* says which of its files and rows still count"):
            list_files(named)


def test_folders_of_backups_are_no_log(folder: Path) -> None:
    for harmless in ("snapshot/snapshot-1", "metadata/readme.json", "manifest/list.txt", "_SUCCESS"):
        (folder / harmless).parent.mkdir(exist_ok=True)
        (folder / harmless).touch()
    with pytest.warns(UserWarning, match=r"because these are no tables: .*list\.txt.*readme\.json.*t-1'\.$"):
        assert len(list_files(folder)) == 2


LEFT_OUT = {
    "b.pq": lambda path: path.touch(),
    "x.csv.gz": lambda path: path.touch(),
    "part-0001.gz": lambda path: path.touch(),
    "later/x.XLSX": lambda path: path.touch(),
    "labels.npy": lambda path: path.touch(),
    "rows.jsonl": lambda path: path.touch(),
    "counts.tally": lambda path: path.touch(),
    "dead.csv": lambda path: path.symlink_to("nowhere.csv"),
    "dead": lambda path: path.symlink_to("nowhere"),
    "itself.parquet": lambda path: path.symlink_to(path),
    "elsewhere": lambda path: path.symlink_to(path.parent.parent / "other", target_is_directory=True),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_may_hold_rows_and_would_not_count_is_refused(folder: Path, name: str) -> None:
    (folder.parent / "other").mkdir()
    LEFT_OUT[name](folder / name)
    with pytest.raises(InputError, match=rf"{re.escape(name)}.* may hold rows, but would not be counted"):
        list_files(folder)


@pytest.mark.parametrize("name", [".b.pq", "_metadata", "_SUCCESS", "_old/b.pq", ".x.csv.gz", "._dead"])
def test_hidden_files_and_marks_are_passed_over(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    LEFT_OUT["dead" if "dead" in name else "b.pq"](folder / name)
    assert len(list_files(folder)) == 2


def test_a_link_to_a_folder_inside_is_not_followed(folder: Path) -> None:
    (folder / "latest").symlink_to("later", target_is_directory=True)
    (folder / "later" / "up").symlink_to("..", target_is_directory=True)
    assert len(list_files(folder)) == 2


@pytest.mark.parametrize("target", ["nowhere.csv", "link.csv"])
@pytest.mark.parametrize("named", ["link.csv", "*.csv"])
def test_a_dead_link_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, target: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link.csv").symlink_to(target)
    with pytest.raises(InputError, match=rf"link.csv is a link to '{target}', which cannot be found"):
        list_files(named)
    assert "which cannot be found" in bad("tally", named, "-o", "x.tally")


def test_a_folder_inside_that_cannot_be_read_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def denied(path: Any = ".") -> Any:
        if Path(path).name == "later":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(InputError, match=r"cannot read .*later: Permission denied"):
        list_files(folder)


def test_an_empty_file_is_named(folder: Path) -> None:
    (folder / f"empty{first_of(folder).suffix}").touch()
    with pytest.raises(InputError, match="empty"):
        read(folder, label="label").tally()


@pytest.mark.parametrize("mark", ["_temporary/0/task", "_started_12"])
def test_folders_that_a_job_has_not_finished_are_refused(folder: Path, mark: str) -> None:
    (folder / "_committed_11").write_text('{"added": ["a"], "removed": []}')
    (folder / "_started_11").touch()
    assert len(list_files(folder)) == 2
    (folder / mark).parent.mkdir(parents=True, exist_ok=True)
    (folder / mark).touch()
    with pytest.raises(InputError, match="a job is still writing its files, or broke off"):
        list_files(folder / "later")


@pytest.mark.parametrize("name", ["https://host/a.csv", "s3://bucket/a.parquet", "-"])
def test_urls_and_standard_input_are_not_read(name: str) -> None:
    with pytest.raises(InputError, match=r"URLs and standard input are not read. Save the table as a file first"):
        list_files(name)


def test_no_table_is_written_into_a_folder_that_is_read(tmp_path: Path) -> None:
    """The next run would read it as a part of the table."""
    data, read = make_tables(tmp_path), tmp_path / "read"
    (read / "more").mkdir(parents=True)
    shutil.copy(data.target, read)
    certificate = tmp_path / "c.json"
    good("calibrate", data.source, read, "-o", certificate)
    (tmp_path / "link").symlink_to(read / "more")
    inside = "which is read as a table, and would be a part of it next time. Choose another folder"
    for out in (read / "sets.parquet", read / "more" / "sets.csv", tmp_path / "link" / "sets.feather"):
        assert inside in bad("predict", certificate, read, "-o", out)
        with pytest.raises(InputError, match=inside):
            write_sets(Certificate.load(certificate), read, out)
    assert inside in bad("label", read, "--budget", 50, "-o", read / "sheet.csv")
    assert inside in bad("monitor", data.source, read, "--table", read / "history.csv", "-o", tmp_path / "h.html")
    for out in (read / "_sets.parquet", tmp_path / "sets.parquet"):  # not read as tables
        good("predict", certificate, read, "-o", out)
    (read / "notes.txt").touch()
    said = " ".join(good("predict", certificate, read, "-o", tmp_path / "last.csv").stderr.split())
    assert said.startswith("note: ")
    assert said.count("notes.txt") == 1
    with pytest.warns(UserWarning, match=r"left out, because these are no tables: '.*notes\.txt'"):
        assert len(list_files(read)) == 1
