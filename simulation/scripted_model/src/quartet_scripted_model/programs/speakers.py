"""The roles of SA, MA and MALMM played by rules, through the prompts that a model gets, with faults."""

import math
import re
from dataclasses import dataclass

import numpy as np

from quartet_scripted_model.programs.jobs import HIGH, Job, clear_height, find_jobs, travel_height
from quartet_scripted_model.programs.scene import RELEASE_M, SAFE_M, Scene, read_scene

PLANNER, CODER, SUPERVISOR, SINGLE, RUNNER = "planner", "coder", "supervisor", "single", "runner"

_SECTION = re.compile(r"^# (.+)\n((?:(?!# ).*\n?)*)", re.MULTILINE)
_MESSAGE = re.compile(r"^\[(planner|coder|single|runner)\]\n", re.MULTILINE)
_STEP = re.compile(r"^Step: (.+)$", re.MULTILINE)
_POSE = re.compile(r"position \[([-\d.]+), ([-\d.]+), ([-\d.]+)\], yaw ([-\d.]+)$")
_SAFE = re.compile(r"A safe distance is ([\d.]+) above")
_RELEASE = re.compile(r"Let go of an object when it is ([\d.]+) above")
_GRASP = "close the gripper on "
_LOOK = "look at "
_OPEN, _DONE = "open the gripper", "the task is done; call task_completed()"
NEAR, NEAR_Z = 0.008, 0.007
"""The hand is at a place when it is so near to it [m]; it tracks within 1 mm."""
LOOK_M = 0.22
"""Height over a thing from which the camera on the wrist has it in view with what is round it [m]."""
WRONG_YAW, TOO_LOW = (0.5, 1.2), (0.02, 0.06)
"""Size of faults [rad], [m]."""


@dataclass(frozen=True)
class Rates:
    """Rates of the faults, 0 to 1."""

    program: float = 0.0
    """Of each program: one of undefined name, wrong yaw, too low a waypoint, object dropped, where it can have it."""
    step: float = 0.0
    """Of each step of a plan: it is forgotten, the one after it comes."""

    @classmethod
    def equal(cls, rate: float) -> "Rates":
        """Return the faults of one rate: a step is forgotten half as often as a program is wrong."""
        return cls(rate, rate / 2)


class ArmSpeakers:
    """Answers the prompts of all participants.

    Args:
        rates: rates of the faults.
        seed: of the faults that are drawn.
    """

    def __init__(self, rates: Rates, seed: int) -> None:
        self._rates = rates
        self._rng = np.random.default_rng(seed)

    def say(self, participant: str, prompt: str) -> str:
        """Return the answer of a participant. Raises ValueError for a task that it does not know."""
        parts = {heading: body.strip() for heading, body in _SECTION.findall(prompt)}
        said = _messages(parts["Conversation"])
        if participant == SUPERVISOR:
            return supervise(said)
        if participant == CODER:
            planned = [text for speaker, text in said if speaker == PLANNER]
            return self._programs(_STEP.findall(planned[-1])) if planned else "There is no step yet."
        once = parts["Pace"].startswith("All steps")
        plan = self._plan(parts, said, once=once)
        if participant == SINGLE:
            return f"{plan}\n{self._programs(_STEP.findall(plan))}"
        return plan

    def _plan(self, parts: dict[str, str], said: list[tuple[str, str]], *, once: bool) -> str:
        far = _distances(parts.get("Rules", ""))
        start = read_scene(parts["State at the start"], **far)
        results = [text for speaker, text in said if speaker == RUNNER and text.startswith("exit code: 0")]
        scene = read_scene(results[-1], **far) if results else start
        jobs = find_jobs(parts["Task"], scene)
        if once:
            steps = [step for job in jobs for step in routine(job, scene)]
            steps = [step for step in steps if not self._chance(self._rates.step)]
            return "All steps.\n" + "\n".join(f"Step: {step}" for step in (*steps, _DONE))
        planned = [text for speaker, text in said if speaker in (PLANNER, SINGLE)]
        last = (_STEP.findall(planned[-1]) or [""])[-1] if planned else ""
        return f"{_relations(scene, jobs)}\nStep: {self._next(jobs, scene, last)}"

    def _next(self, jobs: list[Job], scene: Scene, last: str) -> str:
        held = next((job for job in jobs if job.thing == scene.held), None)
        job = held or (jobs[0] if jobs else None)
        up = travel_height(job, scene)
        if job is None or (scene.held is not None and held is None):
            if scene.held is not None and job is not None:
                return _OPEN
            clear = clear_height(scene)
            if scene.held is None and scene.hand[2] <= clear - HIGH:
                return _pose("raise", _over(scene.hand, clear), 0.0)
            unsure = next((thing for thing in scene.things.values() if thing.unsure), None)
            if unsure is None or scene.held is not None or last.startswith(_LOOK):
                return _DONE
            return _pose(f"{_LOOK}{unsure.name} from above", _over(unsure.position, max(up, unsure.top + LOOK_M)), 0.0)
        steps = routine(job, scene)
        at = where(job, scene, steps, last, up)
        if at is None:
            return _pose("raise", _over(scene.hand, up), job.grasp_yaw)
        if at + 1 < len(steps) and self._chance(self._rates.step):
            at += 1
        return steps[at]

    def _programs(self, steps: list[str]) -> str:
        return "\n".join(f"```python\n{self._program(step)}```" for step in steps)

    def _program(self, step: str) -> str:
        pose = _POSE.search(step)
        moves_with_it = pose is not None and step.startswith(("raise", "move above", "lower", "turn"))
        kinds = [
            "undefined name",
            *(("wrong yaw", "too low") if pose else ()),
            *(("dropped",) if moves_with_it else ()),
        ]
        fault = str(self._rng.choice(kinds)) if self._chance(self._rates.program) else ""
        if step == _DONE:
            return "task_completed()\n"
        if step.startswith(_GRASP):
            name = step.removeprefix(_GRASP)
            return f"close_gripper({'name' if fault else repr(name)})\n"
        if pose is None:
            return "open_gripper(width)\n" if fault else "open_gripper()\n"
        x, y, z, yaw = (float(value) for value in pose.groups())
        if fault == "wrong yaw":
            yaw += float(self._rng.choice((-1, 1)) * self._rng.uniform(*WRONG_YAW))
        if fault == "too low":
            z -= float(self._rng.uniform(*TOO_LOW))
        opens = step.startswith(_OPEN) or fault == "dropped"
        lines = ["open_gripper()"] if opens else []
        if fault != "undefined name":
            lines.append(f"position = [{x:.4f}, {y:.4f}, {z:.4f}]")
        lines += [f"yaw = {yaw:.4f}", "execute_trajectory(position, yaw)"]
        return "\n".join(lines) + "\n"

    def _chance(self, rate: float) -> bool:
        return rate > 0 and float(self._rng.random()) < rate


def _distances(rules: str) -> dict[str, float]:
    """Return the distances that the rules of a prompt name [m]."""
    safe, release = _SAFE.search(rules), _RELEASE.search(rules)
    return {
        "safe_m": float(safe[1]) if safe else SAFE_M,
        "release_m": float(release[1]) if release else RELEASE_M,
    }


def supervise(said: list[tuple[str, str]]) -> str:
    """Return who speaks next: the Coder after the Planner and after a program that failed, else the Planner."""
    speaker, text = said[-1] if said else (RUNNER, "")
    failed = speaker == RUNNER and text.startswith("exit code: ") and not text.startswith("exit code: 0")
    return CODER if speaker == PLANNER or failed else PLANNER


def routine(job: Job, scene: Scene) -> list[str]:
    """Return the steps that carry out a job, from above the object to above the place where it goes."""
    up = travel_height(job, scene)
    grasp, place = job.grasp, job.place
    if scene.held == job.thing:  # where it is in the hand, it stays
        here = scene.things[job.thing].position
        off = [hand - centre for hand, centre in zip(scene.hand, here, strict=True)]
        grasp, place = scene.hand, (place[0] + off[0], place[1] + off[1], place[2] + off[2])
    begin = [
        _pose(f"{_OPEN} and move above {job.thing}", _over(grasp, up), job.grasp_yaw),
        _pose(f"move to the centre of {job.thing}", grasp, job.grasp_yaw),
        f"{_GRASP}{job.thing}",
    ]
    if job.turn:
        turned = _pose("turn", grasp, job.grasp_yaw + job.turn)
        return [*begin, turned, _pose("raise", _over(grasp, up), job.grasp_yaw + job.turn)]
    if job.keeps:
        return [*begin, _pose("raise", _over(grasp, up), job.grasp_yaw)]
    return [
        *begin,
        _pose("raise", _over(grasp, up), job.grasp_yaw),
        _pose(f"move above {job.onto}", _over(place, up), job.place_yaw),
        _pose("lower", place, job.place_yaw),
        _OPEN,
        _pose("raise", _over(place, up), job.place_yaw),
    ]


def where(job: Job, scene: Scene, steps: list[str], last: str, up: float) -> int | None:
    """Return the index of the step of a job that comes next; None: the hand has to go up first."""
    hand = scene.hand
    high = hand[2] > up - HIGH
    if scene.held == job.thing:
        if job.turn:
            return 4 if last.startswith("turn") or high else 3
        if job.keeps:
            return 3
        place = _pose_of(steps[-3])
        if math.dist(hand[:2], place[:2]) < NEAR:
            return 6 if hand[2] < place[2] + NEAR_Z else 5
        return 4 if high else 3
    if math.dist(hand[:2], job.grasp[:2]) < NEAR:
        if abs(hand[2] - job.grasp[2]) < NEAR_Z:
            return None if last.startswith(_GRASP) else 2
        # Its height is that of other things, of which a camera tells a little else each time.
        if high and last.partition(":")[0] == steps[0].partition(":")[0]:
            return 1
    return 0 if high else None


def _over(point: tuple[float, float, float], z: float) -> tuple[float, float, float]:
    return point[0], point[1], z


def _pose(what: str, position: tuple[float, float, float], yaw: float) -> str:
    x, y, z = position
    return f"{what}: position [{x:.4f}, {y:.4f}, {z:.4f}], yaw {math.remainder(yaw, 2 * math.pi):.4f}"


def _pose_of(step: str) -> tuple[float, ...]:
    """Return the position that a step names, infinite where it names none."""
    found = _POSE.search(step)
    return tuple(map(float, found.groups()[:3])) if found else (math.inf,) * 3


def _relations(scene: Scene, jobs: list[Job]) -> str:
    if not jobs:
        return "Everything is where it has to be."
    thing, onto = scene.things[jobs[0].thing], scene.things[jobs[0].onto]
    if thing is onto:
        return f"{thing.name} is to be raised."
    side = "right" if thing.position[0] > onto.position[0] else "left"
    return f"{thing.name} lies to the {side} of {onto.name}; {len(jobs)} to move."


def _messages(talk: str) -> list[tuple[str, str]]:
    parts = _MESSAGE.split(talk)
    return list(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))
