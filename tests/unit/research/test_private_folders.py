"""Folders of runs hold prompts, answers and pictures: nobody else on the machine may read them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quartet_research.architectures.played import PlayedFile
from quartet_research.harness.experiment.kept import KeptTrials
from quartet_research.malmm.study import STUDY

MAKERS: dict[str, Callable[[Path], Any]] = {
    "architectures": lambda folder: PlayedFile(folder, {"model": "m"}, goes_on=False),
    "harness": lambda folder: KeptTrials(folder, STUDY, STUDY.read({}), "1/1"),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_folder_of_a_run_is_its_owners(maker: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    MAKERS[maker](folder)
    assert folder.stat().st_mode & 0o777 == 0o700
