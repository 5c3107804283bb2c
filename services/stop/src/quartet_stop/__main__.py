"""`python -m quartet_stop`: serve until SIGTERM or SIGINT."""

import asyncio
import contextlib
import logging
import os
import sys

from quartet_process import MIN_TOKEN_LENGTH, metrics_secret, run_process, token_source, write_ready_file
from quartet_process.serving import HttpServer, listen
from quartet_stop.app import Access, create_app
from quartet_stop.metrics import Metrics
from quartet_stop.robot import make_robot
from quartet_stop.settings import Settings, load_stop_settings
from quartet_stop.signer import StopSigner

log = logging.getLogger("quartet_stop")

PRIORITY = -10
"""Niceness of the process."""


def main() -> int:
    """Return the exit status: 2 when the settings are wrong or the port is taken."""
    return run_process("stop", load_stop_settings, _serve)


async def _serve(settings: Settings, stop: asyncio.Event) -> None:
    metrics, remedy = Metrics(), "make one with: quartet secrets init"
    signer = StopSigner(settings.needed_secret("stop_private_key", remedy))
    guard_token = settings.secret("guard_token", least=MIN_TOKEN_LENGTH)
    access = Access(
        settings.needed_secret("stop_token", remedy, least=MIN_TOKEN_LENGTH),
        settings.secret("stop_button_token", least=MIN_TOKEN_LENGTH),
    )
    metrics_token = metrics_secret(settings, settings.host)
    with listen(settings.host, settings.port) as listener:
        robots = {
            name: make_robot(
                name,
                guard,
                settings.servers.get(name, {}),
                guard_token=token_source(guard_token),
                sign=signer.token,
                state_dir=settings.state_dir,
                metrics=metrics,
            )
            for name, guard in settings.guards.items()
        }
        with contextlib.suppress(OSError):
            # A stop must not wait behind a busy machine; without the right to it (CAP_SYS_NICE) all else holds.
            os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
        app = create_app(robots, access, metrics, settings.stop_origins, metrics_token)
        async with HttpServer(app, listener) as server:
            log.info("stop service at %s", server.url)
            write_ready_file(settings.ready_file, {"url": server.url})
            await server.serve_until(stop)


if __name__ == "__main__":
    sys.exit(main())
