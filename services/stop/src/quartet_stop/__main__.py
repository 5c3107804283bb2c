"""`python -m quartet_stop`: serves until it is told to end."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
from typing import Any

import uvicorn

from quartet_process import SecretProblem, metrics_secret, presented, set_up_logging
from quartet_process.tracing import set_up_tracing
from quartet_stop.app import Access, create_app
from quartet_stop.metrics import Metrics
from quartet_stop.robot import make_robot
from quartet_stop.settings import Settings, SetupProblem, load_settings
from quartet_stop.signer import Signer

log = logging.getLogger("quartet_stop")

PRIORITY = -10
"""Niceness."""


def main() -> int:
    """Exit status 2: the settings are wrong, or the port is taken."""
    try:
        settings = load_settings()
        set_up_logging("stop", settings.log_format, settings.log_level)
        set_up_tracing("stop")
        metrics, remedy = Metrics(), "make one with: quartet secrets init"
        signer = Signer(settings.held("stop_private_key", remedy))
        guard_token = settings.held("guard_token")
        access = Access(settings.held("stop_token", remedy), settings.held("stop_button_token"))
        metrics_token = metrics_secret(settings, settings.host)
        sock = _bind(settings)
    except (SecretProblem, SetupProblem) as problem:
        print(f"the stop service cannot start: {problem}", file=sys.stderr)
        return 2
    robots = {
        name: make_robot(
            name,
            guard,
            settings.servers.get(name, {}),
            guard_token=presented(guard_token),
            sign=signer.token,
            state_dir=settings.state_dir,
            metrics=metrics,
        )
        for name, guard in settings.guards.items()
    }
    with contextlib.suppress(OSError):
        # A stop must not wait behind a busy machine; without the right to it (CAP_SYS_NICE) all else holds.
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    with sock:
        asyncio.run(_serve(create_app(robots, access, metrics, settings.stop_origins, metrics_token), sock, settings))
    return 0


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, sock: socket.socket, settings: Settings) -> None:
        super().__init__(config)
        self._sock, self._settings = sock, settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            host, port = self._sock.getsockname()[:2]
            url = f"http://{host}:{port}"
            log.info("stop service at %s", url)
            file = self._settings.ready_file
            if file is not None:
                scratch = file.with_name(f"{file.name}.new")
                scratch.write_text(json.dumps({"url": url}))
                scratch.replace(file)


async def _serve(app: Any, sock: socket.socket, settings: Settings) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises the signal again when it has ended; being told to end is no failure.
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2, timeout_keep_alive=75)
    await _Server(config, sock, settings).serve(sockets=[sock])


def _bind(settings: Settings) -> socket.socket:
    # With the protocol named, asyncio turns Nagle off; else each answer waits 40 ms for a delayed ACK.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.port))
    except OSError as error:
        sock.close()
        raise SetupProblem(
            f"QUARTET_PORT={settings.port} on {settings.host} cannot be used: {error.strerror or error}"
        ) from error
    return sock


if __name__ == "__main__":
    sys.exit(main())
