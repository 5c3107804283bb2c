"""`python -m quartet_approach`: one replica of the approach agent."""

import sys

from quartet_agent_runtime import AgentSettings, run_process, serve_agent
from quartet_approach.definition import definition
from quartet_bus import Bus, BusError, Credentials


async def serve(settings: AgentSettings) -> None:
    agent = definition()
    credentials = Credentials.of(settings, str(agent.skill))
    await serve_agent(
        agent, settings, lambda tell: Bus.wait_for(settings.redis_url, credentials=credentials, tell=tell)
    )


def main() -> int:
    return run_process("approach", serve, (BusError,))


if __name__ == "__main__":
    sys.exit(main())
