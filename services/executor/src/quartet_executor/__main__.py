"""`python -m quartet_executor`: one replica of the executor."""

import sys

from quartet_agent_runtime import run_agent
from quartet_bus import Bus, BusError
from quartet_executor.agent import definition

if __name__ == "__main__":
    sys.exit(run_agent(definition(), Bus.of_process, (BusError,)))
