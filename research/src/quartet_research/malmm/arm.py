"""The arm at its table for a team: each program runs in the sandbox and reaches the four functions only."""

import asyncio

from quartet_sandbox import FunctionError, Limits, run_program
from quartet_simulation.tabletop import TABLE_Z, WORKSPACE, Tabletop, TabletopError
from quartet_teams.malmm import Execution, Facts, StateObject, state_text

SAFE_M, RELEASE_M = 0.1, 0.02
"""Of the paper's prompts."""
COMPLETED = "The task is completed; no further program is run."
LIMITS = Limits()


class TabletopArm:
    """An `Arm` of quartet_teams over an episode of the simulated table.

    Args:
        world: the episode.
    """

    def __init__(self, world: Tabletop) -> None:
        self.world = world
        self._completed = False

    @property
    def instruction(self) -> str:
        """The task, as a person says it."""
        return self.world.instruction

    @property
    def facts(self) -> Facts:
        """Numbers for the prompts."""
        hand, yaw = self._hand()
        x_range, y_range = WORKSPACE
        return Facts(
            table_z=TABLE_Z,
            x_range=x_range,
            y_range=y_range,
            safe_m=SAFE_M,
            release_m=RELEASE_M,
            hand_position=(round(hand[0], 4), round(hand[1], 4), round(hand[2], 4)),
            hand_yaw=round(yaw, 4),
        )

    @property
    def completed(self) -> bool:
        """Whether a program has called task_completed()."""
        return self._completed

    def _hand(self) -> tuple[tuple[float, float, float], float]:
        """Return where the hand is [m] and its yaw [rad]."""
        return self.world.hand, self.world.hand_yaw

    def close(self) -> None:
        """Free what the arm has opened: nothing here."""

    def state(self) -> str:
        """Return the state by ground truth, as the paper's `state` observation has it."""
        world = self.world
        told = [
            StateObject(thing.name, world.position(thing.name), world.turns(thing.name), thing.extents, thing.colour)
            for thing in world.things.values()
            if thing.told
        ]
        return state_text(told, world.hand, world.held)

    async def execute(self, code: str) -> Execution:
        """Run a program. What it printed, and where it succeeded the new state; else its error text alone."""
        functions = {
            "execute_trajectory": self._execute_trajectory,
            "open_gripper": self._open_gripper,
            "close_gripper": self._close_gripper,
            "task_completed": self._task_completed,
        }
        result = await run_program(code, functions, LIMITS)
        if result.exit_code:
            return Execution(result.exit_code, result.output)
        return Execution.succeeded(result.output, self._new_state())

    def _new_state(self) -> str:
        """Return the state after a program."""
        return self.state()

    async def _execute_trajectory(self, position: list[float], yaw: float) -> None:
        try:
            x, y, z = (float(value) for value in position)
            turn = float(yaw)
        except (TypeError, ValueError, OverflowError):
            raise FunctionError(
                f"execute_trajectory(position, yaw): position {position!r} must be three numbers and yaw {yaw!r} one"
            ) from None
        await self._do(self.world.execute_trajectory, (x, y, z), turn)

    async def _open_gripper(self) -> None:
        await self._do(self.world.open_gripper)

    async def _close_gripper(self, object_name: str) -> None:
        await self._do(self.world.close_gripper, object_name)

    async def _task_completed(self) -> str:
        self._completed = True
        return COMPLETED

    async def _do(self, motion: object, *arguments: object) -> None:
        """Run a motion in a thread. Raises FunctionError with the arm's error, which the program caused."""
        if self._completed:
            raise FunctionError(COMPLETED)
        try:
            await asyncio.to_thread(motion, *arguments)  # type: ignore[arg-type]
        except TabletopError as error:
            raise FunctionError(str(error)) from None
