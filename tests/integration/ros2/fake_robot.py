"""A robot on the ROS graph for the guard's tests: base, arm and gripper that move as they are told, and report.

Runs in the environment of scripts/ros-env. Commands come as JSON lines on stdin, what happens goes out as JSON lines
on stdout. Started as: fake_robot.py COMMAND_TOPIC DRIVER_TOPIC twist|twist_stamped
"""

import json
import math
import os
import sys
import threading
import time
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from test_msgs.action import Fibonacci
from trajectory_msgs.msg import JointTrajectory

BASE_ACTIONS = ("/navigate_to_pose", "/spin")
ARM_ACTIONS = ("/move_action", "/arm_controller/follow_joint_trajectory")
GRIPPER = "/gripper_controller/gripper_cmd"
ARM_JOINTS = ("shoulder", "elbow")
PERIOD_S = 0.02
BEAT_S = 0.1
BRAKING_M_S2 = 1.0

_writing = threading.Lock()


def say(event: str, **fields: Any) -> None:
    with _writing:
        print(json.dumps({"event": event, "at": time.monotonic(), **fields}), flush=True)


class FakeRobot(Node):
    """Drives at the commanded speed until told another: its driver knows no time-out."""

    def __init__(self, command_topic: str, driver_topic: str, stamped: bool) -> None:
        super().__init__("fake_robot")
        self.lock = threading.Lock()
        self.wanted = self.speed = 0.0
        self.runaway = self.mute = False
        self.reported_at = 0.0
        self.arm = [0.1, 0.2]
        self.goals: dict[str, ServerGoalHandle] = {}
        self.finished: set[str] = set()
        self.beating: set[str] = set()
        self.driving: float | None = None
        group = ReentrantCallbackGroup()
        self.servers = [
            ActionServer(
                self,
                Fibonacci,
                action,
                lambda handle, action=action: self.run(action, handle),
                cancel_callback=lambda _, action=action: self.asked_to_cancel(action),
                callback_group=group,
            )
            for action in (*BASE_ACTIONS, *ARM_ACTIONS, GRIPPER)
        ]
        self.clients_of = {
            action: ActionClient(self, Fibonacci, action, callback_group=group)
            for action in (*BASE_ACTIONS, *ARM_ACTIONS, GRIPPER)
        }
        kind = TwistStamped if stamped else Twist
        self.stamped = stamped
        self.create_subscription(kind, driver_topic, self.commanded, 10, callback_group=group)
        self.command = self.create_publisher(kind, command_topic, 10)
        self.heartbeat = self.create_publisher(Header, "/robot_guard/heartbeat", 10)
        self.odometry = self.create_publisher(Odometry, "/odom", 10)
        self.joint_states = self.create_publisher(JointState, "/joint_states", 10)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(DiagnosticStatus, "/robot_guard/state", self.heard_state, latched)
        self.create_subscription(JointTrajectory, "/arm_controller/joint_trajectory", self.held, 10)
        self.services_of = {
            name: self.create_client(Trigger, f"/robot_guard/{name}", callback_group=group) for name in ("stop",)
        }
        self.create_timer(PERIOD_S, self.step)
        self.create_timer(BEAT_S, self.beat)

    # --- what moves ---------------------------------------------------------------------------------
    def run(self, action: str, handle: ServerGoalHandle) -> Fibonacci.Result:
        self.goals[action] = handle
        say("runs", action=action)
        while not handle.is_cancel_requested and action not in self.finished:
            time.sleep(PERIOD_S)
            if action in ARM_ACTIONS:
                with self.lock:
                    self.arm[0] += 0.5 * PERIOD_S
        del self.goals[action]
        if action in self.finished:
            self.finished.discard(action)
            handle.succeed()
        else:
            handle.canceled()
        return Fibonacci.Result()

    def asked_to_cancel(self, action: str) -> CancelResponse:
        say("cancel", action=action)
        return CancelResponse.ACCEPT

    def commanded(self, message: Twist | TwistStamped) -> None:
        x = message.twist.linear.x if self.stamped else message.linear.x
        if x != self.wanted or x == 0.0:
            say("driven", x=x)
        self.wanted = x

    def held(self, trajectory: JointTrajectory) -> None:
        say("held", joints=list(trajectory.joint_names), positions=list(trajectory.points[0].positions))

    def step(self) -> None:
        if not self.runaway:
            change = BRAKING_M_S2 * PERIOD_S
            self.speed += max(-change, min(change, self.wanted - self.speed))
        if self.mute:
            return
        odometry = Odometry()
        odometry.twist.twist.linear.x = self.speed
        self.odometry.publish(odometry)
        with self.lock:
            joints = JointState(name=[*ARM_JOINTS, "finger"], position=[*self.arm, 0.3])
        self.joint_states.publish(joints)
        self.reported_at = time.monotonic()

    def beat(self) -> None:
        for source in list(self.beating):
            self.heartbeat.publish(Header(frame_id=source))
        if self.driving is not None:
            twist = Twist()
            twist.linear.x = self.driving
            self.command.publish(TwistStamped(twist=twist) if self.stamped else twist)

    def heard_state(self, state: DiagnosticStatus) -> None:
        values = {item.key: item.value for item in state.values}
        say("state", name=state.name, reason=state.message, level=ord(state.level), values=values)

    # --- what it is told ----------------------------------------------------------------------------
    def do(self, order: dict[str, Any]) -> None:
        match order:
            case {"do": "goal", "action": str(action)}:
                self.clients_of[action].wait_for_server()
                self.clients_of[action].send_goal_async(Fibonacci.Goal()).add_done_callback(
                    lambda sent: self.sent(action, sent.result())
                )
            case {"do": "finish", "action": str(action)}:
                self.finished |= {action} & self.goals.keys()
            case {"do": "beat", "source": str(source)}:
                self.heartbeat.publish(Header(frame_id=source))
                self.beating.add(source)
            case {"do": "silence", "source": str(source)}:
                self.beating.discard(source)
            case {"do": "say", "frame_id": str(frame_id)}:
                self.heartbeat.publish(Header(frame_id=frame_id))
            case {"do": "drive", "x": x}:
                self.driving = x if x is None or isinstance(x, float) else math.nan
            case {"do": "mute", "on": bool(on)}:
                self.mute = on
            case {"do": "runaway", "on": bool(on)}:
                self.runaway = on
            case {"do": "call", "service": str(name)}:
                self.services_of[name].call_async(Trigger.Request()).add_done_callback(
                    lambda answer: say("answer", service=name, text=answer.result().message)
                )
            case {"do": "find", "service": str(name)}:
                known = [found for found, _ in self.get_service_names_and_types()]
                say("service", there=f"/robot_guard/{name}" in known)
            case {"do": "await_guard"}:
                self.await_guard()
            case {"do": "report"}:
                quiet_s = time.monotonic() - self.reported_at
                say("report", goals=sorted(self.goals), speed=self.speed, arm=self.arm, quiet_s=quiet_s)
            case _:
                raise ValueError(f"no such order: {order}")

    def sent(self, action: str, handle: Any) -> None:
        handle.get_result_async().add_done_callback(
            lambda done: say("result", action=action, status=done.result().status)
        )

    def await_guard(self) -> None:
        """Until the guard and this node have found each other."""
        ends = (self.heartbeat, self.command, self.odometry, self.joint_states)
        while not (
            all(client.service_is_ready() for client in self.services_of.values())
            and all(publisher.get_subscription_count() for publisher in ends)
        ):
            time.sleep(PERIOD_S)
        say("found")


def main() -> None:
    rclpy.init()
    robot = FakeRobot(sys.argv[1], sys.argv[2], sys.argv[3] == "twist_stamped")
    executor = MultiThreadedExecutor(num_threads=10)
    executor.add_node(robot)
    threading.Thread(target=executor.spin, daemon=True).start()
    say("started")
    for line in sys.stdin:
        robot.do(json.loads(line))
    # Nobody gives orders any more; the executor's threads wait for nothing else.
    os._exit(0)


if __name__ == "__main__":
    main()
