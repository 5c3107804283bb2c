"""`python -m quartet_approach`: one replica of the approach agent."""

import sys

from quartet_agent_runtime import run_agent
from quartet_approach.agent import definition
from quartet_bus import Bus, BusError

if __name__ == "__main__":
    sys.exit(run_agent(definition(), Bus.of_process, (BusError,)))
