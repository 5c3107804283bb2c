"""GET /metrics of the simulation, on a port of its own: what Prometheus may read leads to no robot."""

from __future__ import annotations

from collections.abc import Callable

from quartet_process import REGISTRY, Exposition, Secret
from quartet_simulation.http import HttpServer


def metrics_server(measure: Callable[[], None], token: Secret | None) -> HttpServer:
    """`measure` sets what is looked at only when somebody asks; with `token` only who sends it is answered."""
    exposition = Exposition("simulation", REGISTRY)

    async def scrape(_: bytes) -> tuple[str, bytes]:
        measure()
        _status, kind, body = exposition.answer(None)
        return kind, body

    return HttpServer({("GET", "/metrics"): scrape}, token)
