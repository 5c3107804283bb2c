"""The command itself: its version, and completion of its words by the shell."""

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from quartet_cli.main import main


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert not ended.value.code
    assert capsys.readouterr().out == f"quartet {version('quartet-cli')}\n"


def test_the_shell_completes_commands() -> None:
    environment = {**os.environ, "_QUARTET_COMPLETE": "complete_bash", "COMP_WORDS": "quartet se", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "quartet_cli"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == ["secrets"], done.stderr
