"""One job in the small world, followed to its end, and what became of it by the simulation's own count."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml

from quartet_cli.api import Api
from quartet_cli.errors import CliError, Refused
from quartet_cli.stack import Stack
from quartet_contracts import TERMINAL, JournalEvent, State, TaskStatus, TaskSubmission
from quartet_contracts.journal import Asked

TIMEOUT_S = 180.0
PUT_WITHIN_S = 3.0
ASKED_TOOL = "moveit__close_gripper"
"""Closing the fingers waits for a person's word, so that a question and its answer are a part of every job."""


def asking_policy(site_dir: Path) -> str:
    """The site's policy.yaml, with ASKED_TOOL left to a person."""
    policy = yaml.safe_load((site_dir / "policy.yaml").read_text())
    policy["approval"] = [{"tool": ASKED_TOOL, "then": "ask", "because": "every grasp of this bench is asked about"}]
    return yaml.safe_dump(policy)


@dataclass
class Score:
    """How a job ended, and what the robot did by ground truth."""

    status: TaskStatus | None
    """None: the task did not end."""
    delivered: bool
    grasps: int
    releases: int

    @property
    def lost(self) -> bool:
        return self.status is None or self.status.state not in TERMINAL

    @property
    def succeeded(self) -> bool:
        return self.status is not None and self.status.state is State.SUCCEEDED

    @property
    def false_success(self) -> bool:
        return self.succeeded and not self.delivered

    @property
    def double_motions(self) -> int:
        """Picks and drops beyond the one of each that the job needs."""
        return max(0, self.grasps - 1) + max(0, self.releases - 1)

    def row(self) -> dict[str, Any]:
        return {
            "state": str(self.status.state) if self.status else "LOST",
            "delivered": self.delivered,
            "grasps": self.grasps,
            "releases": self.releases,
        }


@dataclass
class Job:
    """A thing of the small world that is to be carried to the other surface; use `begin`."""

    stack: Stack
    sentence: str
    thing: str
    target: str
    task_id: str
    url: str
    """The orchestrator that is asked; another replica's when the first one is frozen."""
    events: list[JournalEvent] = field(default_factory=list[JournalEvent])

    @classmethod
    def begin(cls, stack: Stack, seed: int, url: str = "") -> "Job":
        """Set the world up anew and hand the job in."""
        body = {"seed": seed, "scenario": None}
        world = httpx.post(f"{stack.scoring_url}/reset", json=body, timeout=60).raise_for_status().json()
        sentence, thing, target = job_of(world)
        url = url or stack.url
        with Api(url, stack.api_token) as api:
            task_id = api.submit(TaskSubmission(sentence=sentence, timeout_s=TIMEOUT_S)).task.task_id
        return cls(stack, sentence, thing, target, task_id, url)

    def follow(self) -> Iterator[JournalEvent]:
        """The journal as it grows, questions answered with yes. Raises CliError when it breaks off for good."""
        with Api(self.url, self.stack.api_token) as api:
            for event in api.events(self.task_id):
                self.events.append(event)
                yield event
                if isinstance(event.event, Asked):
                    self._allow(api, event.event)

    def cancel(self) -> None:
        with Api(self.url, self.stack.api_token) as api:
            api.cancel(self.task_id, "the bench has changed its mind")

    def score(self) -> Score:
        status: TaskStatus | None = None
        with contextlib.suppress(CliError), Api(self.url, self.stack.api_token) as api:
            status = api.task(self.task_id)
        truth = httpx.get(f"{self.stack.scoring_url}/truth", timeout=30).raise_for_status().json()
        return Score(
            status=status,
            delivered=truth["objects"][self.thing]["on"] == self.target,
            grasps=sum(truth["grasps"].values()),
            releases=sum(truth["releases"].values()),
        )

    def _allow(self, api: Api, asked: Asked) -> None:
        """Say yes. A question is told before it is put; one that dies with its orchestrator is told again."""
        end = time.monotonic() + PUT_WITHIN_S
        while time.monotonic() < end:
            try:
                api.answer(self.task_id, "yes", asked.question_id)
            except Refused as problem:
                if "asks nothing" not in str(problem):
                    return
            except CliError:
                # Whoever listens there is being started again.
                pass
            else:
                return
            time.sleep(0.05)


def job_of(world: dict[str, Any]) -> tuple[str, str, str]:
    """A task that this placement of the small world allows: sentence, object, surface."""
    name, thing = next(
        (name, thing) for name, thing in sorted(world["objects"].items()) if thing["on"] in {"wooden table", "counter"}
    )
    target = "counter" if thing["on"] == "wooden table" else "wooden table"
    return f"Pick up the {name} from the {thing['on']} and place it on the {target}.", name, target
