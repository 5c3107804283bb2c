"""The command against an orchestrator: story, exit status, folder of the run, errors."""

import json
import os
import pty
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from PIL import Image

from quartet_cli.main import main
from quartet_contracts import State, TaskReport
from quartet_contracts.journal import (
    Asked,
    ModelTurn,
    Observation,
    SkillFinished,
    SkillRequested,
    ToolReturned,
)

Start = Callable[..., Popen[str]]
Call = Callable[..., tuple[int, str, str]]
TIMEOUT_S = 120


def finished(process: Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, out, err


def play_a_pick(orchestrator: Any) -> None:
    orchestrator.play(
        "orchestrator",
        ModelTurn(turn=1, text="can: kitchen to table", usage={"prompt_tokens": 70, "completion_tokens": 5}),
    )
    orchestrator.play(
        "orchestrator",
        SkillRequested(request_id="r1", skill="pick", attempt=1, fence=1, arguments={"object_name": "can"}),
    )
    orchestrator.play("pick", ToolReturned(call_id="c", tool="moveit__close_gripper", ok=True, duration_s=1.5))
    orchestrator.play("pick", ToolReturned(call_id="d", tool="moveit__close_gripper", ok=False, duration_s=0.5))
    orchestrator.play(
        "orchestrator",
        SkillFinished(request_id="r1", skill="pick", success=True, error_code="NONE", reason="held", state="SUCCEEDED"),
    )
    orchestrator.play("orchestrator", Observation(label="after pick", images={"front": "front.jpg", "arm": "arm.jpg"}))


@pytest.mark.parametrize(
    ("state", "status"), [(State.SUCCEEDED, 0), (State.FAILED, 1), (State.REJECTED, 1), (State.CANCELED, 4)]
)
def test_exit_status_is_zero_only_for_a_completed_task(
    orchestrator: Any, call: Call, state: State, status: int
) -> None:
    orchestrator.end(state)
    assert call("run", "pick up the can")[0] == status


def test_a_run_leaves_its_folder(orchestrator: Any, quartet: Start, tmp_path: Path) -> None:
    play_a_pick(orchestrator)
    orchestrator.end(State.SUCCEEDED, TaskReport(success=True, summary="The can is held."))
    status, out, err = finished(
        quartet("--task", "pick up the can", QUARTET_OVERHEAD_URL=f"{orchestrator.url}/overhead.jpg")
    )
    assert status == 0, err
    assert "→ pick: pick up the can" in out
    assert "The can is held." in out
    folder = tmp_path / "runs" / "task-1"
    journal = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert [line["event"]["kind"] for line in journal] == [event.event.kind for event in orchestrator.events]
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["completed"] is True
    assert metrics["tool_calls"] == 2
    assert metrics["tools"]["moveit__close_gripper"] == {"calls": 2, "failed": 1, "seconds": 2.0}
    assert (metrics["prompt_tokens"], metrics["completion_tokens"]) == (70, 5)
    assert json.loads((folder / "transcripts" / "orchestrator.json").read_text()) == {"messages": []}
    assert "The can is held." in (folder / "report.md").read_text()
    assert {path.name for path in (folder / "images").iterdir()} >= {"front.jpg", "arm.jpg", "overhead_step1.jpg"}
    with Image.open(folder / "contact_sheet.png") as sheet:
        colours = {colour for _, colour in sheet.convert("RGB").getcolors(1_000_000)}
        assert sheet.width > 900
    assert any(c[1] > 100 and c[0] < 30 and c[2] < 30 for c in colours), "no overhead picture in the sheet"
    assert any(c[2] > 200 and c[0] < 60 for c in colours), "no front picture in the sheet"
    assert any(c[0] > 200 and c[1] < 60 and c[2] < 60 for c in colours), "no wrist picture in the sheet"


def test_a_broken_link_is_resumed_without_repeating_an_event(orchestrator: Any, call: Call) -> None:
    orchestrator.drop_stream_after = 3
    play_a_pick(orchestrator)
    orchestrator.end(State.SUCCEEDED)
    status, out, err = call("run", "x y", "--json")
    assert status == 0, err
    kinds = [json.loads(line).get("event", {}).get("kind") for line in out.splitlines()]
    assert [kind for kind in kinds if kind] == [event.event.kind for event in orchestrator.events]


def test_the_first_interrupt_cancels_and_waits_for_the_end(orchestrator: Any, quartet: Start) -> None:
    process = quartet("run", "pick up the can")
    orchestrator.wait_for_request("GET", "/tasks/task-1/events")
    process.send_signal(signal.SIGINT)
    orchestrator.wait_for_request("POST", "/tasks/task-1/cancel")
    status, out, _ = finished(process)
    assert status == 4
    assert "press Ctrl-C again" in out
    assert "Canceled" in out


def test_the_second_interrupt_leaves(orchestrator: Any, quartet: Start) -> None:
    orchestrator.on_cancel = lambda: None
    process = quartet("run", "pick up the can")
    orchestrator.wait_for_request("GET", "/tasks/task-1/events")
    process.send_signal(signal.SIGINT)
    orchestrator.wait_for_request("POST", "/tasks/task-1/cancel")
    # Whether it still waits for the answer or follows again.
    process.send_signal(signal.SIGINT)
    status, out, _ = finished(process)
    assert status == 130
    assert "quartet watch task-1" in out


def test_a_question_without_a_terminal_says_how_to_answer(orchestrator: Any, quartet: Start) -> None:
    orchestrator.state, orchestrator.question = State.PAUSED, "Which can?"
    orchestrator.play("orchestrator", Asked(question_id="q1", text="Which can?", expires_at=4e9))
    process = quartet("run", "pick up the can", stdin=subprocess.DEVNULL)
    orchestrator.wait_for_request("GET", "/tasks/task-1")
    orchestrator.end(State.FAILED)
    _, out, _ = finished(process)
    assert "asks: Which can?" in out
    assert 'quartet answer task-1 "your answer"' in out


def test_a_person_at_a_terminal_answers_there(orchestrator: Any, quartet: Start) -> None:
    person, terminal = pty.openpty()
    orchestrator.state, orchestrator.question = State.PAUSED, "Which can?"
    orchestrator.play("orchestrator", Asked(question_id="q1", text="Which can?", expires_at=4e9))
    process = quartet("run", "pick up the can", stdin=terminal)
    os.write(person, b"the red one\n")
    answer = orchestrator.wait_for_request("POST", "/tasks/task-1/answer")
    assert (answer["text"], answer["question_id"]) == ("the red one", "q1")
    orchestrator.end(State.SUCCEEDED)
    assert finished(process)[0] == 0
    os.close(person)
    os.close(terminal)


def test_a_question_that_is_answered_elsewhere_no_longer_holds_up_the_terminal(
    orchestrator: Any, quartet: Start
) -> None:
    person, terminal = pty.openpty()
    orchestrator.state, orchestrator.question = State.PAUSED, "Which can?"
    orchestrator.play("orchestrator", Asked(question_id="q1", text="Which can?", expires_at=4e9))
    process = quartet("run", "pick up the can", stdin=terminal)
    orchestrator.wait_for_request("GET", "/tasks/task-1")
    orchestrator.question = None
    orchestrator.end(State.SUCCEEDED)
    status, out, _ = finished(process)
    assert status == 0
    assert "Your answer" in out
    os.close(person)
    os.close(terminal)


def test_single_skills_are_sent_with_their_arguments(orchestrator: Any, call: Call) -> None:
    orchestrator.end(State.SUCCEEDED)
    assert call("--test-approach", "kitchen", "red can", "surface_place")[0] == 0
    assert orchestrator.wait_for_request("POST", "/skills/approach") == {
        "target_area": "kitchen",
        "object_name": "red can",
        "next_action": "surface_place",
        "object_id": None,
        "stand": "usual",
    }
    assert call("place", "table", "red can", "0.12")[0] == 0
    assert orchestrator.wait_for_request("POST", "/skills/place") == {
        "target_location": "table",
        "object_name": "red can",
        "object_height_m": 0.12,
        "target_id": None,
        "held_id": None,
    }


def test_watch_takes_the_newest_task_and_tells_it_from_its_start(orchestrator: Any, call: Call) -> None:
    play_a_pick(orchestrator)
    orchestrator.end(State.SUCCEEDED)
    status, out, _ = call("watch")
    assert status == 0
    assert "can: kitchen to table" in out


def test_list_answer_and_cancel(orchestrator: Any, call: Call) -> None:
    status, out, _ = call("list", "--state", "RUNNING")
    assert status == 0
    assert "task-1" in out
    assert "pick up the can" in out
    assert [line.split() for line in out.splitlines()[:4]] == [
        ["robot", "is", "task", "waiting"],
        ["summit1", "busy", "task-1", "2"],
        ["summit2", "stopped", "a", "wall"],
        ["any", "3", "for", "whichever", "robot", "is", "free", "first"],
    ]
    status, out, _ = call("answer", "task-1", "the red one")
    assert (status, "the answer is taken" in out) == (0, True)
    assert orchestrator.wait_for_request("POST", "/tasks/task-1/answer") == {"text": "the red one"}
    status, out, _ = call("cancel", "task-1")
    assert (status, out) == (0, "task task-1: Canceled\n")


def test_an_open_question_is_listed_with_how_to_answer_it(orchestrator: Any, call: Call) -> None:
    orchestrator.state, orchestrator.question = State.PAUSED, "Which can?"
    status, out, _ = call("list")
    assert status == 0
    assert out.endswith('\ntask-1 asks: Which can?\n  quartet answer task-1 "..."\n')


def test_cancel_tells_what_the_robot_keeps_holding(orchestrator: Any, call: Call) -> None:
    kept = TaskReport(success=False, summary="canceled by a person. The robot keeps holding the can.")
    orchestrator.on_cancel = lambda: orchestrator.end(State.CANCELED, kept)
    _, out, _ = call("cancel", "task-1")
    assert out == "task task-1: Canceled\ncanceled by a person. The robot keeps holding the can.\n"


def test_pause_resume_and_a_key_of_ones_own(orchestrator: Any, call: Call) -> None:
    status, out, _ = call("pause", "task-1", "--reason", "the floor is wet")
    assert status == 0
    assert "it pauses before its next step; let it go on with: quartet resume task-1" in out
    assert orchestrator.wait_for_request("POST", "/tasks/task-1/pause") == {"reason": "the floor is wet"}
    status, out, _ = call("resume", "task-1")
    assert (status, "task task-1 goes on" in out) == (0, True)
    orchestrator.wait_for_request("POST", "/tasks/task-1/resume")
    call("run", "pick up the can", "--detach", "--idempotency-key", "order-7")
    assert orchestrator.keys == ["order-7"]


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["run", ""], 2, "the sentence is empty"),
        (["run", "?!"], 2, "the sentence has no words"),
        (["run", "x" * 1001], 2, "has 1001 characters, at most 1000"),
        (["place", "table", "can", "7"], 2, "object_height_m: Input should be less than or equal to 1 (got '7.0')"),
        (["approach", "kitchen", "can", "juggle"], 2, "'surface_place'"),
        (["schema", "Nope"], 2, "there is no message 'Nope'; valid: "),
        (["bench", "nope"], 2, "there is no suite 'nope'; valid: "),
        (["grant", "navigate", "--robot", "r", "--key", "k"], 2, "'navigate' is not the name of a tool"),
        (["grant", "nav2__look", "--robot", "r", "--key", "/no/key"], 2, "--key /no/key cannot be read"),
        (["demo", "--world", "moon"], 5, "there is no world 'moon'; valid: "),
    ],
)
def test_bad_input_is_told_with_value_valid_values_and_remedy(
    arguments: list[str], status: int, says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTET_URL", "http://127.0.0.1:1")
    with pytest.raises(SystemExit) as end:
        main(arguments)
    err = capsys.readouterr().err
    assert (end.value.code, says in err) == (status, True), err


def test_an_unknown_task_is_told_in_the_orchestrators_words(orchestrator: Any, call: Call) -> None:
    status, _, err = call("watch", "nope")
    assert (status, err) == (2, "quartet: no /tasks/nope; `quartet list` shows the tasks\n")


def test_a_refusal_of_the_orchestrator_is_told(orchestrator: Any, call: Call) -> None:
    orchestrator.refuse = (503, {"title": "Store", "status": 503, "detail": "Redis is not there"})
    status, _, err = call("run", "pick up the can")
    assert status == 1
    assert "answered 503: Redis is not there" in err


def test_no_orchestrator_is_told_with_what_to_start(call: Call) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        status, _, err = call("run", "pick up the can", QUARTET_URL=url)
    assert status == 3
    assert url in err
    assert "quartet up" in err


@pytest.mark.parametrize("command", [("run", "pick up the can"), ("list",), ("watch",), ("cancel", "t")])
def test_another_server_is_not_taken_for_an_orchestrator(call: Call, tmp_path: Path, command: Any) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    (tmp_path / "tasks").write_text("<html>")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        status, _, err = call(*command, QUARTET_URL=url)
        server.shutdown()
    assert status == 3
    assert f"what answers at {url} is not an orchestrator (status " in err
    assert "<html>" not in err


def test_without_a_folder_for_runs_nothing_is_started(orchestrator: Any, call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, _, err = call("run", "pick up the can", QUARTET_RUNS_DIR=str(tmp_path / "file" / "runs"))
    assert status == 2
    assert f"{tmp_path}/file/runs, cannot be written (Not a directory); name another: QUARTET_RUNS_DIR" in err
    assert orchestrator.requests == []


def test_the_list_of_commands_is_not_cut_off(call: Call) -> None:
    status, out, _ = call("--help", COLUMNS="80")
    assert status == 0
    assert "run " in out
    assert [line for line in out.split("Commands:")[1].splitlines() if line.endswith("...")] == []


def test_schema_prints_every_message(call: Call) -> None:
    status, out, _ = call("schema")
    assert status == 0
    messages = json.loads(out)["messages"]
    assert {"TaskSubmission", "SkillRequest", "PickResult", "JournalEvent", "GrantClaims"} <= set(messages)
    assert messages["PickArguments"]["additionalProperties"] is False
