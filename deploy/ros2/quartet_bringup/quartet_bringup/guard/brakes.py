"""How the guard brings base and arm to a standstill and keeps them there. The gripper is nobody's business here."""

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
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

ACTIVE = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING)
BRAKING_PERIOD_S, RESTING_PERIOD_S = 0.05, 0.5
"""Between two zero velocities: while the robot brakes, and while it rests."""
CANCEL_PERIOD_S, CANCEL_PATIENCE_S = 0.5, 1.0
"""Between two rounds of cancels while the robot brakes; and until a cancel without an answer is given up."""
HOLD_WITHIN_S = 0.2
"""Time that the arm gets for coming to rest where it is."""


@dataclass
class _Asked:
    """A cancel whose answer is to come."""

    answer: Future
    at: float


class Brakes:
    """`halt` is for any thread, the rest for the node's executor.

    actions: names whose goals are cancelled. velocity: the driver's topic and whether it takes TwistStamped.
    hold_topic: of a JointTrajectoryController, or empty. positions: the arm's joints as they are [rad], or nothing.
    """

    def __init__(
        self,
        node: Node,
        actions: Iterable[str],
        velocity: tuple[str, bool],
        base_frame: str,
        hold_topic: str,
        positions: Callable[[], dict[str, float]],
        holding: Callable[[], bool],
    ) -> None:
        self._node, self._positions, self._holding = node, positions, holding
        self._base_frame = base_frame
        topic, self._stamped = velocity
        self._velocity = node.create_publisher(TwistStamped if self._stamped else Twist, topic, 10)
        self._hold = node.create_publisher(JointTrajectory, hold_topic, 1) if hold_topic else None
        self._cancels: dict[str, Client] = {}
        self._asked: dict[str, _Asked] = {}
        self._asking = threading.Lock()
        latched = QoSProfile(
            depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
        )
        for action in actions:
            self._cancels[action] = node.create_client(CancelGoal, f"{action}/_action/cancel_goal")
            node.create_subscription(GoalStatusArray, f"{action}/_action/status", self._watcher_of(action), latched)
        self._last_zero = self._last_cancel = -1e9
        self._hold_due = False

    def halt(self) -> int:
        """Everything at once: base, arm, goals. How many action servers were asked."""
        self.zero()
        self._hold_due = self._hold is not None
        self._hold_arm()
        self._last_cancel = time.monotonic()
        return sum(self._cancel(action, again=True) for action in self._cancels)

    def keep(self, resting: bool) -> None:
        """To be called many times a second while the robot is held."""
        now = time.monotonic()
        if self._hold_due:
            self._hold_arm()
        if now - self._last_zero >= (RESTING_PERIOD_S if resting else BRAKING_PERIOD_S):
            self.zero()
        if now - self._last_cancel >= CANCEL_PERIOD_S * (4 if resting else 1):
            self._last_cancel = now
            for action in self._cancels:
                self._cancel(action)

    def zero(self) -> None:
        """Command the base to stand."""
        self._last_zero = time.monotonic()
        self.drive(Twist())

    def drive(self, twist: Twist) -> None:
        """Command a velocity."""
        if self._stamped:
            stamped = TwistStamped(twist=twist)
            stamped.header.stamp = self._node.get_clock().now().to_msg()
            stamped.header.frame_id = self._base_frame
            self._velocity.publish(stamped)
        else:
            self._velocity.publish(twist)

    def _hold_arm(self) -> None:
        """Where the arm's controller takes it, a trajectory that ends where the arm is; its goals end as well.

        Once a halt, as soon as the joints report.
        """
        if self._hold is None:
            return
        positions = self._positions()
        if not positions:
            self._node.get_logger().error(
                "the arm's joints do not report: so far it is held by cancelling its goals alone",
                throttle_duration_sec=5.0,
            )
            return
        self._hold_due = False
        point = JointTrajectoryPoint(positions=list(positions.values()))
        point.time_from_start.nanosec = round(HOLD_WITHIN_S * 1e9)
        self._hold.publish(JointTrajectory(joint_names=list(positions), points=[point]))

    def _cancel(self, action: str, *, again: bool = False) -> bool:
        """Ask for the end of all goals of an action: an empty request (action_msgs/srv/CancelGoal).

        Not while an answer is to come, unless `again`: it was asked before the goals of this moment.
        """
        client = self._cancels[action]
        if not client.service_is_ready():
            return False
        with self._asking:
            asked = self._asked.get(action)
            if asked is not None and not asked.answer.done():
                if not again and time.monotonic() - asked.at < CANCEL_PATIENCE_S:
                    return True
                client.remove_pending_request(asked.answer)
            answer = client.call_async(CancelGoal.Request())
            self._asked[action] = _Asked(answer, time.monotonic())
        answer.add_done_callback(lambda done: self._answered(action, done))
        return True

    def _answered(self, action: str, done: Future) -> None:
        response = done.result() if done.exception() is None else None
        if response is not None and response.return_code == CancelGoal.Response.ERROR_REJECTED:
            self._node.get_logger().error(f"{action} refuses to cancel its goals; asking again")

    def _watcher_of(self, action: str) -> Callable[[GoalStatusArray], None]:
        def watch(status: GoalStatusArray) -> None:
            """A goal that begins while the robot is held ends at once."""
            if self._holding() and any(goal.status in ACTIVE for goal in status.status_list):
                self._cancel(action, again=True)

        return watch
