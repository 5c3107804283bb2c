"""Unlike robots get tasks that name no robot, or that a team does: none is begun by a robot that cannot do it."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
import yaml

from quartet_benchmarks.errors import OptionError, UnfitPlacementError
from quartet_benchmarks.home.world import Goal, Truth, World
from quartet_benchmarks.result import START_TIMEOUT_S, BenchParameters, BenchResult, Rate
from quartet_benchmarks.resume import Check
from quartet_benchmarks.robot_time import parts_of_team
from quartet_contracts import TERMINAL, State, TaskStatus, TaskSubmission
from quartet_contracts.journal import SkillRequested
from quartet_deployment import (
    OrchestratorClient,
    RefusedError,
    Stack,
    StackOptions,
    new_world,
    robot_folder,
    state_folder,
)
from quartet_site import CatalogueObject, RobotFile, SiteFile, load_robot, load_site

ROBOTS = ("rover", "lifter")
SHELF, SHELF_M = "bookshelf", 1.12
"""The shelf that is raised, and the height of its top [m]."""
ROOM_M = 0.14
"""How much higher than where they let go the fingers of one robot must get: the hand comes from above."""
JOBS: tuple["Kind", ...] = ("wide", "high", "plain", "plain")
"""Jobs of each placement."""
PLACEMENTS = 10
TASK_TIMEOUT_S = 900.0
POLL_S = 0.5
SEED_ATTEMPTS = 25
Kind = Literal["wide", "high", "plain"]
"""A thing that only some hands go around, the raised shelf, and what all robots can do."""


@dataclass(frozen=True)
class Job:
    """One task, and which robots cannot do it."""

    kind: Kind
    goal: Goal
    area: str
    unable: frozenset[str]

    @property
    def sentence(self) -> str:
        """What the person says."""
        return f"Pick up the {self.goal.object} in the {self.area} and place it on the {self.goal.target}."


class Bodies:
    """What the bodies of robots are able to do, measured without resumes and without the code that hands tasks out."""

    def __init__(self, kinds: Sequence[str], seed: int) -> None:
        self._robots: dict[str, tuple[RobotFile, Check]] = {}
        self._known: dict[tuple[str, float], bool] = {}
        for kind in kinds:
            path = robot_folder(kind) / "robot.yaml"
            self._robots[load_robot(path).name] = load_robot(path), Check.of(path, seed)

    def unable(self, thing: CatalogueObject, top: float, above: float = 0.0) -> frozenset[str]:
        """Return the robots that cannot put a thing on a top at a height [m].

        Their fingers do not go around it, or do not get it there, or not `above` that [m]. They stand as far from where
        it is to lie as they drive up to tables.
        """
        assert thing.appearance.size_m is not None
        *sides, height = thing.appearance.size_m
        return frozenset(
            name
            for name, (robot, _) in self._robots.items()
            if min(sides) > robot.gripper.stroke_m
            or not self._reaches(name, round(top + height - robot.gripper.grasp_depth(height) + above, 2))
        )

    def _reaches(self, name: str, height: float) -> bool:
        if (name, height) in self._known:
            return self._known[name, height]
        robot, check = self._robots[name]
        off = np.linspace(-robot.approach.tolerance_m, robot.approach.tolerance_m, 5)
        points = [(robot.approach.standoff_m.surface_place + one, 0.0, height) for one in off]
        found = self._known[name, height] = bool(check.reached(np.array(points), from_above=True).any())
        return found


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of placements (default 10; 1 with --short), each with four tasks.

    `kinds` are the robots (default: rover and lifter). With the option `framework`, a team does two jobs at a time
    as one task: one that only some robots can do, and one that all can. Raises StackError, UnfitPlacementError,
    OptionError.
    """
    kinds = parameters.kinds or ROBOTS
    if len(set(kinds)) < 2:
        raise OptionError(f"robot: {', '.join(kinds)}; valid: two or more that differ, with --robot for each")
    count = parameters.episodes or (1 if parameters.short else PLACEMENTS)
    teams = parameters.options.get("framework") or []
    if teams[1:]:
        raise OptionError(f"framework: {', '.join(teams)}; valid: one team, such as emos")
    bodies = Bodies(kinds, parameters.seed)
    options = StackOptions(
        state_dir=state_folder() / "bench-dispatch",
        fresh=True,
        world=str(high_home(state_folder() / "worlds" / "high-shelf")),
        kinds=kinds,
        robots=len(kinds),
        start_timeout_s=START_TIMEOUT_S,
    )
    rows: list[dict[str, Any]] = []
    with Stack(options) as stack, World(stack.scoring_url) as world, stack.api() as api:
        site = load_site(stack.site_dir / "site.yaml")
        for number in range(count):
            seed = parameters.seed * 10_000 + number
            jobs = _set_up(world, site, bodies, stack.robots, seed)
            ended = _play_team(api, jobs, teams[0]) if teams else _play(api, jobs)
            truth = world.truth()
            for job, (end, begun_by) in zip(jobs, ended, strict=True):
                rows.append(row := _row(seed, job, end, begun_by, truth))
                who = ", ".join(row["begun_by"]) or "no robot"
                parameters.progress(f"seed {seed}: {row['sentence']} By {who}: {row['summary']}")
    team_tasks = [
        all(row["done"] for row in rows if row["task"] == task) for task in dict.fromkeys(row["task"] for row in rows)
    ]
    wrong = [row for row in rows if set(row["begun_by"]) & set(row["unable"])]
    only = [row for row in rows if row["unable"]]
    shares = {kind: [row for row in rows if row["kind"] == kind] for kind in dict.fromkeys(JOBS)}
    return BenchResult(
        "dispatch",
        {"seed": parameters.seed, "episodes": count, "robot": ", ".join(kinds), "team": ", ".join(teams) or "none"},
        {
            **({"team_tasks_done": Rate(sum(team_tasks), len(team_tasks))} if teams else {}),
            "done": Rate(sum(row["done"] for row in rows), len(rows)),
            "begun_by_an_unable_robot": Rate(len(wrong), len(rows)),
            "done_of_those_that_only_some_can_do": Rate(sum(row["done"] for row in only), len(only)),
            **{f"done_{kind}": Rate(sum(row["done"] for row in of), len(of)) for kind, of in shares.items()},
        },
        [{key: row[key] for key in ("seed", "kind", "object", "target", "begun_by", "done")} for row in rows],
        rows,
        [
            f"Tasks that name no robot, {len(JOBS)} at a time in the simulated home with its {SHELF} raised to "
            f"{SHELF_M:g} m: a thing that only some hands go around (wide), a thing for the {SHELF} (high), and two "
            "that all robots can do (plain). Begun: a robot took the task and called a skill. Which robots are unable "
            "is measured by their fingers' opening and by inverse kinematics with other random numbers than those of "
            "the resumes, without the margins that tasks are handed out by. Done: SUCCEEDED, and the thing lies there "
            "by ground truth. A team does each of the first two together with a plain one, as one task; it is done "
            "when both are, and the task SUCCEEDED.",
        ],
    )


def high_home(folder: Path) -> Path:
    """Write the home with a raised shelf, without site.yaml, which is derived, and return its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    new_world(folder, "home")
    world = yaml.safe_load((folder / "world.yaml").read_text(encoding="utf-8"))
    (shelf,) = (one for one in world["furniture"] if one["name"] == SHELF)
    shelf["height"] = SHELF_M
    for thing in world["things"]:
        # Nothing begins up there, since the cameras look for things from afar and from below.
        thing["places"] = [place for place in thing["places"] if place != SHELF]
    (folder / "world.yaml").write_text(yaml.safe_dump(world, sort_keys=False, allow_unicode=True), encoding="utf-8")
    (folder / "site.yaml").unlink(missing_ok=True)
    return folder


def jobs_of(truth: Truth, site: SiteFile, bodies: Bodies, robots: Sequence[str], rng: Random) -> list[Job] | None:
    """Return one job of each kind of JOBS, each with a thing and a surface of its own; None if there are too few."""
    places = {place.name: place for place in site.surfaces}
    things = sorted(name for name, one in truth["objects"].items() if one["on"] in places)
    targets = [place for place in site.surfaces if place.name != SHELF]
    known = {thing.name: thing for thing in site.objects}
    rng.shuffle(things)
    rng.shuffle(targets)
    jobs: list[Job] = []
    for kind in JOBS:
        for name, place in product(things, [places[SHELF]] if kind == "high" else targets):
            thing, top = known[name], place.appearance.known_size_m[2]
            area, unable = places[truth["objects"][name]["on"]].area, bodies.unable(thing, top)
            fits = bool(unable) is (kind != "plain") and len(bodies.unable(thing, top, ROOM_M)) < len(robots)
            if fits and area != place.area:
                jobs.append(Job(kind, Goal(name, "on", place.name), area, unable))
                things.remove(name)
                targets = [one for one in targets if one is not place]
                break
        else:
            return None
    rng.shuffle(jobs)
    return jobs


def _set_up(world: World, site: SiteFile, bodies: Bodies, robots: Sequence[str], seed: int) -> list[Job]:
    for tried in range(seed, seed + SEED_ATTEMPTS * 1_000_003, 1_000_003):
        if jobs := jobs_of(world.reset(tried), site, bodies, robots, Random(tried)):
            return jobs
    raise UnfitPlacementError(f"no placement has things for {', '.join(JOBS)} in {SEED_ATTEMPTS} seeds from {seed}")


def _play(api: OrchestratorClient, jobs: Sequence[Job]) -> list[tuple[TaskStatus | str, list[str]]]:
    """Submit all jobs at once; return how each has ended, or why it was refused, and which robots have begun it."""
    taken = [_submit(api, job) for job in jobs]
    return [(task, []) if isinstance(task, str) else _end(api, task) for task in taken]


def _play_team(api: OrchestratorClient, jobs: Sequence[Job], team: str) -> list[tuple[TaskStatus | str, list[str]]]:
    """Let a team do the jobs, two at a time; return how the task of each has ended, and which robots have begun it."""
    plain = iter([job for job in jobs if job.kind == "plain"])
    ended: dict[str, tuple[TaskStatus | str, list[str]]] = {}
    for job in (one for one in jobs if one.kind != "plain"):
        pair = [job, next(plain)]
        carried = [f"the {one.goal.object} from the {one.area} on the {one.goal.target}" for one in pair]
        task = TaskSubmission(sentence=f"Put {' and '.join(carried)}.", team=team, timeout_s=TASK_TIMEOUT_S)
        status = api.submit(task)
        end, _ = _end(api, status)
        begun = parts_of_team(api.events(status.task.task_id))
        for one in pair:
            action = f"move({one.goal.object}, {one.area}, {one.goal.target})"
            ended[one.goal.object] = end, [robot for robot, tasks in begun.items() if action in tasks.values()]
    return [ended[job.goal.object] for job in jobs]


def _submit(api: OrchestratorClient, job: Job) -> TaskStatus | str:
    try:
        return api.submit(TaskSubmission(sentence=job.sentence, timeout_s=TASK_TIMEOUT_S))
    except RefusedError as error:
        return str(error)


def _end(api: OrchestratorClient, status: TaskStatus) -> tuple[TaskStatus, list[str]]:
    task = status.task.task_id
    while (status := api.task(task)).state not in TERMINAL:
        time.sleep(POLL_S)
    begun = any(isinstance(one.event, SkillRequested) for one in api.events(task))
    return status, [status.task.robot] if begun else []


def _row(seed: int, job: Job, end: TaskStatus | str, begun_by: list[str], truth: Truth) -> dict[str, Any]:
    report = None if isinstance(end, str) else end.report
    return {
        "seed": seed,
        "kind": job.kind,
        "task": job.goal.object if isinstance(end, str) else end.task.task_id,
        "object": job.goal.object,
        "target": job.goal.target,
        "unable": sorted(job.unable),
        "begun_by": begun_by,
        "done": not isinstance(end, str) and end.state is State.SUCCEEDED and job.goal.met(truth),
        "summary": end if isinstance(end, str) else report.summary if report else "",
        "sentence": job.sentence,
    }
