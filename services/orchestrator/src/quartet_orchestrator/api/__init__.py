"""The HTTP API of the orchestrator."""

from quartet_orchestrator.api.app import create_app

__all__ = ["create_app"]
