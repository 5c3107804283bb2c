"""The stop service answers a browser on the web page, and refuses every other site's."""

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from quartet_stop.cors import PageOrigins

ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}


async def test_the_service_answers_a_page_of_its_own_host_and_still_wants_the_token(start):
    async with start() as service:
        page = {"Origin": "http://10.0.0.7:8000", "Host": "10.0.0.7:8010"}
        preflight = await service.client.request("OPTIONS", "/stop", headers={**page, **ASKS})
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == "http://10.0.0.7:8000"
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        refused = await service.client.post("/stop", headers=page)
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == "http://10.0.0.7:8000", "the page can say why"
        assert service.guard.orders("/stop") == []


@pytest.mark.parametrize(
    ("origins", "origin", "host", "allowed"),
    [
        ([], "http://127.0.0.1:8000", "127.0.0.1:8010", True),
        ([], "http://[::1]:8000", "[::1]:8010", True),
        ([], "http://localhost:8000", "localhost:8010", True),
        # Its own name, which leads here.
        ([], "http://evil.example", "evil.example:8010", False),
        ([], "http://evil.example:8010", "evil.example:8010", False),
        ([], "http://evil.example", "127.0.0.1:8010", False),
        ([], "http://127.0.0.1.evil.example", "127.0.0.1:8010", False),
        ([], "null", "127.0.0.1:8010", False),
        ([], "http://[::1", "127.0.0.1:8010", False),
        (["https://robots.example/"], "https://robots.example", "stop.example", True),
        (["https://robots.example"], "https://stop.example", "stop.example", False),
    ],
)
async def test_which_pages_may_ask(origins, origin, host, allowed):
    app = Starlette(routes=[Route("/state", lambda _: PlainTextResponse("state"))])
    transport = httpx2.ASGITransport(app=PageOrigins(app, origins))
    async with httpx2.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
        answer = await client.get("/state", headers={"Origin": origin})
        preflight = await client.request("OPTIONS", "/state", headers={"Origin": origin, **ASKS})
    assert (answer.status_code, answer.text == "state") == ((200, True) if allowed else (403, False))
    assert answer.headers.get("access-control-allow-origin") == (origin if allowed else None)
    assert preflight.status_code == (204 if allowed else 403)


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://foreign.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
async def test_a_foreign_page_presses_nothing_even_with_the_token(start, headers):
    async with start() as service:
        for path in ("/stop", "/reset"):
            answer = await service.ask("POST", path, more=headers)
            assert answer.status_code == 403
            assert "QUARTET_STOP_ORIGINS" in answer.json()["detail"]
        assert service.guard.orders("/stop") == []
