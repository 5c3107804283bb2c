"""`python -m quartet_scripted_model`: serves until it is told to stop."""

import asyncio
import json
import logging
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import ValidationError

from quartet_process import SecretProblem, metrics_secret, set_up_logging
from quartet_scripted_model.app import create_app
from quartet_scripted_model.settings import Settings

logger = logging.getLogger("quartet_scripted_model")


def main() -> int:
    """Exit status 2: the settings are wrong or the port is taken."""
    try:
        settings = Settings()
        app = create_app(settings, metrics_token=metrics_secret(settings, settings.host))
    except ValidationError as error:
        lines = [f"QUARTET_{'.'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors()]
        print("the scripted model cannot start:\n  " + "\n  ".join(lines), file=sys.stderr)
        return 2
    except (SecretProblem, ValueError) as error:
        print(f"the scripted model cannot start: {error}", file=sys.stderr)
        return 2
    set_up_logging("scripted-model", settings.log_format, settings.log_level)
    # With the protocol named, asyncio turns Nagle off; else each answer waits 40 ms for a delayed ACK.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.port))
    except OSError as error:
        print(f"QUARTET_PORT={settings.port} on {settings.host} cannot be used: {error.strerror}", file=sys.stderr)
        return 2
    asyncio.run(_serve(app, sock, settings))
    return 0


async def _serve(app: Any, sock: socket.socket, settings: Settings) -> None:
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2, timeout_keep_alive=75)
    await _Server(config, on_start=lambda: _ready(sock, settings)).serve(sockets=[sock])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_start()


def _ready(sock: socket.socket, settings: Settings) -> None:
    host, port = sock.getsockname()[:2]
    url = f"http://{host}:{port}"
    logger.info("scripted model (a reference policy, not an LLM) at %s", url)
    if settings.ready_file:
        write_ready(settings.ready_file, url)


def write_ready(path: Path, url: str) -> None:
    """Says that the process listens, in one step so that nobody reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(json.dumps({"url": url}), encoding="utf-8")
    scratch.replace(path)


if __name__ == "__main__":
    sys.exit(main())
