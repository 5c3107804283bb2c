"""Runs an agent process: settings, logs, and errors that a person can act on."""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable

from quartet_agent_runtime.errors import AgentError
from quartet_agent_runtime.settings import AgentSettings, load_settings
from quartet_site import SiteError

USAGE_ERROR = 2


def run_process(
    name: str, serve: Callable[[AgentSettings], Awaitable[None]], expected: tuple[type[Exception], ...] = ()
) -> int:
    """Load the settings, serve until told to stop, and return the exit status.

    `expected` are the caller's errors whose text is all that a person needs.
    """
    try:
        settings = load_settings()
        set_up_logging(settings.log_format)
        asyncio.run(_main(serve, settings))
    except (AgentError, SiteError, OSError, *expected) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return 0
    return 0


async def _main(serve: Callable[[AgentSettings], Awaitable[None]], settings: AgentSettings) -> None:
    await serve(settings)


def set_up_logging(style: str, level: int = logging.INFO) -> None:
    """JSON lines or plain text on stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        _JsonLines() if style == "json" else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("httpx2", "httpcore2", "mcp", "client"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)
