"""One job in the small world, followed to its end and scored by the simulation's own count."""

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml

from quartet_contracts import TERMINAL, JournalEvent, State, TaskStatus, TaskSubmission
from quartet_contracts.journal import Asked
from quartet_deployment import ClientError, OrchestratorClient, RefusedError, Stack

TIMEOUT_S = 180.0
PUT_WITHIN_S = 3.0
DISTURBED_M = 0.03
AT_REST = 0.02
"""A base that is slower stands [m/s and rad/s]."""
LOOK_S = 5.0
"""The simulation is given up as not reachable when it does not answer within this time."""
ASKED_TOOL = "moveit__close_gripper"
"""Tool that the policy asks a person about, so that every job has a question and an answer."""


def asking_policy(site_dir: Path) -> str:
    """Return the site's policy.yaml with approval of ASKED_TOOL by a person."""
    policy = yaml.safe_load((site_dir / "policy.yaml").read_text())
    policy["approval"] = [{"tool": ASKED_TOOL, "then": "ask", "because": "this benchmark asks about every grasp"}]
    return yaml.safe_dump(policy)


@dataclass
class Score:
    """How a job ended, and what the robot did by ground truth."""

    status: TaskStatus | None
    """None: the task did not end."""
    delivered: bool
    grasps: int
    releases: int
    disturbed: list[str]
    """Other things that are more than DISTURBED_M from where they were."""
    at_rest: bool | None
    """Whether the base stood when the task had ended or its journal had broken off; None: the simulation did not answer
    within LOOK_S then."""

    @property
    def lost(self) -> bool:
        """Whether the task reached no terminal state."""
        return self.status is None or self.status.state not in TERMINAL

    @property
    def succeeded(self) -> bool:
        """Whether the task ended as SUCCEEDED."""
        return self.status is not None and self.status.state is State.SUCCEEDED

    @property
    def false_success(self) -> bool:
        """Whether the task SUCCEEDED but the object is not at its target."""
        return self.succeeded and not self.delivered

    @property
    def double_motions(self) -> int:
        """Number of picks and drops beyond the one of each that the job needs."""
        return max(0, self.grasps - 1) + max(0, self.releases - 1)

    def row(self) -> dict[str, Any]:
        """Return the columns of a score in the JSON."""
        return {
            "state": str(self.status.state) if self.status else "LOST",
            "delivered": self.delivered,
            "grasps": self.grasps,
            "releases": self.releases,
            "disturbed": self.disturbed,
            "at_rest": self.at_rest,
        }


@dataclass
class Job:
    """Task to carry an object of the small world to the other surface; create it with `begin`."""

    stack: Stack
    sentence: str
    thing: str
    target: str
    task_id: str
    url: str
    """Address of the orchestrator that is asked; that of another replica when the first one is frozen."""
    others: dict[str, list[float]]
    """Where the things that are not carried were at the begin, by ground truth [m]."""
    events: list[JournalEvent] = field(default_factory=list[JournalEvent])
    at_rest: bool | None = None
    """As in the score; None before the end of `follow`."""

    @classmethod
    def begin(cls, stack: Stack, seed: int, url: str = "") -> "Job":
        """Reset the world and submit the task."""
        body = {"seed": seed, "scenario": None}
        world = (
            httpx.post(f"{stack.scoring_url}/reset", json=body, timeout=60, trust_env=False).raise_for_status().json()
        )
        sentence, thing, target = job_of(world)
        url = url or stack.url
        with OrchestratorClient(url, stack.api_token) as api:
            task_id = api.submit(TaskSubmission(sentence=sentence, timeout_s=TIMEOUT_S)).task.task_id
        others = {name: one["position"] for name, one in world["objects"].items() if name != thing}
        return cls(stack, sentence, thing, target, task_id, url, others)

    def follow(self) -> Iterator[JournalEvent]:
        """Yield the events of the journal and answer questions with yes; then note whether the base stands.

        Raises ClientError when the journal breaks off for good.
        """
        try:
            with OrchestratorClient(self.url, self.stack.api_token) as api:
                for event in api.events(self.task_id):
                    self.events.append(event)
                    yield event
                    if isinstance(event.event, Asked):
                        self._allow(api, event.event)
        finally:
            # Not in `score`, before which a trouble or late messages may have to end: a base may halt meanwhile.
            self.at_rest = self._base_stands()

    def cancel(self) -> None:
        """Cancel the task."""
        with OrchestratorClient(self.url, self.stack.api_token) as api:
            api.cancel(self.task_id, "the benchmark canceled it")

    def score(self) -> Score:
        """Return how the task ended, and the ground truth."""
        status: TaskStatus | None = None
        with contextlib.suppress(ClientError), OrchestratorClient(self.url, self.stack.api_token) as api:
            status = api.task(self.task_id)
        truth = httpx.get(f"{self.stack.scoring_url}/truth", timeout=30, trust_env=False).raise_for_status().json()
        return Score(
            status=status,
            delivered=truth["objects"][self.thing]["on"] == self.target,
            grasps=sum(truth["grasps"].values()),
            releases=sum(truth["releases"].values()),
            disturbed=sorted(
                name
                for name, place in self.others.items()
                if math.dist(place, truth["objects"][name]["position"]) > DISTURBED_M
            ),
            at_rest=self.at_rest,
        )

    def _base_stands(self) -> bool | None:
        """Return whether the base stands now, None when the simulation does not answer."""
        try:
            truth = (
                httpx.get(f"{self.stack.scoring_url}/truth", timeout=LOOK_S, trust_env=False).raise_for_status().json()
            )
        except httpx.HTTPError:
            return None
        return max(map(abs, truth["robot"]["twist"])) < AT_REST

    def _allow(self, api: OrchestratorClient, asked: Asked) -> None:
        """Answer yes; the question may be in the journal before it is open."""
        end = time.monotonic() + PUT_WITHIN_S
        while time.monotonic() < end:
            try:
                api.answer(self.task_id, "yes", asked.question_id)
            except RefusedError as problem:
                if "asks nothing" not in str(problem):
                    return
            except ClientError:
                # The orchestrator is being started again.
                pass
            else:
                return
            time.sleep(0.05)


def job_of(world: dict[str, Any]) -> tuple[str, str, str]:
    """Return a task that fits this placement of the small world: sentence, object, surface."""
    name, thing = next(
        (name, thing) for name, thing in sorted(world["objects"].items()) if thing["on"] in {"wooden table", "counter"}
    )
    target = "counter" if thing["on"] == "wooden table" else "wooden table"
    return f"Pick up the {name} from the {thing['on']} and place it on the {target}.", name, target
