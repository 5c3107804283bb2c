"""A model provider for tests: its answers are those of a file in its own wire format, and it keeps what it is asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from support.http_server import serve_app

FAMILIES = Path(__file__).parents[1] / "integration" / "gateway" / "families"


@dataclass(frozen=True)
class Family:
    """One way of talking to models: a model's name and endpoint, and its answers by name.

    The answers are `text`, `calls` (two in parallel, with thoughts if it has any), `call`, and those that go wrong.
    Each has a `body`; `status` and `headers` are 200 and none where they are left out.
    """

    name: str
    model: str
    answers: dict[str, dict[str, Any]]
    path: str = ""
    """What follows the host in the endpoint."""
    environment: dict[str, str] = field(default_factory=dict[str, str])
    takes_images: bool = False
    thoughts: tuple[str, ...] = ()
    """Thoughts, or signatures of them, in `calls` and `call` that must go back as they came."""
    reasoning_effort: str | None = None
    requests: dict[str, Any] = field(default_factory=dict[str, Any])
    """What a recording has beside the answers; not read."""

    @staticmethod
    def load(file: Path) -> "Family":
        """Read a file of a family; `like` names another one, of which it has what it does not say itself."""
        own = yaml.safe_load(file.read_text())
        if like := own.pop("like", None):
            base = yaml.safe_load(file.with_name(f"{like}.yaml").read_text())
            own = {**base, **own, "answers": {**base["answers"], **own.get("answers", {})}}
        return Family(name=file.stem, **own)

    @property
    def entry(self) -> dict[str, Any]:
        """The model's entry in the gateway's file, without its endpoint."""
        effort = {"reasoning_effort": self.reasoning_effort} if self.reasoning_effort else {}
        return {"model": self.model, "takes_images": self.takes_images, **effort}


def families() -> list[Family]:
    """Return all families, by name."""
    return [Family.load(file) for file in sorted(FAMILIES.glob("*.yaml"))]


@dataclass(frozen=True)
class Asked:
    """A request that the provider got; names of headers are in lower case."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]


class FakeProvider:
    """Answers every POST with the next of `plan`; the last one is repeated. One with `hang` never comes."""

    def __init__(self) -> None:
        self.url = ""
        self.plan: list[dict[str, Any]] = []
        self.asked: list[Asked] = []
        self._released = asyncio.Event()
        self.app = Starlette(routes=[Route("/{path:path}", self._answer, methods=["POST"])])

    async def _answer(self, request: Request) -> Response:
        self.asked.append(Asked(request.url.path, await request.json(), dict(request.headers)))
        answer = self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]
        if answer.get("hang"):
            await self._released.wait()
            return Response(status_code=500)
        return JSONResponse(answer["body"], status_code=answer.get("status", 200), headers=answer.get("headers"))

    @asynccontextmanager
    async def serve(self) -> AsyncIterator["FakeProvider"]:
        """Listen at `url`."""
        async with serve_app(self.app) as url:
            self.url = url
            try:
                yield self
            finally:
                self._released.set()
