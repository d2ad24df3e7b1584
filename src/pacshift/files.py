"""Files that are written completely or not at all: under a temporary name, then renamed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pacshift.errors import InputError


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``; rename it on success, remove it on failure or Ctrl-C."""
    final = Path(path)
    if not overwrite and final.exists():
        raise InputError(
            f"{final} exists already. Choose another name, or allow overwriting (overwrite=True, --force)."
        )
    if final.is_dir() or not final.parent.is_dir():
        raise InputError(f"cannot write {final}: it must name a file in a folder that exists.")
    # The suffix stays last: writers such as np.savez add their own if it is missing.
    draft = final.with_name(f".{final.stem}.{secrets.token_hex(4)}.part{final.suffix}")
    try:
        yield draft
        os.replace(draft, final)
    except OSError as error:
        raise InputError(f"cannot write {final}: {error.strerror or error}.") from error
    finally:
        draft.unlink(missing_ok=True)
