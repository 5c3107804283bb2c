"""`python -m quartet_pick`: one replica of the pick agent."""

import sys

from quartet_agent_runtime import run_agent
from quartet_bus import Bus, BusError
from quartet_pick.agent import definition

if __name__ == "__main__":
    sys.exit(run_agent(definition(), Bus.of_process, (BusError,)))
