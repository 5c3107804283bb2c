"""A NATS server with JetStream, from the environment of the NATS client."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quartet_benchmarks.environments import environment
from quartet_benchmarks.errors import MeasurementError
from quartet_deployment import free_ports, hold_ports

START_S = 30.0
POLL_S = 0.02
END_S = 10.0


@contextmanager
def nats_server(python: Path, folder: Path) -> Iterator[str]:
    """Run the server that is installed beside `python`; yield its URL. Raises MeasurementError."""
    (port,) = free_ports(1)
    binary, log = python.parent / "nats-server", folder / "nats-server.log"
    argv = [str(binary), "--addr", "127.0.0.1", "--port", str(port), "--jetstream", "--store_dir", str(folder / "nats")]
    with hold_ports([port]), log.open("wb") as output:
        try:
            process = subprocess.Popen(argv, env=environment(), stdout=output, stderr=output)
        except OSError as error:
            raise MeasurementError(f"{binary} cannot be run: {error}") from error
        try:
            end = time.monotonic() + START_S
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > end:
                    raise MeasurementError(f"nats-server did not start: {log.read_text(errors='replace')[-600:]}")
                time.sleep(POLL_S)
            yield f"nats://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as link:
            return link.recv(16).startswith(b"INFO")
    except OSError:
        return False
