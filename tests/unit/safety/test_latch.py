"""The latch file: kept across restarts, and closed when in doubt."""

import os
import stat
from pathlib import Path

import pytest

from quartet_safety.guard import Latch, LatchFile


def test_a_latch_is_kept_and_released(tmp_path):
    file = LatchFile(tmp_path / "deep" / "latch.json")
    assert file.read() == Latch()
    file.write(Latch(latched=True, reason="pressed", since=12.5))
    assert LatchFile(file.path).read() == Latch(latched=True, reason="pressed", since=12.5)
    file.write(Latch())
    assert file.read().latched is False


def test_nobody_else_on_the_machine_reads_what_is_kept(tmp_path):
    before = os.umask(0)
    try:
        LatchFile(tmp_path / "deep" / "latch.json").write(Latch(latched=True, reason="pressed", since=12.5))
    finally:
        os.umask(before)
    written = list(tmp_path.rglob("*"))
    assert [path for path in written if path.stat().st_mode & 0o077] == []
    assert len(written) == 2


def test_a_latch_is_on_disk_before_it_is_in_its_place_and_the_folder_after(tmp_path, monkeypatch):
    """A power cut must leave the old file or the whole new one, and no stop that was answered may be lost."""
    steps = []
    fsync, replace = os.fsync, Path.replace

    def note_fsync(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def note_replace(path, target):
        steps.append("in place")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "replace", note_replace)
    LatchFile(tmp_path / "latch.json").write(Latch(latched=True, reason="pressed", since=12.5))
    assert steps == ["file", "in place", "folder"]


@pytest.mark.parametrize("content", ["", "{", '{"latched": "perhaps"}', "[]"])
def test_a_latch_that_cannot_be_read_is_closed(tmp_path, content):
    file = LatchFile(tmp_path / "latch.json")
    file.path.write_text(content)
    latch = file.read()
    assert latch.latched
    assert str(file.path) in latch.reason
