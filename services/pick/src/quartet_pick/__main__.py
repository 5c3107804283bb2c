"""`python -m quartet_pick`: one replica of the pick agent."""

import sys

from quartet_agent_runtime import (
    AgentSettings,
    opened_port,
    run_process,
    serve_agent,
    stop_on_signals,
    unless_stopped,
)
from quartet_bus import Bus, BusError, Credentials
from quartet_pick.definition import definition


async def serve(settings: AgentSettings) -> None:
    agent = definition()
    credentials = Credentials.of(settings, str(agent.skill))
    stop = stop_on_signals()
    async with opened_port(str(agent.skill), settings) as health:
        opening = Bus.wait_for(settings.redis_url, credentials=credentials, tell=health.waits)
        bus = await unless_stopped(stop, opening)
        if bus is None:
            return
        async with bus:
            await serve_agent(
                agent,
                bus.skills(agent.skill),
                bus.journal,
                bus.images,
                bus.transcripts,
                settings,
                stop,
                approvals=bus.approvals,
                health=health,
            )


def main() -> int:
    return run_process("pick", serve, (BusError,))


if __name__ == "__main__":
    sys.exit(main())
