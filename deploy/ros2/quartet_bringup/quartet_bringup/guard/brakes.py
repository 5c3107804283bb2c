"""How the guard acts on base and arm over ROS 2. The gripper is left alone."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import Twist, TwistStamped
from rclpy.client import Client
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from rclpy.time import Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

ACTIVE = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING)
CANCEL_PATIENCE_S = 1.0
"""Until a cancel without an answer is given up."""
HOLD_WITHIN_S = 0.2
"""Time that the arm gets for coming to rest where it is."""


@dataclass
class _Request:
    """A cancel that has not been answered yet."""

    answer: Future
    at: float


class RosBrakes:
    """Brakes of a robot on the ROS graph.

    Args:
        node: publishers, clients and subscriptions are made on it.
        actions: names of the actions whose goals are cancelled.
        velocity: the driver's topic, and whether it takes TwistStamped.
        commands: topic on which velocities come in, for the gate; empty: there is no gate.
        base_frame: frame of stamped velocities.
        hold_topic: of a JointTrajectoryController; empty: cancelling its goals holds the arm.
        positions: returns the positions of the arm's joints [rad], nothing where they do not report.
        holding: returns whether the robot is held; a goal that begins then is cancelled at once.
        inherited: told of an action whether goals run that began before this node did.
    """

    def __init__(
        self,
        node: Node,
        actions: Iterable[str],
        velocity: tuple[str, bool],
        commands: str,
        base_frame: str,
        hold_topic: str,
        positions: Callable[[], dict[str, float]],
        holding: Callable[[], bool],
        inherited: Callable[[str, bool], None],
    ) -> None:
        self._node, self._positions, self._holding, self._inherited = node, positions, holding, inherited
        self._began = node.get_clock().now()
        self._base_frame = base_frame
        self._driver, self._stamped = velocity
        self._commands = commands
        kind = TwistStamped if self._stamped else Twist
        self._velocity = node.create_publisher(kind, self._driver, 10)
        self._beside = node.create_publisher(kind, commands, 10) if commands else None
        self._hold = node.create_publisher(JointTrajectory, hold_topic, 1) if hold_topic else None
        self._cancels: dict[str, Client] = {}
        self._requests: dict[str, _Request] = {}
        self._requesting = threading.Lock()
        latched = QoSProfile(
            depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
        )
        for action in actions:
            self._cancels[action] = node.create_client(CancelGoal, f"{action}/_action/cancel_goal")
            node.create_subscription(GoalStatusArray, f"{action}/_action/status", self._watcher_of(action), latched)

    def halt_base(self) -> None:
        """Command the base to stand: also past the gate, while no driver listens behind it."""
        self.drive(Twist())
        if self._beside is not None and self._nobody_behind_the_gate():
            self._beside.publish(self._message(Twist()))

    def hold_arm(self) -> bool:
        """Send the arm's controller a trajectory that ends where the arm is; False: its joints do not report yet."""
        if self._hold is None:
            return True
        positions = self._positions()
        if not positions:
            self._node.get_logger().error(
                "the arm's joints do not report: so far it is held by cancelling its goals alone",
                throttle_duration_sec=5.0,
            )
            return False
        point = JointTrajectoryPoint(positions=list(positions.values()))
        point.time_from_start.nanosec = round(HOLD_WITHIN_S * 1e9)
        self._hold.publish(JointTrajectory(joint_names=list(positions), points=[point]))
        return True

    def cancel_goals(self, *, again: bool) -> None:
        """Ask every action server for the end of its goals; with `again` also those whose answer is to come."""
        for action in self._cancels:
            self._cancel(action, again=again)

    def drive(self, twist: Twist) -> None:
        """Command a velocity to the driver."""
        self._nobody_behind_the_gate()
        self._velocity.publish(self._message(twist))

    def _message(self, twist: Twist) -> Twist | TwistStamped:
        if not self._stamped:
            return twist
        stamped = TwistStamped(twist=twist)
        stamped.header.stamp = self._node.get_clock().now().to_msg()
        stamped.header.frame_id = self._base_frame
        return stamped

    def _nobody_behind_the_gate(self) -> bool:
        """Return whether there is a gate and no driver behind it, and tell so."""
        if self._beside is None or self._node.count_subscribers(self._driver):
            return False
        self._node.get_logger().error(
            f"nobody listens on {self._driver}, and the guard cannot block velocities on {self._commands}: remap the "
            f"base's driver to {self._driver}, or name its topic in velocity_topic",
            throttle_duration_sec=10.0,
        )
        return True

    def _cancel(self, action: str, *, again: bool) -> None:
        """Send the empty request that ends all goals of an action (action_msgs/srv/CancelGoal).

        A request that waits for its answer was sent before the goals of this moment: `again` sends another.
        """
        client = self._cancels[action]
        if not client.service_is_ready():
            return
        with self._requesting:
            request = self._requests.get(action)
            if request is not None and not request.answer.done():
                if not again and time.monotonic() - request.at < CANCEL_PATIENCE_S:
                    return
                client.remove_pending_request(request.answer)
            answer = client.call_async(CancelGoal.Request())
            self._requests[action] = _Request(answer, time.monotonic())
        answer.add_done_callback(lambda done: self._answered(action, done))

    def _answered(self, action: str, done: Future) -> None:
        response = done.result() if done.exception() is None else None
        if response is not None and response.return_code == CancelGoal.Response.ERROR_REJECTED:
            self._node.get_logger().error(f"{action} refuses to cancel its goals; asking again")

    def _watcher_of(self, action: str) -> Callable[[GoalStatusArray], None]:
        def watch(status: GoalStatusArray) -> None:
            active = [goal for goal in status.status_list if goal.status in ACTIVE]
            self._inherited(action, any(Time.from_msg(goal.goal_info.stamp) < self._began for goal in active))
            if self._holding() and active:
                self._cancel(action, again=True)

        return watch
