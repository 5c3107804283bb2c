"""Whole deployments: every process real, on free ports, in a folder of its own."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from quartet_benchmarks.chaos.job import job_of
from quartet_contracts import TERMINAL, JournalEvent, TaskStatus, TaskSubmission
from quartet_contracts.journal import StateChanged
from quartet_deployment import SERVERS, Stack, StackOptions

MakeStack = Callable[..., Stack]


@contextmanager
def _stacks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeStack]:
    started: list[Stack] = []

    def start(**options: Any) -> Stack:
        folder = tmp_path_factory.mktemp("stack")
        stack = Stack(StackOptions(**{"state_dir": folder, "use_dotenv": False, "start_timeout_s": 250.0, **options}))
        started.append(stack)
        stack.start()
        return stack

    try:
        yield start
    finally:
        for stack in started:
            # In order takes seconds, and nothing is looked at after that.
            for name in stack.pids():
                stack.kill(name)
            stack.stop()


@pytest.fixture(scope="session")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], AbstractContextManager[MakeStack]]:
    """`with stacks() as start`: starts stacks that end with the block; on a failure their logs are in pytest's
    temporary folder."""
    return lambda: _stacks(tmp_path_factory)


@pytest.fixture(scope="module")
def make_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeStack]:
    """Starts stacks that end with the module."""
    with _stacks(tmp_path_factory) as start:
        yield start


@pytest.fixture
def make_own_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeStack]:
    """Starts stacks that end with the test: an idle one costs a tenth of a core."""
    with _stacks(tmp_path_factory) as start:
        yield start


@pytest.fixture(scope="session")
def wait_for_robot() -> Callable[[Stack], None]:
    """Waits until every MCP server of a stack is connected to the robot's rosbridge."""

    def wait(stack: Stack) -> None:
        for server in SERVERS:
            end = time.monotonic() + 120
            while not (health := httpx.get(f"{stack.url_of(server)}/health", timeout=60).json())["bridge"]:
                assert time.monotonic() < end, f"{server} does not reach the robot: {health}"

    return wait


class Run:
    """A finished task."""

    def __init__(self, status: TaskStatus, events: list[JournalEvent]) -> None:
        self.status = status
        self.events = events

    def of(self, kind: type) -> list[Any]:
        return [event.event for event in self.events if isinstance(event.event, kind)]

    def ends_once(self) -> bool:
        """Exactly one terminal state, and nothing after it."""
        states = [e.event.state in TERMINAL if isinstance(e.event, StateChanged) else False for e in self.events]
        return states.count(True) == 1 and states[-1]

    def story(self) -> str:
        """For the message of a failed assertion."""
        return "\n".join(json.dumps(e.event.model_dump(mode="json"))[:300] for e in self.events)


@pytest.fixture(scope="session")
def run() -> Callable[..., Run]:
    """Submits a sentence and follows it to its end; `on_event` sees each event as it comes."""

    def play(
        stack: Stack,
        sentence: str,
        timeout_s: float = 250.0,
        on_event: Callable[[JournalEvent], None] = lambda event: None,
        budget: dict[str, Any] | None = None,
    ) -> Run:
        fields = {"sentence": sentence, "timeout_s": timeout_s, **({"budget": budget} if budget else {})}
        with stack.api() as api:
            task_id = api.submit(TaskSubmission.model_validate(fields)).task.task_id
            events: list[JournalEvent] = []
            for event in api.events(task_id):
                events.append(event)
                on_event(event)
            return Run(api.task(task_id), events)

    return play


@pytest.fixture(scope="session")
def sentence_about() -> Callable[[dict[str, Any]], tuple[str, str, str]]:
    """A task that a placement in the studio allows: (sentence, object, surface)."""
    return job_of


@pytest.fixture(scope="session")
def truth() -> Callable[[Stack], dict[str, Any]]:
    """Ground truth of a stack's world."""
    return lambda stack: httpx.get(f"{stack.scoring_url}/truth", timeout=30).raise_for_status().json()


@pytest.fixture(scope="session")
def reset() -> Callable[..., dict[str, Any]]:
    """A new episode in a stack's world; its truth."""

    def start(stack: Stack, seed: int, scenario: str | None = None) -> dict[str, Any]:
        body = {"seed": seed, "scenario": scenario}
        return httpx.post(f"{stack.scoring_url}/reset", json=body, timeout=60).raise_for_status().json()

    return start


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """For a `quartet` command in a test: nothing of the caller's settings, runs in a temporary folder."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("QUARTET_")}
    return {**mine, "QUARTET_RUNS_DIR": str(tmp_path / "runs"), "COLUMNS": "200"}
