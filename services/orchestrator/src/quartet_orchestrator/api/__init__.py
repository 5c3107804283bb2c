"""The HTTP API of the orchestrator."""

from quartet_orchestrator.api.access import Access, Caller, require_caller
from quartet_orchestrator.api.app import create_app

__all__ = ["Access", "Caller", "create_app", "require_caller"]
