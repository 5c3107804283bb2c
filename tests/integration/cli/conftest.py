"""An orchestrator whose answers a test writes, over real HTTP."""

import io
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from quartet_cli.main import main
from quartet_contracts import JournalEvent, State, Task, TaskReport, TaskStatus, Usage
from quartet_contracts.journal import Happening, ModelTurn, StateChanged, ToolReturned

TASK_ID = "task-1"
SHOWS_THE_TASK = {"/tasks", *(f"/tasks/{TASK_ID}{end}" for end in ("", "/answer", "/pause", "/resume"))}


class Orchestrator:
    """One task; `play` appends to its journal, `end` closes it."""

    def __init__(self) -> None:
        self.events: list[JournalEvent] = []
        self.state = State.RUNNING
        self.report: TaskReport | None = None
        self.question: str | None = None
        self.requests: list[tuple[str, str, Any]] = []
        self.keys: list[str] = []
        """Idempotency keys that came."""
        self.on_cancel: Callable[[], None] = lambda: self.end(State.CANCELED)
        self.refuse: tuple[int, dict[str, Any]] | None = None
        self.drop_stream_after: int | None = None
        """Break the link once after this many events."""
        self.changed = threading.Condition()
        self.url = ""

    def play(self, actor: str, event: Happening) -> None:
        with self.changed:
            at = 1000.0 + len(self.events)
            self.events.append(
                JournalEvent.model_validate({"task_id": TASK_ID, "actor": actor, "at": at, "event": event.model_dump()})
            )
            self.changed.notify_all()

    def end(self, state: State, report: TaskReport | None = None) -> None:
        self.report = report
        self.play("orchestrator", StateChanged(state=state))
        with self.changed:
            self.state = state
            self.changed.notify_all()

    @property
    def usage(self) -> Usage:
        """What the events used."""
        used = Usage()
        for event in self.events:
            match event.event:
                case ModelTurn() as turn:
                    used = used.plus(turn.usage.model_copy(update={"turns": 1}))
                case ToolReturned():
                    used = used.plus(Usage(tool_calls=1))
                case _:
                    pass
        return used

    def status(self) -> TaskStatus:
        task = Task(
            task_id=TASK_ID,
            sentence="pick up the can",
            robot="summit",
            created_at=1000.0,
            deadline=2000.0,
            budget={"turns": 50},
        )
        return TaskStatus(
            task=task,
            state=self.state,
            report=self.report,
            question=self.question,
            usage=self.usage,
            updated_at=1000.0 + len(self.events),
        )

    def wait_for_request(self, method: str, path: str, timeout_s: float = 60.0) -> Any:
        """The body of the first request of that kind."""
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while True:
                for got_method, got_path, body in self.requests:
                    if (got_method, got_path) == (method, path):
                        return body
                if not self.changed.wait(max(0.0, deadline - time.monotonic())):
                    raise AssertionError(f"no {method} {path} came; there were {self.requests}")


def jpeg(colour: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(out, "JPEG")
    return out.getvalue()


ROBOTS = {
    "robots": [
        {"name": "summit1", "state": "busy", "why": "", "task": TASK_ID, "waiting": 2, "servers": []},
        {
            "name": "summit2",
            "state": "stopped",
            "why": "a wall",
            "task": None,
            "waiting": 0,
            "servers": [],
        },
    ],
    "waiting_for_any": 3,
}


@pytest.fixture
def orchestrator() -> Iterator[Orchestrator]:
    stage = Orchestrator()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.split("?")[0]
            with stage.changed:
                stage.requests.append((method, path, json.loads(body) if body else None))
                stage.keys += filter(None, [self.headers.get("Idempotency-Key")])
                stage.changed.notify_all()
            if stage.refuse is not None:
                status, problem = stage.refuse
                self._send(status, json.dumps(problem).encode(), "application/problem+json")
            elif path == f"/tasks/{TASK_ID}/events":
                self._stream()
            elif path == f"/tasks/{TASK_ID}/cancel":
                stage.on_cancel()
                self._send(202, stage.status().model_dump_json().encode())
            elif path == "/overhead.jpg":
                self._send(200, jpeg("green"), "image/jpeg")
            elif re.fullmatch(rf"/tasks/{TASK_ID}/images/(front|arm)\.jpg", path):
                self._send(200, jpeg("blue" if "front" in path else "red"), "image/jpeg")
            elif path == f"/tasks/{TASK_ID}/transcripts":
                self._send(200, b'{"transcripts": ["orchestrator"]}')
            elif path == f"/tasks/{TASK_ID}/transcripts/orchestrator":
                self._send(200, b'{"messages": []}')
            elif path == "/robots":
                self._send(200, json.dumps(ROBOTS).encode())
            elif path == "/tasks" and method == "GET":
                self._send(200, f'{{"tasks": [{stage.status().model_dump_json()}]}}'.encode())
            elif path in {
                "/tasks",
                *(f"/tasks/{TASK_ID}{end}" for end in ("", "/answer", "/pause", "/resume")),
            } or path.startswith("/skills/"):
                self._send(200, stage.status().model_dump_json().encode())
            else:
                problem = {"title": "Not found", "status": 404, "detail": f"no {path}; `quartet list` shows the tasks"}
                self._send(404, json.dumps(problem).encode(), "application/problem+json")

        def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            index = int(self.headers.get("Last-Event-ID") or 0)
            self.wfile.write(b": keep-alive\n\n")
            while True:
                with stage.changed:
                    if index >= len(stage.events):
                        if stage.state not in {State.RUNNING, State.PAUSED, State.CANCELING}:
                            return
                        if not stage.changed.wait(15):
                            return
                        continue
                    event = stage.events[index]
                if stage.drop_stream_after == index:
                    stage.drop_stream_after = None
                    self.wfile.write(b"id: half")
                    self.wfile.flush()
                    # A reset, not an orderly end.
                    self.connection.close()
                    return
                index += 1
                text = f"id: {index}\nevent: {event.event.kind}\ndata: {event.model_dump_json()}\n\n"
                try:
                    self.wfile.write(text.encode())
                    self.wfile.flush()
                except OSError:
                    return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stage.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield stage
    with stage.changed:
        if stage.state in {State.RUNNING, State.PAUSED, State.CANCELING}:
            stage.state = State.FAILED
        stage.changed.notify_all()
    server.shutdown()
    server.server_close()


@pytest.fixture
def environment(orchestrator: Orchestrator, tmp_path: Path) -> dict[str, str]:
    """Of a person who works with the test's orchestrator, with the runs in tmp_path."""
    return {"QUARTET_URL": orchestrator.url, "QUARTET_RUNS_DIR": str(tmp_path / "runs"), "COLUMNS": "200"}


@pytest.fixture
def call(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs the command to its end in this process; returns its exit status and what it printed as output and errors."""

    def run(*arguments: str, **env: str) -> tuple[int, str, str]:
        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("QUARTET_")]:
                patch.delenv(name)
            for name, value in {**environment, **env}.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main(list(arguments))
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


@pytest.fixture
def quartet(environment: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command as a process, where signals or a terminal matter; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, stdin: int = subprocess.DEVNULL, **env: str) -> subprocess.Popen[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("QUARTET_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "quartet_cli", *arguments],
            env={**clean, **environment, **env},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
