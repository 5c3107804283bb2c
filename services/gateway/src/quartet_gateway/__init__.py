"""The model gateway: LiteLLM behind an OpenAI-compatible endpoint, the only holder of provider keys."""

from quartet_gateway.app import create_app
from quartet_gateway.config import AGENTS, AgentModels, GatewayFile, ModelEntry, Price, Retries
from quartet_gateway.errors import ConfigurationError, GatewayError
from quartet_gateway.gateway import Gateway
from quartet_gateway.ledger import SpendingLedger
from quartet_gateway.load import load_file
from quartet_gateway.models import Model, choose_models
from quartet_gateway.settings import Settings
from quartet_gateway.task_grants import TaskGrants

__all__ = [
    "AGENTS",
    "AgentModels",
    "ConfigurationError",
    "Gateway",
    "GatewayError",
    "GatewayFile",
    "Model",
    "ModelEntry",
    "Price",
    "Retries",
    "Settings",
    "SpendingLedger",
    "TaskGrants",
    "choose_models",
    "create_app",
    "load_file",
]
