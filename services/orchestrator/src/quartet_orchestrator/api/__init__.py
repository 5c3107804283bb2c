"""The HTTP API of the orchestrator."""

from quartet_orchestrator.api.access import Access, Caller, require_caller
from quartet_orchestrator.api.app import create_app
from quartet_orchestrator.api.sessions import Sessions

__all__ = ["Access", "Caller", "Sessions", "create_app", "require_caller"]
