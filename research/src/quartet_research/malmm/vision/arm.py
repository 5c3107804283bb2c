"""The arm at its table for a team that is told what its cameras see."""

import asyncio

from quartet_deployment import project_root
from quartet_research.malmm.arm import TabletopArm
from quartet_research.malmm.vision.catalogue import make_catalogue
from quartet_research.malmm.vision.sight import Sight
from quartet_sandbox import FunctionError
from quartet_simulation.tabletop import Tabletop, TabletopError
from quartet_simulation.tabletop.sensors import TableSensors
from quartet_simulation.tabletop.world import START
from quartet_site import RobotFile, load_robot
from quartet_teams.malmm import state_text

SENSORS = "typical"
Look = tuple[tuple[float, float, float], float]
LOOKS = (((0.15, 0.25, 1.2), 0.0), ((0.15, -0.25, 1.2), 0.0), START)
"""Where the hand looks round at first: position [m] and yaw [rad]; it ends where every episode begins."""
FURTHER_LOOKS = (((0.1, 0.42, 1.2), 0.0), ((0.1, 0.05, 1.2), 0.0), ((0.1, -0.42, 1.2), 0.0), ((0.3, 0.3, 1.2), 0.0))
"""Where it looks as long as a thing of the catalogue was not seen."""
ABOVE_M, MOST_Z = 0.3, 1.2
"""Height of the hand over what the front camera alone has seen, to look at it, and the greatest over the floor [m]."""


def robot_file() -> RobotFile:
    """Return what is known of the arm and its gripper."""
    return load_robot(project_root() / "deploy" / "sites" / "tabletop" / "robot.yaml")


class SeeingArm(TabletopArm):
    """A `TabletopArm` whose state comes from the cameras and from the arm's own sensors.

    Args:
        world: the episode; nothing but its sensors is read.
        seed: of the sensors' errors.
        sensors: their level.
    """

    def __init__(self, world: Tabletop, seed: int, sensors: str = SENSORS) -> None:
        super().__init__(world)
        self._sensors = TableSensors(world, sensors, seed)
        self.sight = Sight(self._sensors, make_catalogue(world.layout.things), robot_file())
        for at, look in enumerate(LOOKS):
            self._look_from(look, ("arm",) if at < len(LOOKS) - 1 else ("arm", "front"))
        moved = False
        for look in FURTHER_LOOKS:
            if self.sight.unseen:
                moved = self._look_from(look, ("arm",)) or moved
        for one in self.sight.doubtful:
            x, y, _ = one.position
            moved = self._look_from(((x, y, min(one.top + ABOVE_M, MOST_Z)), 0.0), ("arm",)) or moved
        if moved:
            self._look_from(LOOKS[-1], ("arm", "front"))
        self.sight.looked_round()

    def _look_from(self, look: Look, cameras: tuple[str, ...]) -> bool:
        """Take pictures from a place of the hand; return False where it does not get there."""
        try:
            self.world.execute_trajectory(*look)
        except TabletopError:
            return False
        self.sight.look(cameras)
        return True

    def close(self) -> None:
        """Free the cameras."""
        self._sensors.close()

    def _hand(self) -> tuple[tuple[float, float, float], float]:
        return self.sight.hand, self.sight.hand_yaw

    def state(self) -> str:
        """Return the state by what is known from the pictures."""
        return state_text(self.sight.objects(), self.sight.hand, self.sight.held)

    def _new_state(self) -> str:
        self.sight.look()
        return self.state()

    async def _close_gripper(self, object_name: str) -> None:
        if object_name not in self.sight.things:
            raise FunctionError(f"there is no object {object_name!r}; objects: {', '.join(self.sight.things)}")
        await self._do(self.world.close_fingers)
        await asyncio.to_thread(self.sight.closed)

    async def _task_completed(self) -> str:
        """Take the claim where what the cameras and the gripper have told does not speak against it."""
        if unsure := self.sight.unsure:
            raise FunctionError(f"not confirmed: {'; '.join(unsure)}; look at it from above before you claim")
        return await super()._task_completed()
