"""The folder of a run, with what a server says."""

from pathlib import Path
from types import SimpleNamespace

from quartet_cli.run_folder import RunFolder
from quartet_contracts import State, Task, TaskStatus

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
