"""By which code: the commit of a checkout, or the hash of what was installed."""

import hashlib
import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GIT_SECONDS = 10
"""Git answers within milliseconds; on a file system that hangs, the commit stays unknown."""


@cache
def code_identity() -> str | None:
    """The code that runs, as text for people and programs, or None where nothing tells.

    ``"commit 1f0c..."`` of a checkout (``" with changes"`` if its sources were edited since) or of the repository
    that it was installed from, ``"wheel sha256:..."`` of the file that it was installed from, or
    ``"files sha256:..."`` of the list of installed files.
    """
    return _commit(Path(__file__).resolve().parents[3]) or _installed(_distribution())


def _commit(root: Path) -> str | None:
    """The commit of our own checkout. A project of the user's around an installed pacshift is none of it."""
    if not (root / ".git").exists() or not (root / "src" / "pacshift").is_dir():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD").strip()
        changed = _git(root, "status", "--porcelain", "--", "src")
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):  # git is missing, or refuses this folder
        return None
    return f"commit {commit}{' with changes' if changed.strip() else ''}"


def _git(root: Path, *words: str) -> str:
    """What git says of ``root``, whatever repository a hook is about, without a lock that others would meet."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--no-optional-locks", "-C", str(root), *words]
    asked = subprocess.run(
        command, capture_output=True, check=True, text=True, timeout=GIT_SECONDS, env=environment
    )
    return asked.stdout


def _distribution() -> "Distribution | None":
    from importlib.metadata import PackageNotFoundError, distribution  # 30 ms to import

    try:
        return distribution("pacshift")
    except PackageNotFoundError:
        return None


def _installed(found: "Distribution | None") -> str | None:
    """What the installer wrote down: the commit, the hash of the wheel, or the hashes of all files."""
    if found is None:
        return None
    origin: dict[str, Any] = json.loads(found.read_text("direct_url.json") or "{}")
    commit = origin.get("vcs_info", {}).get("commit_id")
    wheel = origin.get("archive_info", {}).get("hashes", {}).get("sha256")
    if commit or wheel:
        return f"commit {commit}" if commit else f"wheel sha256:{wheel}"
    # Only what the wheel brought: installers add files of their own, and compiled ones have no hash.
    hashes = {str(file): file.hash for file in found.files or () if file.parts[0] == "pacshift"}
    lines = sorted(f"{name} {each.value}\n" for name, each in hashes.items() if each is not None)
    return f"files sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}" if lines else None
