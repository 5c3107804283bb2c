"""Runs an agent process: settings, logs, and errors that a person can act on."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from quartet_agent_runtime.errors import AgentError
from quartet_agent_runtime.settings import AgentSettings, load_settings
from quartet_process import SecretProblem, set_up_logging
from quartet_process.tracing import set_up_tracing
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
        set_up_logging(name, settings.log_format, settings.log_level)
        set_up_tracing(name)
        asyncio.run(_main(serve, settings))
    except (AgentError, SecretProblem, SiteError, OSError, *expected) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return 0
    return 0


async def _main(serve: Callable[[AgentSettings], Awaitable[None]], settings: AgentSettings) -> None:
    await serve(settings)
