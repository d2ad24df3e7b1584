"""By which code a certificate was made: the hash of its modules, wherever they lie."""

from pathlib import Path

from pacshift.files.origin import code_identity


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


def test_code_that_cannot_be_read_has_no_hash(tmp_path: Path) -> None:
    assert code_identity(tmp_path / "packed.zip") is None
