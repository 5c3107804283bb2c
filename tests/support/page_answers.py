"""Answers of the test's choice to the page: its files are the real ones, orchestrator and stop service are played."""

import json
import mimetypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Request, Route

import quartet_orchestrator

FILES = Path(quartet_orchestrator.__file__).parent / "page" / "static"
PAGE, STOP = "http://page.test", "http://stop.test"
RIGHT, OLD = "the-right-stop-token", "the-stop-token-of-before"
CORS = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*"}
PATIENCE_MS = 120_000
AREA = {"name": "kitchen", "outline": [[0, 0], [4, 0], [4, 4], [0, 4]]}
SITE = {"name": "home", "description": "", "areas": [AREA], "places": [], "objects": []}


def task(state: str = "SUCCEEDED", task_id: str = "t-1", robot: str = "anna") -> dict[str, Any]:
    said = {"task_id": task_id, "sentence": f"sentence of {task_id}", "robot": robot, "created_at": 1.0}
    return {"task": said, "state": state, "updated_at": 2.0, "report": None, "question": None}


def seen(name: str, x: float, y: float, age_s: float = 0.0) -> dict[str, Any]:
    """A robot as GET /robots/NAME/poses has it."""
    pose = {"x": x, "y": y, "yaw": 1.0}
    return {"name": name, "pose": pose, "area": f"where {name} is", "age_s": age_s, "why": ""}


class Deployment:
    """Answers the page of two robots."""

    def __init__(self) -> None:
        self.states = {name: {"latched": False, "stopped": False, "standstill": None} for name in ("anna", "ben")}
        self.asked: list[Request] = []
        self.answers: dict[str, Callable[[Route], None]] = {}
        """By method and path, before what is answered otherwise."""
        self.tasks: list[dict[str, Any]] = []
        self.robots: list[dict[str, Any]] = [{"name": name, "state": "idle"} for name in self.states]
        self.poses: list[dict[str, Any]] = [seen(name, 1.0 + 2 * at, 1.0) for at, name in enumerate(self.states)]
        self.site: dict[str, Any] = SITE
        self.headers: dict[str, str] = {}
        """Of the orchestrator's answers."""
        self.events: list[list[dict[str, Any]]] = []
        """What the next connections to the journal of t-1 are sent."""

    def __call__(self, route: Route) -> None:
        request = route.request
        self.asked.append(request)
        origin, path = request.url[: len(PAGE)], request.url[len(PAGE) :].partition("?")[0]
        if answer := self.answers.get(f"{request.method} {path}"):
            answer(route)
        elif origin == STOP:
            self.stop_service(route, path)
        elif path == "/" or path.startswith("/page/"):
            file = FILES / (path.removeprefix("/page/").lstrip("/") or "index.html")
            route.fulfill(path=file, content_type=mimetypes.guess_type(file.name)[0])
        elif path.endswith("/events"):
            sent = self.events.pop(0) if len(self.events) > 1 else []
            route.fulfill(
                body="".join(f"data: {json.dumps(one)}\n\n" for one in sent), content_type="text/event-stream"
            )
        else:
            self.orchestrator(route, path)

    def orchestrator(self, route: Route, path: str) -> None:
        robot = path.split("/")[2] if path.startswith("/robots/") else ""
        known: dict[str, Any] = {
            "/page": {"stop_url": STOP},
            "/session": {"signed_in": True, "needed": True},
            "/tasks": {"tasks": self.tasks},
            "/robots": {"robots": self.robots},
            f"/robots/{robot}/site": self.site,
            f"/robots/{robot}/poses": {"robots": self.poses},
            **{f"/tasks/{one['task']['task_id']}": one for one in self.tasks},
        }
        if path in known:
            route.fulfill(json=known[path], headers=self.headers)
        else:
            problem(route, 404, f"nothing at {path}")

    def stop_service(self, route: Route, path: str) -> None:
        if route.request.headers.get("authorization") != f"Bearer {RIGHT}":
            problem(route, 401, "send a token")
            return
        if path == "/stop":
            robot = (route.request.post_data_json or {}).get("robot")
            for name in [robot] if robot else self.states:
                self.states[name] = {"latched": True, "stopped": True, "standstill": True}
        route.fulfill(json={"robots": self.states}, headers=CORS)

    def count(self, method: str, url: str) -> int:
        return sum((one.method, one.url) == (method, url) for one in self.asked)


def problem(route: Route, status: int, detail: str) -> None:
    route.fulfill(status=status, json={"title": "Trouble", "detail": detail}, headers=CORS)


def until(page: Page, condition: Callable[[], object]) -> None:
    """Lets the browser go on until `condition`."""
    for _ in range(PATIENCE_MS // 20):
        if condition():
            return
        page.wait_for_timeout(20)
    raise AssertionError("the page never came to it")


def event(position: int, told: dict[str, Any] | None, **what: Any) -> dict[str, Any]:
    fields = {"position": f"{position}-0", "task_id": "t-1", "actor": "orchestrator", "at": 1.0, "event": what}
    return {**fields, "request_id": None, **({"told": told} if told else {})}
