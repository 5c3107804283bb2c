"""`python -m quartet_orchestrator`."""

import asyncio
import signal
import sys

from quartet_agent_runtime import AgentError
from quartet_bus import BusError
from quartet_orchestrator.errors import OrchestratorError
from quartet_orchestrator.serve import serve
from quartet_orchestrator.settings import OrchestratorSettings, load_orchestrator_settings
from quartet_process import SecretProblem, set_up_logging
from quartet_process.tracing import set_up_tracing
from quartet_site import SiteError


def main() -> int:
    try:
        settings = load_orchestrator_settings()
        set_up_logging("orchestrator", settings.log_format, settings.log_level)
        set_up_tracing("orchestrator")
        asyncio.run(_run(settings))
    except (AgentError, BusError, OrchestratorError, SecretProblem, SiteError, OSError) as error:
        print(f"quartet_orchestrator: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
    return 0


async def _run(settings: OrchestratorSettings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(settings, stop)


if __name__ == "__main__":
    sys.exit(main())
