"""`python -m quartet_scripted_model`: serve until SIGTERM or SIGINT."""

import asyncio
import logging
import sys

from quartet_process import load_settings, metrics_secret, run_process, write_ready_file
from quartet_process.serving import HttpServer, listen
from quartet_scripted_model.app import create_app
from quartet_scripted_model.settings import Settings

log = logging.getLogger("quartet_scripted_model")


def main() -> int:
    """Return the exit status: 2 when the settings are wrong or the port is taken."""
    return run_process("scripted-model", lambda: load_settings(Settings), _serve, (ValueError,))


async def _serve(settings: Settings, stop: asyncio.Event) -> None:
    app = create_app(settings, metrics_token=metrics_secret(settings, settings.host))
    with listen(settings.host, settings.port) as listener:
        async with HttpServer(app, listener) as server:
            log.info("scripted model (a reference policy, not an LLM) at %s", server.url)
            write_ready_file(settings.ready_file, {"url": server.url})
            await server.serve_until(stop)


if __name__ == "__main__":
    sys.exit(main())
