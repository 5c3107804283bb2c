"""A flame graph of one process, taken by py-spy from outside while the process works."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from quartet_benchmarks.errors import MeasurementError, MissingExtraError

RATE_HZ = 200
END_S = 30.0


def find_py_spy() -> str:
    """Return the path of py-spy. Raises MissingExtraError."""
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.is_file() else shutil.which("py-spy")
    if found is None:
        raise MissingExtraError(
            "py-spy is not installed, which --flame needs; install quartet-benchmarks[time] or py-spy itself"
        )
    return found


class FlameGraph:
    """Samples the process `pid` inside the block and then writes the SVG `path`: processor time, not waiting."""

    def __init__(self, pid: int, path: Path) -> None:
        self._pid, self._path = pid, path

    def __enter__(self) -> "FlameGraph":
        command = [find_py_spy(), "record", "--pid", str(self._pid), "--rate", str(RATE_HZ), "--output"]
        self._sampler = subprocess.Popen(
            [*command, str(self._path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the sampling. Raises MeasurementError with what py-spy said when it has written nothing."""
        self._sampler.send_signal(signal.SIGINT)
        try:
            said, _ = self._sampler.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            self._sampler.kill()
            said, _ = self._sampler.communicate()
        if kind is None and not self._path.is_file():
            raise MeasurementError(
                f"py-spy wrote no {self._path}: {said.decode(errors='replace').strip()[-500:]}; reading another "
                "process needs root, or kernel.yama.ptrace_scope=0"
            )
