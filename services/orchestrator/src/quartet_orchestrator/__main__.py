"""`python -m quartet_orchestrator`."""

import sys

from quartet_agent_runtime import AgentError
from quartet_bus import BusError
from quartet_orchestrator.errors import OrchestratorError
from quartet_orchestrator.serve import serve
from quartet_orchestrator.settings import load_orchestrator_settings
from quartet_process import run_process
from quartet_site import SiteFileError


def main() -> int:
    """Serve until SIGTERM or SIGINT, and return the exit status: 2 when the process cannot start."""
    expected = (AgentError, BusError, OrchestratorError, SiteFileError, OSError)
    return run_process("orchestrator", load_orchestrator_settings, serve, expected)


if __name__ == "__main__":
    sys.exit(main())
