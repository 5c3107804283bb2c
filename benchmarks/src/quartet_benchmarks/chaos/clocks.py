"""Wall clocks of single processes of a stack that can be put forward and back while they run.

Only what Python code of the process reads is shifted (`shifted_clock/sitecustomize.py` says what is not): no clock of
the kernel is one process's own.
"""

import contextlib
import struct
from collections.abc import Iterator
from pathlib import Path

_MODULE = Path(__file__).parent / "shifted_clock"


class Clocks:
    """Clock files in `folder`, one for each process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()

    def env(self, name: str) -> dict[str, str]:
        """Return the variables with which process `name` has to be started."""
        self._set(name, 0.0)
        return {"PYTHONPATH": str(_MODULE), "CHAOS_CLOCK_FILE": str(self._folder / name)}

    @contextlib.contextmanager
    def shifted(self, name: str, by_s: float) -> Iterator[None]:
        """Put the clock of process `name` forward by `by_s` [s], back where it is negative; then as it was."""
        self._set(name, by_s)
        try:
            yield
        finally:
            self._set(name, 0.0)

    def _set(self, name: str, by_s: float) -> None:
        path = self._folder / name
        path.touch()
        # In place: the process has this file mapped.
        with path.open("r+b") as file:
            file.write(struct.pack("d", by_s))
