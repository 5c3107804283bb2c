"""HTTP API of the orchestrator."""

from quartet_orchestrator.api.access import Authenticator
from quartet_orchestrator.api.app import create_app

__all__ = ["Authenticator", "create_app"]
