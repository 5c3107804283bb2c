"""`python -m quartet_gateway`: serves until it is told to stop."""

import asyncio
import json
import logging
import os
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import ValidationError

from quartet_gateway.access import Access
from quartet_gateway.app import create_app
from quartet_gateway.config import OPTIONAL
from quartet_gateway.errors import ConfigurationProblem
from quartet_gateway.gateway import Gateway
from quartet_gateway.ledger import Ledger
from quartet_gateway.load import find_file, load_file
from quartet_gateway.models import choose_models
from quartet_gateway.provider_keys import ProviderKeys
from quartet_gateway.settings import Settings
from quartet_process import SecretProblem, metrics_secret, require_credential, set_up_logging
from quartet_process.tracing import set_up_tracing

logger = logging.getLogger("quartet_gateway")


def main() -> int:
    """Exit status 2: the settings or the file are wrong, or the port is taken."""
    try:
        settings = Settings()
    except ValidationError as error:
        lines = [f"QUARTET_{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors()]
        return _refuse("\n  ".join(lines))
    set_up_logging("gateway", settings.log_format, settings.log_level)
    set_up_tracing("gateway")
    # With the protocol named, asyncio turns Nagle off; else each answer waits 40 ms for a delayed ACK.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.port))
    except OSError as error:
        return _refuse(f"QUARTET_PORT={settings.port} on {settings.host} cannot be used: {error.strerror}")
    try:
        provider_keys = ProviderKeys(os.environ, settings.secrets_dir)
        provider_keys.put_into(os.environ)
        keys, token = settings.caller_keys(), metrics_secret(settings, settings.host)
        first = keys[0][0] if keys else None
        require_credential(settings.host, first, "gateway_key", what="the gateway", anonymous=settings.allow_anonymous)
        file = load_file(find_file(settings.gateway_file))
        gateway = Gateway(
            file,
            choose_models(file, settings),
            ledger=Ledger(settings.state_dir),
            environment=dict(os.environ),
            renewed=lambda: choose_models(file, settings) if provider_keys.put_into(os.environ) else None,
        )
    except (ConfigurationProblem, SecretProblem) as error:
        sock.close()
        return _refuse(str(error))
    access = Access(keys)
    if access.open_to_loopback:
        logger.warning("no gateway keys are set: only callers on this machine are served")
    for agent, models in gateway.model_names().items():
        logger.info("%s: %s", agent, " -> ".join(models))
    for agent, problem in gateway.problems().items():
        level = logging.INFO if agent in OPTIONAL else logging.ERROR
        logger.log(level, "agent '%s' has no model: %s", agent, problem)
    asyncio.run(_serve(create_app(gateway, access, token), sock, settings))
    return 0


async def _serve(app: Any, sock: socket.socket, settings: Settings) -> None:
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2, timeout_keep_alive=75)
    server = _Server(config, on_start=lambda: _ready(sock, settings))
    await server.serve(sockets=[sock])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Any) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_start()


def _ready(sock: socket.socket, settings: Settings) -> None:
    host, port = sock.getsockname()[:2]
    url = f"http://{host}:{port}"
    logger.info("model gateway at %s", url)
    if settings.ready_file:
        write_ready(settings.ready_file, url)


def write_ready(path: Path, url: str) -> None:
    """Says that the process listens, in one step so that nobody reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(json.dumps({"url": url}), encoding="utf-8")
    scratch.replace(path)


def _refuse(problem: str) -> int:
    print(f"the model gateway cannot start:\n  {problem}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
