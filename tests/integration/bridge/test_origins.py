"""Web pages of other sites, which a browser on this machine may show, neither drive the robot nor change the world."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import httpx
import pytest
import websockets

FOREIGN = ["https://foreign.example", "null", "http://127.0.0.1.foreign.example", "http://localhost.foreign.example:80"]
LOCAL = ["http://localhost:8080", "http://127.0.0.1:8000"]


@pytest.mark.parametrize("origin", FOREIGN)
async def test_rosbridge_refuses_a_page_of_another_site(sim: Any, origin: str) -> None:
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with websockets.connect(sim.url, origin=websockets.Origin(origin)):
            pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("origin", [None, *LOCAL])
async def test_rosbridge_serves_programs_and_pages_of_this_machine(sim: Any, origin: str | None) -> None:
    async with websockets.connect(sim.url, origin=None if origin is None else websockets.Origin(origin)) as socket:
        await socket.send('{"op": "call_service", "service": "/rosapi/get_time"}')
        assert "service_response" in await socket.recv()


def status(sim: Any, url: str, path: str, origin: str, header: str = "Origin") -> int:
    request = urllib.request.Request(sim.ready[url] + path, b"{}", {header: origin})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize(
    ("url", "path"), [("scoring_url", "/reset"), ("scoring_url", "/faults"), ("guard_url", "/reset")]
)
def test_scoring_and_guard_refuse_a_page_of_another_site(sim: Any, url: str, path: str, origin: str) -> None:
    assert status(sim, url, path, origin) == 403


def test_scoring_refuses_a_request_of_another_site_that_names_none(sim: Any) -> None:
    assert status(sim, "scoring_url", "/reset", "cross-site", "Sec-Fetch-Site") == 403


HOSTS = [("foreign.example", 403), ("foreign.example:8080", 403), ("", 403), ("localhost", 200), ("simulation:9", 200)]


@pytest.mark.parametrize(("host", "answer"), HOSTS)
@pytest.mark.parametrize("path", ["/truth", "/overhead.jpg", "/health"])
def test_scoring_refuses_to_tell_a_page_whose_name_leads_here(sim: Any, path: str, host: str, answer: int) -> None:
    """DNS rebinding: the browser takes the page for one of the same site, so it names no origin."""
    answered = httpx.get(sim.ready["scoring_url"] + path, headers={"Host": host}, timeout=60)
    assert answered.status_code == answer
    assert ("is not served" in answered.text) == (answer == 403)


def test_scoring_serves_a_page_of_this_machine(sim: Any) -> None:
    assert status(sim, "scoring_url", "/reset", LOCAL[0]) == 200
