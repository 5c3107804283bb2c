"""The HTTP API of the orchestrator."""

from quartet_orchestrator.api.access import Access
from quartet_orchestrator.api.app import create_app
from quartet_orchestrator.api.sessions import Sessions

__all__ = ["Access", "Sessions", "create_app"]
