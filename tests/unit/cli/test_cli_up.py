"""`quartet up` on a terminal: what it prints when it is ended."""

import io
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from quartet_cli.commands import up as command


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
    before = signal.getsignal(signal.SIGTERM)
    try:
        command.up()
    finally:
        signal.signal(signal.SIGTERM, before)
    said = terminal.getvalue()
    assert [said.count(one) for one in ("orchestrator at", "web page", "in another terminal", "ending all")] == [1] * 4
    assert ended == [True]
