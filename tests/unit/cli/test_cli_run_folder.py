"""The folder of a run, with what a server says."""

import json
import struct
import zlib
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

from PIL import Image, ImageDraw, ImageFont

from quartet_cli.contact_sheet import _fit, _picture
from quartet_cli.run_folder import RunFolder
from quartet_contracts import JournalEvent, State, Task, TaskStatus, Usage
from quartet_deployment import ClientError

STATUS = TaskStatus(
    task=Task(task_id="t1", sentence="fetch the can", robot="summit", created_at=1.0, deadline=2.0, budget={}),
    state=State.FAILED,
    updated_at=2.0,
)


def test_the_name_of_a_transcript_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    api = SimpleNamespace(transcripts=lambda _: ["../../../out", "pick-1"], transcript=lambda *_: {"messages": []})
    RunFolder(tmp_path / "runs", "t1", api).finish(STATUS)  # type: ignore[arg-type]
    folder = tmp_path / "runs" / "t1" / "transcripts"
    assert {path.name for path in folder.iterdir()} == {"_________out.json", "pick-1.json"}
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_the_picture_of_a_question_is_saved(tmp_path: Path) -> None:
    def image(_: str, reference: str) -> bytes:
        if reference == "gone":
            raise ClientError("gone")
        return b"\xff\xd8" + reference.encode()

    folder = RunFolder(tmp_path, "t1", SimpleNamespace(image=image))  # type: ignore[arg-type]
    assert folder.picture("image-10") is not None
    saved = folder.picture("image-1")
    assert saved is not None
    assert (saved.parent, saved.read_bytes()) == (tmp_path / "t1" / "images", b"\xff\xd8image-1")
    assert folder.picture("gone") is None


def test_nobody_else_on_the_machine_reads_a_run(tmp_path: Path) -> None:
    def missing(*_: str) -> None:
        raise ClientError("gone")

    api = SimpleNamespace(transcripts=lambda _: ["pick-1"], transcript=lambda *_: {"messages": []}, image=missing)
    (tmp_path / "t1").mkdir(mode=0o755)
    RunFolder(tmp_path, "t1", api).finish(STATUS)  # type: ignore[arg-type]
    api.transcript = missing
    RunFolder(tmp_path, "t2", api).finish(STATUS)  # type: ignore[arg-type]
    written = [path for name in ("t1", "t2") for path in (tmp_path / name, *(tmp_path / name).rglob("*"))]
    assert {path.name for path in written if path.is_file()} == {
        *("journal.jsonl", "status.json", "metrics.json", "report.md", "contact_sheet.png"),
        *("pick-1.json", "missing.txt"),
    }
    assert [path for path in written if path.stat().st_mode & 0o077] == []


def test_the_caption_of_a_program_is_the_program_with_its_outcome(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "t1", SimpleNamespace())  # type: ignore[arg-type]
    code = "open_gripper()\n\nposition = [0.4, 0.0, 0.9]\nexecute_trajectory(position, 0.0)\n" + "print(1)\n" * 50
    before = {"objects": [{"name": "rubbish"}], "hand_yaw": 0.0}
    asked = {
        "kind": "skill_requested",
        "request_id": "r1",
        "skill": "executor",
        "robot": "panda",
        "attempt": 1,
        "fence": 1,
    }
    done = {"kind": "skill_result", "request_id": "r1", "skill": "executor", "success": False, "reason": "no"}
    for event in (
        {**asked, "arguments": {"code": code, "before": before}},
        {**done, "error_code": "PROGRAM_FAILED", "state": "FAILED"},
    ):
        told = JournalEvent.model_validate({"task_id": "t1", "actor": "orchestrator", "at": 1.0, "event": event})
        folder.record(told)
        folder.fetch_pictures(told)
    (step,) = folder._steps
    assert step.caption.startswith(
        "1. run open_gripper(); position = [0.4, 0.0, 0.9]; execute_trajectory(position, 0.0)"
    )
    assert step.caption.endswith(": PROGRAM_FAILED")
    assert len(step.caption) < 150


def test_the_report_of_a_team_has_its_tokens_its_discussion_and_its_programs(tmp_path: Path) -> None:
    api = SimpleNamespace(transcripts=lambda _: [])
    folder = RunFolder(tmp_path, "t1", api)  # type: ignore[arg-type]
    usage = {"turns": 1, "prompt_tokens": 1000, "completion_tokens": 10}
    code = "open_gripper()\nprint('# not a heading')"
    said = f"I open it. <b>Now</b>\n```python\n{code}\n```"
    asked = {"request_id": "r1", "skill": "executor", "robot": "panda", "attempt": 1, "fence": 1}
    ended = {"request_id": "r1", "skill": "executor", "success": True, "error_code": "NONE", "state": "SUCCEEDED"}
    for at, event in enumerate(
        (
            {"kind": "team_turn", "participant": "coder", "text": said, "usage": usage, "about": "program"},
            {"kind": "skill_requested", **asked, "arguments": {"code": code}},
            {"kind": "skill_result", **ended, "reason": "the program has ended"},
        )
    ):
        given = {"task_id": "t1", "actor": "orchestrator", "at": at, "event": event}
        folder.record(JournalEvent.model_validate(given))
    used = Usage(turns=93, tool_calls=7, prompt_tokens=250_000, completion_tokens=4787)
    folder.finish(STATUS.model_copy(update={"usage": used}))
    report = (tmp_path / "t1" / "report.md").read_text()
    assert "93 model turns, 7 tool calls, 250000 + 4787 tokens" in report
    assert "## Discussion\n\n**coder**, 0.0 s\n\n    I open it. <b>Now</b>\n    ```python\n" in report
    assert "**orchestrator**, 1.0 s\n\n    → executor: run this program\n    open_gripper()\n" in report
    assert "**executor**, 2.0 s\n\n    ✓ the program has ended\n" in report
    assert "\n# not" not in report
    metrics = json.loads((tmp_path / "t1" / "metrics.json").read_text())
    assert (metrics["model_turns"], metrics["tool_calls"], metrics["prompt_tokens"]) == (93, 7, 250_000)
    assert metrics["model_turns_by_agent"] == {"coder": 1}


def test_the_report_of_a_group_has_its_subtasks_and_what_its_programs_printed(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "t1", SimpleNamespace(transcripts=lambda _: []))  # type: ignore[arg-type]
    printed = "\n".join(f"# line {number}: True" for number in range(100))
    move = "move(red can, kitchen, desk)"
    for at, event in enumerate(
        (
            {"kind": "team_turn", "participant": "ada", "text": "```python\nprint(1)\n```"},
            {"kind": "team_program", "participant": "ada", "text": printed},
            {"kind": "team_subtasks", "subtasks": {"ada": [move], "bob": []}, "agreed": True, "rounds": 1},
        )
    ):
        given = {"task_id": "t1", "actor": "orchestrator", "at": at, "event": event}
        folder.record(JournalEvent.model_validate(given))
    folder.finish(STATUS)
    report = (tmp_path / "t1" / "report.md").read_text()
    assert "**ada**, 1.0 s\n\n    its program ended:\n    # line 0: True\n    # line 1: True\n" in report
    assert "    # line 99: True\n" in report
    assert "    all agree to their subtasks\n    ada: red can, kitchen → desk\n    bob: waits\n" in report


def test_the_report_of_one_robot_has_no_discussion(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "t1", SimpleNamespace(transcripts=lambda _: []))  # type: ignore[arg-type]
    folder.finish(STATUS)
    assert "Discussion" not in (tmp_path / "t1" / "report.md").read_text()


def test_a_picture_that_unpacks_to_too_much_is_left_out() -> None:
    """The picture comes from the server, and may be small for all its pixels."""
    out = BytesIO()
    Image.new("1", (8, 8)).save(out, "png")
    data = bytearray(out.getvalue())
    data[16:24] = struct.pack(">II", 40_000, 40_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    assert _picture(bytes(data)) is None


def test_a_long_caption_is_not_measured_letter_by_letter() -> None:
    """A team's task of 17 programs took five minutes more, for captions with the state of the table."""
    measured: list[str] = []
    sheet = ImageDraw.Draw(Image.new("RGB", (10, 10)))

    class Counting:
        def textlength(self, text: str, font: ImageFont.ImageFont) -> float:
            measured.append(text)
            return sheet.textlength(text, font)

    text, font = "position = [0.4, 0.0, 0.9]; " * 200, ImageFont.load_default(14)
    fitted = _fit(Counting(), text, font, 700)  # type: ignore[arg-type]
    assert len(measured) < 20
    assert fitted.endswith("…")
    assert 600 < sheet.textlength(fitted, font) <= 700
    assert _fit(sheet, "short", font, 700) == "short"
