"""`python -m quartet_place`: one replica of the place agent."""

import sys

from quartet_agent_runtime import run_agent
from quartet_bus import Bus, BusError
from quartet_place.agent import definition

if __name__ == "__main__":
    sys.exit(run_agent(definition(), Bus.of_process, (BusError,)))
