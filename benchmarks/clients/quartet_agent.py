"""The task with an agent of Quartet in its own process, which takes requests from the bus as all agents do."""

import sys
from typing import Any

from quartet_agent_runtime import AgentDefinition, RequestContext, run_agent
from quartet_bus import Bus, BusError
from quartet_contracts import Skill


async def accept(_: RequestContext, claimed: Any) -> Any:
    """Take the report as it is: there is no robot that could be looked at."""
    return claimed


if __name__ == "__main__":
    definition = AgentDefinition(
        skill=Skill.APPROACH, prompt=sys.argv[1], facts=lambda _robot, _site, _arguments: {}, verify=accept
    )
    sys.exit(run_agent(definition, Bus.of_process, (BusError,)))
