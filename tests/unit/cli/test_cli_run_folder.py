"""The folder of a run, with what a server says."""

from pathlib import Path
from types import SimpleNamespace

from PIL import Image, ImageDraw, ImageFont

from quartet_cli.contact_sheet import _fit
from quartet_cli.run_folder import RunFolder
from quartet_contracts import JournalEvent, State, Task, TaskStatus

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
        folder.record(
            JournalEvent.model_validate({"task_id": "t1", "actor": "orchestrator", "at": 1.0, "event": event})
        )
    (step,) = folder._steps
    assert step.caption.startswith(
        "1. run open_gripper(); position = [0.4, 0.0, 0.9]; execute_trajectory(position, 0.0)"
    )
    assert step.caption.endswith(": PROGRAM_FAILED")
    assert len(step.caption) < 150


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
