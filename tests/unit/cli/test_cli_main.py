"""The command itself: its version, and completion of its words by the shell."""

import importlib
import os
import pkgutil
import subprocess
import sys
from importlib.metadata import version

import pytest
import typer

from quartet_cli import commands
from quartet_cli.main import MODULES, main


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


def test_the_group_knows_every_command_of_every_module() -> None:
    registered = {}
    for module in pkgutil.iter_modules(commands.__path__):
        root = typer.Typer()
        register = getattr(importlib.import_module(f"{commands.__name__}.{module.name}"), "register", None)
        if register is not None:
            register(root)
            registered |= dict.fromkeys(typer.main.get_group(root).commands, module.name)
    assert registered == MODULES


def test_a_command_that_asks_the_orchestrator_loads_no_robot_and_no_redis() -> None:
    code = "import sys; from quartet_cli.main import main\ntry: main(['list'])\nfinally: print(*sys.modules)"
    environment = {**os.environ, "QUARTET_URL": "http://127.0.0.1:9"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    loaded = set(done.stdout.split())
    assert "quartet_cli.commands.tasks" in loaded, done.stderr
    assert loaded.isdisjoint({"cryptography", "mcp", "numpy", "quartet_bus", "quartet_robot_link", "redis", "yaml"})
