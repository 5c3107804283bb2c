"""Motions of the simulated robot in real time, and when they were commanded to end.

The robot is watched over rosbridge, as a client of its own: the status of the action's goals and the guard's state.
Both are published after the command has been taken, so that every figure is an upper bound.
"""

import asyncio
import math
import random
import time
from dataclasses import dataclass
from typing import Any

from quartet_robot_link import BridgeLink, Message
from quartet_robot_link.link import LATCHED

EXECUTING, CANCELING, SUCCEEDED, CANCELED, ABORTED = 2, 3, 4, 5, 6
"""action_msgs/msg/GoalStatus."""
WAIT_S = 30.0
LOOK_FORWARD = (0.0, -0.243, -2.829, -0.798, 1.562)
"""The arm's first five joints [rad] as they are when the base drives."""

CORNERS = ((-1.6, -1.6), (1.6, 1.6))
"""Free places of the studio [m, map] that are far apart, so that a drive between them is not over at once."""
HALF_OPEN_M = 0.04
ACTIONS = ("/spin", "/navigate_to_pose", "/move_action", "/robotiq_gripper_controller/gripper_cmd")
"""Those of all motions."""


@dataclass(frozen=True)
class Motion:
    """A tool call that moves the robot for some seconds."""

    server: str
    tool: str
    arguments: dict[str, Any]
    action: str
    longest_s: float
    """Latest moment of the stop after the start of the motion [s]."""

    @property
    def scope(self) -> str:
        """Name of the tool in a grant."""
        return f"{self.server}__{self.tool}"


def draw_motion(dice: random.Random) -> Motion:
    """Return a turn of the base or, one time in four, of the wrist."""
    return wrist(dice) if dice.random() < 0.25 else turn(dice)


def wrist(dice: random.Random) -> Motion:
    """Return a turn of the arm's last joint."""
    joints = [*LOOK_FORWARD, dice.choice((3.0, -3.0))]
    return Motion("moveit", "plan_and_execute", {"target": {"joint_positions": joints}}, "/move_action", 0.3)


def turn(dice: random.Random) -> Motion:
    """Return a turn of the base on the spot."""
    return Motion("nav2", "spin_robot", {"angle": dice.choice((12.0, -12.0))}, "/spin", 2.0)


def drive(x: float, y: float) -> Motion:
    """Return a drive of the base to the one of CORNERS that is farther from where it is [m, map]."""
    goal = max(CORNERS, key=lambda corner: math.dist(corner, (x, y)))
    return Motion("nav2", "navigate_to_pose", {"x": goal[0], "y": goal[1], "yaw": 0.0}, "/navigate_to_pose", 2.0)


def grip(width_m: float) -> Motion:
    """Return the motion of the gripper that is possible when it is open by `width_m` [m]: closing, or opening."""
    tool = "close_gripper" if width_m > HALF_OPEN_M else "open_gripper"
    return Motion("moveit", tool, {}, "/robotiq_gripper_controller/gripper_cmd", 0.05)


class MotionWatch:
    """Watches goals and guard; times are time.monotonic() of this process."""

    def __init__(self, link: BridgeLink, actions: tuple[str, ...]) -> None:
        self.running: dict[str, bool] = {}
        self.ended_at: float | None = None
        """When the last running goal was first seen canceling, or over without success."""
        self.lapsed = False
        """Whether the guard ended the last running motion for lack of heartbeats."""
        self._news = asyncio.Event()
        self._subscriptions = [
            link.subscribe(
                f"{action}/_action/status",
                "action_msgs/msg/GoalStatusArray",
                qos=LATCHED,
                on_message=lambda message, action=action: self._status(action, message),
            )
            for action in actions
        ]
        self._subscriptions.append(
            link.subscribe(
                "/robot_guard/state", "diagnostic_msgs/msg/DiagnosticStatus", qos=LATCHED, on_message=self._guard
            )
        )

    def close(self) -> None:
        """Close the subscriptions."""
        for subscription in self._subscriptions:
            subscription.close()

    async def wait_begun(self, action: str, call: "asyncio.Future[Any]") -> bool:
        """Wait until a goal of `action` runs; return False when the call ended without one."""
        return await self._until(lambda: self.running.get(action, False) or call.done()) and self.running[action]

    async def wait_ended(self) -> float | None:
        """Return when the motion was commanded to end; None when it ended by itself, or not within WAIT_S."""
        await self._until(lambda: self.ended_at is not None or not any(self.running.values()))
        return self.ended_at

    async def _until(self, condition: Any) -> bool:
        end = time.monotonic() + WAIT_S
        while not condition():
            self._news.clear()
            try:
                async with asyncio.timeout(max(0.01, min(0.2, end - time.monotonic()))):
                    await self._news.wait()
            except TimeoutError:
                if time.monotonic() > end:
                    return False
        return True

    def _status(self, action: str, message: Message) -> None:
        newest = message["status_list"][-1]["status"] if message["status_list"] else None
        running = newest == EXECUTING
        if running and not self.running.get(action):
            self.ended_at, self.lapsed = None, False
        elif self.running.get(action) and newest in {CANCELING, CANCELED, ABORTED}:
            self.ended_at = time.monotonic()
        self.running[action] = running
        self._news.set()

    def _guard(self, message: Message) -> None:
        self.lapsed = self.lapsed or str(message["message"]).startswith("heartbeat lapsed")
        self._news.set()
