"""What one orchestrator process hands to its tasks."""

from dataclasses import dataclass

from quartet_agent_runtime import GatewayClient
from quartet_bus import Bus, Replies
from quartet_orchestrator.fencing import Fencer
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.names import Names
from quartet_orchestrator.settings import OrchestratorSettings


@dataclass(frozen=True)
class Context:
    bus: Bus
    replies: Replies
    model: GatewayClient
    signer: Signer
    fencer: Fencer
    settings: OrchestratorSettings
    names: Names
    areas: int
    """How many areas the site has."""
    system_prompt: str
