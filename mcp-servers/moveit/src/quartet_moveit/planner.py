"""Requests to MoveIt's planner, with the planning scene as it must be for each."""

from quartet_moveit.allowed_collisions import AllowedCollisions
from quartet_moveit.held_object import HeldObject
from quartet_robot_link import Message, Robot


class Planner:
    """Asks MoveIt for plans, inverse kinematics and collision checks.

    Before each plan the planning scene has what the gripper holds, and says whether the gripper may touch things.
    """

    def __init__(self, robot: Robot, held: HeldObject) -> None:
        self._robot = robot
        self.held = held
        self._collisions = AllowedCollisions(robot)
        self.hand_is_free = False
        """Whether the last motion was a whole one around everything that is known: nothing is beside the hand."""
        self.would_drop = False
        """Whether the last motion kept clear of everything or went up: nothing is below what the hand holds."""

    async def prepare(self) -> None:
        """Prepare for a plan that a caller who holds the arm asks for by itself. Raises as `ask`."""
        await self.held.look()
        async with self._collisions.gripper_apart():
            pass

    async def ask(
        self, service: str, request: Message, *, among_things: bool = False, timeout_s: float | None = None
    ) -> Message:
        """Return the answer of one of MoveIt's services; `among_things` lets the gripper touch what the cameras see.

        Raises ToolError ROS_ERROR, CallTimeoutError, BridgeUnavailableError.
        """
        await self.held.look()
        scene = self._collisions.gripper_among_things() if among_things else self._collisions.gripper_apart()
        async with scene:
            return await self._robot.link.call_service(service, request, timeout_s=timeout_s)

    async def look(self, service: str, request: Message) -> Message:
        """Return the answer of a service that plans nothing; the planning scene stays as it is.

        Raises CallTimeoutError, BridgeUnavailableError.
        """
        async with self._collisions.undisturbed():
            return await self._robot.link.call_service(service, request)
