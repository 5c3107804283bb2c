"""The folder runs/<task_id>/: journal, transcripts, images, metrics, report and contact sheet of one task."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import httpx2

from quartet_cli.contact_sheet import Step, draw_contact_sheet
from quartet_cli.discussion import discussion
from quartet_contracts import STATE_WORDS, JournalEvent, TaskCode, TaskStatus
from quartet_contracts.journal import Observation, SkillFinished, SkillRequested, ToolReturned
from quartet_contracts.story import clip, skill_words
from quartet_deployment import ClientError, OrchestratorClient, run_metrics
from quartet_process.bounded_answers import blocking_client

OVERHEAD_TIMEOUT_S = 5.0
MOST_OVERHEAD_BYTES = 16 * 1024 * 1024
CAPTION = 110
"""Characters of a caption before its outcome, which is to be in view."""
UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
SUFFIXES = {b"\xff\xd8": "jpg", b"\x89P": "png"}


class RunFolder:
    """Folder of one task, written while it is followed: journal and pictures as they come, the rest at the end."""

    def __init__(self, runs: Path, task_id: str, api: OrchestratorClient, overhead_url: str = "") -> None:
        self.path = runs / task_id
        self.task_id = task_id
        self._api = api
        self._overhead_url = overhead_url
        self._events: list[JournalEvent] = []
        self._steps: list[Step] = []
        self._requests: dict[str, str] = {}
        self._done = 0
        # What is said in a home, and pictures of it, are nobody else's.
        runs.mkdir(parents=True, exist_ok=True)
        for folder in (self.path, self.path / "images", self.path / "transcripts"):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
        self._journal = self._write("journal.jsonl", b"")

    @property
    def contact_sheet(self) -> Path:
        """Path of the contact sheet."""
        return self.path / "contact_sheet.png"

    def record(self, event: JournalEvent) -> None:
        """Write one more event."""
        self._events.append(event)
        with self._journal.open("a", encoding="utf-8") as lines:
            lines.write(event.model_dump_json() + "\n")

    def fetch_pictures(self, event: JournalEvent) -> None:
        """Fetch the pictures that an event refers to, while the store still has them."""
        match event.event:
            case SkillRequested() as request:
                self._requests[request.request_id] = skill_words(request.skill, request.arguments)
            case SkillFinished() as result:
                outcome = "done" if result.success else result.error_code
                self._done += 1
                words = self._requests.get(result.request_id, result.skill)
                # Its pictures come later; a step without any is shown too.
                caption = f"{self._done}. {clip(words, CAPTION)}: {outcome}"
                self._steps.append(Step(caption, self._overhead(f"step{self._done}")))
            case Observation() as seen:
                images = self._fetch(list(seen.images.values()))
                pictures = {view: images[ref] for view, ref in seen.images.items() if ref in images}
                if not self._steps:
                    self._steps.append(Step("At the start", self._overhead("start")))
                self._steps[-1].images.update(pictures)
            case ToolReturned() as result:
                self._fetch(result.images)
            case _:
                pass

    def picture(self, reference: str) -> Path | None:
        """Fetch a picture, and return its path; None if the store does not have it."""
        self._fetch([reference])
        path = self.path / "images" / Path(reference).name
        return path if path.is_file() else next(path.parent.glob(f"{path.name}.*"), None)

    def finish(self, status: TaskStatus) -> None:
        """Write what needs the whole task; pictures and transcripts that are gone are left out."""
        self._write("status.json", status.model_dump_json(indent=1).encode())
        metrics = run_metrics(status, self._events)
        self._write("metrics.json", json.dumps(metrics, indent=1).encode())
        self._save_transcripts()
        self._write("report.md", _report(status, metrics, self._events).encode())
        if not self._steps:
            self._steps.append(Step(f"At the end: {STATE_WORDS[status.state]}", self._overhead("end")))
        subtitle = (
            f"{self.task_id} · {STATE_WORDS[status.state]} after {metrics['wall_s']:.1f} s · "
            f"{metrics['tool_calls']} tool calls · {metrics['model_turns']} model turns"
        )
        self._write(self.contact_sheet.name, b"")
        draw_contact_sheet(self.contact_sheet, status.task.sentence, subtitle, self._steps)

    def _save_transcripts(self) -> None:
        try:
            for loop_id in self._api.transcripts(self.task_id):
                transcript = self._api.transcript(self.task_id, loop_id)
                # The name comes from the server and must not lead out of the folder.
                name = f"{UNSAFE.sub('_', loop_id)}.json"
                self._write(f"transcripts/{name}", json.dumps(transcript, indent=1).encode())
        except ClientError as error:
            self._write("transcripts/missing.txt", f"not all transcripts could be fetched: {error}\n".encode())

    def _write(self, name: str, data: bytes) -> Path:
        """Write a file of the folder that only its owner reads, and return its path."""
        path = self.path / name
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_bytes(data)
        return path

    def _fetch(self, references: list[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for reference in references:
            try:
                data = self._api.image(self.task_id, reference)
            except ClientError:
                continue
            found[reference] = data
            name = Path(reference).name
            if not Path(name).suffix:
                name = f"{name}.{SUFFIXES.get(data[:2], 'bin')}"
            self._write(f"images/{name}", data)
        return found

    def _overhead(self, name: str) -> dict[str, bytes]:
        if not self._overhead_url:
            return {}
        try:
            with blocking_client(MOST_OVERHEAD_BYTES, timeout=OVERHEAD_TIMEOUT_S) as http:
                answer = http.get(self._overhead_url).raise_for_status()
        except httpx2.HTTPError:
            return {}
        self._write(f"images/overhead_{name}.jpg", answer.content)
        return {"overhead": answer.content}


def _report(status: TaskStatus, metrics: dict[str, object], events: Sequence[JournalEvent]) -> str:
    code = f" ({status.report.error_code})" if status.report and status.report.error_code != TaskCode.NONE else ""
    lines = [f"# {status.task.sentence}", "", f"**{STATE_WORDS[status.state]}**{code} after {metrics['wall_s']} s", ""]
    if status.report is not None:
        lines += [status.report.summary, ""]
        if status.report.objects:
            lines += ["| object | target | completed | code | reason |", "|---|---|---|---|---|"]
            lines += [
                f"| {o.object_name} | {o.target} | {'yes' if o.completed else 'no'} | {o.error_code} | {o.reason} |"
                for o in status.report.objects
            ]
            lines.append("")
    lines += [
        f"{metrics['model_turns']} model turns, {metrics['tool_calls']} tool calls, "
        f"{metrics['prompt_tokens']} + {metrics['completion_tokens']} tokens, {metrics['cost_usd']} USD.",
        "",
        "![contact sheet](contact_sheet.png)",
        "",
        *discussion(events),
    ]
    return "\n".join(lines)
