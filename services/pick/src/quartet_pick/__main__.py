"""`python -m quartet_pick`: one replica of the pick agent."""

import sys

from quartet_agent_runtime import AgentSettings, run_process, serve_agent
from quartet_bus import Bus, BusError, Credentials
from quartet_pick.definition import definition


async def serve(settings: AgentSettings) -> None:
    agent = definition()
    credentials = Credentials.of(settings, str(agent.skill))
    await serve_agent(
        agent, settings, lambda tell: Bus.wait_for(settings.redis_url, credentials=credentials, tell=tell)
    )


def main() -> int:
    return run_process("pick", serve, (BusError,))


if __name__ == "__main__":
    sys.exit(main())
