"""By which code a certificate was made: checkouts, repositories, wheels, and what cannot be told."""

import json
import os
import subprocess
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from pacshift.files.code import _commit, _installed


class Installed(Distribution):
    """A distribution whose metadata are texts."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def read_text(self, filename: str) -> str | None:
        return self.texts.get(filename.partition(".")[0])

    def locate_file(self, path: object) -> Path:
        return Path(str(path))


def git(folder: Path, *words: str) -> str:
    said = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", "-C", str(folder), *said, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_checkout_has_a_commit_and_says_if_it_was_changed(tmp_path: Path) -> None:
    source = tmp_path / "src" / "pacshift" / "code.py"
    source.parent.mkdir(parents=True)
    source.write_text("first")
    assert _commit(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert _commit(tmp_path) is None  # nothing is committed yet
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert _commit(tmp_path) == f"commit {commit}"
    (tmp_path / "notes.txt").write_text("not part of the package")
    assert _commit(tmp_path) == f"commit {commit}"
    source.write_text("second")
    assert _commit(tmp_path) == f"commit {commit} with changes"


def test_looking_at_a_checkout_writes_nothing_and_a_hook_of_another_one_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, others = tmp_path / "ours", tmp_path / "others"
    for folder in (ours, others):
        source = folder / "src" / "pacshift" / "code.py"
        source.parent.mkdir(parents=True)
        source.write_text(folder.name)
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", folder.name)
    commit, index = git(ours, "rev-parse", "HEAD"), (ours / ".git" / "index").read_bytes()
    os.utime(ours / "src" / "pacshift" / "code.py", (1, 1))  # git status would write this into the index
    monkeypatch.setenv("GIT_DIR", str(others / ".git"))
    assert _commit(ours) == f"commit {commit}"
    assert (ours / ".git" / "index").read_bytes() == index


def test_a_project_around_an_installed_package_is_not_ours(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert _commit(tmp_path) is None


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ({"vcs_info": {"commit_id": "1f0c", "vcs": "git"}}, "commit 1f0c"),
        ({"archive_info": {"hashes": {"sha256": "ab12"}}}, "wheel sha256:ab12"),
        ({"dir_info": {"editable": True}}, None),
    ],
)
def test_installers_write_down_where_it_came_from(origin: object, said: str | None) -> None:
    assert _installed(Installed(direct_url=json.dumps(origin))) == said


def test_otherwise_the_list_of_files_is_hashed() -> None:
    lines = ["pacshift/a.py,sha256=abc,1", "pacshift/b.py,sha256=def,1", "pacshift/__pycache__/a.pyc,,"]
    first = _installed(Installed(RECORD="\n".join([*lines, "pacshift-1.dist-info/INSTALLER,sha256=x,1"])))
    again = _installed(Installed(RECORD="\n".join(lines[1::-1])))
    other = _installed(Installed(RECORD="\n".join([lines[0].replace("abc", "abd"), lines[1]])))
    assert first is not None
    assert first.startswith("files sha256:")
    assert first == again != other
    assert _installed(Installed()) is None
    assert _installed(None) is None
