"""What one orchestrator process hands to its tasks."""

from collections.abc import Mapping
from dataclasses import dataclass

from quartet_agent_runtime import GatewayClient
from quartet_bus import Bus, Replies
from quartet_orchestrator.briefs import Brief
from quartet_orchestrator.fencing import Fencer
from quartet_orchestrator.fleet import Fleet
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.settings import OrchestratorSettings


@dataclass(frozen=True)
class Context:
    bus: Bus
    replies: Replies
    model: GatewayClient
    signer: Signer
    fencer: Fencer
    settings: OrchestratorSettings
    briefs: Mapping[str, Brief]
    """What the model is told, by robot."""
    fleet: Fleet
