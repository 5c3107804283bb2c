"""The web page: its files, its sign-in, and what a browser may load from it."""

from quartet_orchestrator.page.routes import OPEN, PageHeaders, page_routes
from quartet_orchestrator.page.sessions import Sessions, session_routes

__all__ = ["OPEN", "PageHeaders", "Sessions", "page_routes", "session_routes"]
