"""`quartet up` on a terminal: what it prints when it is ended."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from quartet_cli.commands import up as command

IN_BACKGROUND = """
import signal
from types import SimpleNamespace
from quartet_cli.commands import up as command
signal.signal(signal.SIGINT, signal.SIG_IGN)
stack = SimpleNamespace(
    robots=["summit"], url="http://127.0.0.1:8000", log_dir="logs", options=SimpleNamespace(example=""), died=list,
    stop=lambda: print("stopped"),
)
command.running_stack = dict
command.start_stack = lambda *_: stack
command.warn_of_stops = lambda *_: None
command.up()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_background_it_ends_by_a_signal_too(number: int, tmp_path: Path) -> None:
    """A script starts a command in the background with SIGINT ignored."""
    command = [sys.executable, "-c", IN_BACKGROUND]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as running:
        assert running.stdout is not None
        while "in another terminal" not in running.stdout.readline():
            assert running.poll() is None
        running.send_signal(number)
        said = running.stdout.read()
    assert "ending all processes\nstopped\n" in said
    assert running.returncode == 0


class InterruptedTerminal(io.StringIO):
    """A terminal at which somebody presses Ctrl-C while the line with `words` is written."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words, self._pressed = words, False

    def write(self, text: str) -> int:
        written = super().write(text)
        if self._words in text and not self._pressed:
            self._pressed = True
            os.kill(os.getpid(), signal.SIGINT)
        return written


@pytest.mark.parametrize("words", ["orchestrator at", "web page", "in another terminal"])
def test_each_line_is_printed_once_also_when_ctrl_c_comes_in_its_middle(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = InterruptedTerminal(words)
    ended: list[bool] = []
    stack = SimpleNamespace(
        robots=["summit"],
        url="http://127.0.0.1:8000",
        log_dir=tmp_path,
        options=SimpleNamespace(example=""),
        died=list,
        stop=lambda: ended.append(True),
    )
    monkeypatch.setattr(command, "open_terminal", lambda: Console(file=terminal, width=200))
    monkeypatch.setattr(command, "running_stack", dict)
    monkeypatch.setattr(command, "start_stack", lambda *_: stack)
    monkeypatch.setattr(command, "warn_of_stops", lambda *_: None)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        command.up()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    said = terminal.getvalue()
    assert [said.count(one) for one in ("orchestrator at", "web page", "in another terminal", "ending all")] == [1] * 4
    assert ended == [True]
