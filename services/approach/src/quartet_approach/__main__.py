"""`python -m quartet_approach`: one replica of the approach agent."""

import asyncio
import sys

from quartet_agent_runtime import AgentSettings, run_agent, serve_agent
from quartet_approach.agent import definition
from quartet_bus import Bus, BusError, Credentials


async def serve(settings: AgentSettings, stop: asyncio.Event) -> None:
    """Serve requests until `stop`."""
    agent = definition()
    credentials = Credentials.of(settings, str(agent.skill))
    await serve_agent(
        agent, settings, lambda tell: Bus.wait_for(settings.redis_url, credentials=credentials, tell=tell), stop
    )


def main() -> int:
    """Run the process and return its exit status."""
    return run_agent("approach", serve, (BusError,))


if __name__ == "__main__":
    sys.exit(main())
