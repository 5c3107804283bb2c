"""The arm of a robot for a team that writes programs: the executor runs them, the cameras tell the state."""

import math
from collections.abc import Awaitable, Callable

from quartet_contracts import ArmScene, ExecutorArguments, ExecutorCode, ExecutorResult, SceneObject, Skill, State
from quartet_contracts.skills import MAX_PROGRAM
from quartet_orchestrator.errors import TaskAbortedError
from quartet_orchestrator.recovery import AttemptOutcome
from quartet_site import RobotSetup
from quartet_teams.malmm import Execution, Facts, StateObject, state_text

AXES = "x points forward from the robot, y to its left, z up; z is 0 on the floor"
MOVED_M = 0.03
"""An object that is so far from where it was has been moved; a camera errs by less."""

ASKED_BEFORE = (
    "PROGRAM_REFUSED: this very program was refused before, and nobody is asked about it again. It did not run. Do it "
    "in another way, or not at all."
)
"""Told of a program that is proposed again after a no."""

Call = Callable[[ExecutorArguments], Awaitable[AttemptOutcome]]
"""Makes one request to the executor, or returns what the journal has of it."""


class RobotArm:
    """An `Arm` of quartet_teams over one robot; `look` comes before everything else."""

    def __init__(self, sentence: str, setup: RobotSetup, call: Call) -> None:
        self._sentence = sentence
        self._setup = setup
        self._call = call
        self._surfaces = {surface.name for surface in setup.site.surfaces}
        self._completed = False
        self._refused: set[str] = set()
        """Programs that a person did not allow."""
        self._first: ArmScene | None = None
        self._scene: ArmScene | None = None
        self._stood: dict[str, tuple[float, float, float]] = {}
        """Where each object was told first [m]: at the start, or when a camera showed it for the first time."""

    async def look(self) -> None:
        """Read the state at the start. Raises TaskAbortedError, also where the policy lets no program run."""
        if self._setup.programs == "deny":
            raise TaskAbortedError("The policy of this site (programs: deny) lets no program run.")
        outcome = await self._call(ExecutorArguments())
        result = outcome.result
        if not isinstance(result, ExecutorResult) or result.scene is None:
            raise TaskAbortedError(f"The state of the arm cannot be told: {result.error_code}: {result.reason}")
        self._first = result.scene
        self._take_in(result.scene)

    def _take_in(self, scene: ArmScene) -> None:
        self._scene = scene
        for one in scene.objects:
            if one.name not in self._surfaces:
                self._stood.setdefault(one.name, one.position)

    @property
    def scene(self) -> ArmScene:
        """The state as it was told last."""
        assert self._scene is not None
        return self._scene

    @property
    def refused(self) -> int:
        """Number of programs that were not allowed."""
        return len(self._refused)

    @property
    def instruction(self) -> str:
        """The task, as a person says it."""
        return self._sentence

    @property
    def completed(self) -> bool:
        """Whether a program has called task_completed()."""
        return self._completed

    @property
    def facts(self) -> Facts:
        """Numbers for the prompts, of the robot's file and of what stands before it."""
        robot, scene = self._setup.robot, self._first
        assert scene is not None
        reach = robot.arm.reach_top_down_m
        x, y, z = (round(value, 4) for value in scene.hand_position)
        return Facts(
            table_z=round(self._table_z(scene), 4),
            x_range=(0.0, reach),
            y_range=(-reach, reach),
            safe_m=robot.manipulation.pre_grasp_height_m,
            release_m=robot.manipulation.surface_clearance_m,
            hand_position=(x, y, z),
            hand_yaw=round(scene.hand_yaw, 4),
            axes=AXES,
        )

    def state(self) -> str:
        """Return the state as text."""
        told = [
            StateObject(one.name, one.position, (0.0, 0.0, one.yaw), one.size_m, one.colour, _note(one))
            for one in self.scene.objects
        ]
        return state_text(told, self.scene.hand_position, self.scene.held)

    async def execute(self, code: str) -> Execution:
        """Have a program run. Raises TaskAbortedError where nothing more can be done with this robot."""
        if len(code) > MAX_PROGRAM:
            return Execution(1, f"The program has {len(code)} characters; at most {MAX_PROGRAM} are allowed.")
        if code in self._refused:
            return Execution(1, ASKED_BEFORE)
        outcome = await self._call(ExecutorArguments(code=code, before=self._scene))
        result = outcome.result
        assert isinstance(result, ExecutorResult)
        if result.scene is not None:
            self._take_in(result.scene)
        if result.success:
            self._completed = result.completed
            return Execution.succeeded(result.output, self.state())
        lost = outcome.settled is not None and outcome.settled.state is State.UNCERTAIN
        if result.withdrawn or lost or result.error_code is ExecutorCode.NO_CONFINEMENT:
            raise TaskAbortedError(f"The {Skill.EXECUTOR} ended with {result.error_code}: {result.reason}")
        if result.error_code is ExecutorCode.PROGRAM_REFUSED:
            self._refused.add(code)
        return Execution(1, result.output.strip() or f"{result.error_code}: {result.reason}")

    def moved(self) -> dict[str, float]:
        """Return how far each object is from where it was told first [m], those alone that have been moved."""
        now = {one.name: one.position for one in self.scene.objects}
        away = {name: math.dist(now[name], self._stood[name]) for name in now.keys() & self._stood.keys()}
        return {name: away[name] for name in sorted(away) if away[name] > MOVED_M}

    def inside(self) -> dict[str, str]:
        """Return what was let go over a container and is not seen since, with the container's name."""
        return {one.name: one.inside for one in self.scene.objects if one.inside}

    def unsure(self) -> list[str]:
        """Return what was let go or lost and is not seen since."""
        return [one.name for one in self.scene.objects if one.unsure]

    def _table_z(self, scene: ArmScene) -> float:
        """Return the height of the nearest surface in view, 0 for the floor [m]."""
        seen = [one for one in scene.objects if one.name in self._surfaces]
        nearest = min(seen, key=lambda one: math.hypot(*one.position[:2]), default=None)
        return 0.0 if nearest is None else nearest.position[2] + nearest.size_m[2] / 2


def _note(one: SceneObject) -> str:
    if one.inside:
        return f"let go over the {one.inside}, it is taken to be inside; it has not been seen since"
    return "let go or lost near this position and not seen since; it may be elsewhere" if one.unsure else ""
