"""The guard on the ROS graph: services, state, heartbeats, the robot's own reports, and the brakes."""

import math
import os
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from quartet_bringup.guard.actions import BadParameter, stopped_actions
from quartet_bringup.guard.brakes import Brakes
from quartet_bringup.guard.guard import Guard
from quartet_bringup.guard.heartbeats import names_source
from quartet_bringup.guard.latch import LatchFile
from quartet_bringup.guard.state import NAME, RUNNING, State
from quartet_bringup.guard.velocity import VelocityGate
from quartet_bringup.robot_file import RobotNames, read_robot_file

LOOK_PERIOD_S = 0.02


class RobotGuardNode(Node):
    """Raises BadParameter, and RobotFileError for a robot file that cannot be used."""

    def __init__(self) -> None:
        super().__init__(NAME, automatically_declare_parameters_from_overrides=True)
        self._known: set[str] = {"use_sim_time", "start_type_description_service"}
        self.any_rclpy = self._parameter("allow_old_rclpy", False) is True
        names = read_robot_file(Path(self._text("robot_file", "")))
        self.guard = Guard(
            LatchFile(self._latch_path(names.name)),
            self._seconds("heartbeat_timeout", names.heartbeat_timeout_s),
            names.arm_joints,
            ros_time=lambda: self.get_clock().now().nanoseconds / 1e9,
        )
        self.http = (self._text("http_host", "127.0.0.1"), self._whole("http_port", 9091))
        self._gate = VelocityGate(self._seconds("velocity_timeout", 0.5))
        stamped = self._one_of("velocity_type", "twist", ("twist", "twist_stamped")) == "twist_stamped"
        driver_topic = self._text("velocity_topic", "/cmd_vel")
        self._brakes = Brakes(
            self,
            stopped_actions(names, self._parameter("more_actions", [""]) or []),
            (driver_topic, stamped),
            names.frames["base"],
            self._text("hold_trajectory_topic", "", empty=True),
            self.guard.arm_positions,
            lambda: self.guard.holding,
        )
        self._listen(names, stamped, driver_topic)
        self._refuse_unknown()
        latched = QoSProfile(
            depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
        )
        self._state = self.create_publisher(DiagnosticStatus, names.topics["guard_state"], latched)
        self.create_service(Trigger, names.services["guard_stop"], self._on_stop)
        self.create_service(Trigger, names.services["guard_reset"], self._on_reset)
        self.create_timer(LOOK_PERIOD_S, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        if self.guard.holding:
            self.get_logger().error(f"stopped since before this start: {self.guard.state.reason}")
            self._brakes.halt()
        self._publish()

    @property
    def state(self) -> State:
        return self.guard.state

    def stop(self, reason: str) -> str:
        """Stop the robot and latch, from any thread. What to tell whoever asked."""
        self.guard.stop(reason)
        asked = self._brakes.halt()
        self._publish()
        problem = self.guard.keep()
        self.get_logger().error(f"stopped: {reason}; {asked} action servers asked to end their goals")
        return "stopped; latched until reset" + (f"; but {problem}" if problem else "")

    def reset(self) -> str:
        """Let the robot move again, from any thread. What to tell whoever asked."""
        was = self.guard.reset()
        self._publish()
        problem = self.guard.keep()
        if was:
            self.get_logger().warning("reset: the robot may move again")
        return ("reset" if was else "was not stopped") + (f"; but {problem}" if problem else "")

    def leave(self) -> bool:
        """Before the guard ends: whoever still moves the robot would do so unwatched. True: the robot was halted."""
        if not self.guard.heartbeats.sources:
            return False
        self.get_logger().error("the guard ends while the robot moves: halted")
        self._brakes.halt()
        return True

    def _listen(self, names: RobotNames, stamped: bool, driver_topic: str) -> None:
        self.create_subscription(Header, names.topics["guard_heartbeat"], self._on_heartbeat, 100)
        self.create_subscription(Odometry, names.topics["odom"], self._on_odometry, qos_profile_sensor_data)
        self.create_subscription(JointState, names.topics["joint_states"], self._on_joints, qos_profile_sensor_data)
        commands = self._text("velocity_input_topic", "", empty=True)
        if commands == driver_topic:
            raise BadParameter(f"velocity_input_topic: '{commands}' is the driver's own topic; name another, or none")
        if commands:
            kind, handler = (TwistStamped, self._on_stamped) if stamped else (Twist, self._on_velocity)
            self.create_subscription(kind, commands, handler, 10)

    def _look(self) -> None:
        look = self.guard.look()
        if look.halt:
            self._brakes.halt()
        elif self.guard.holding:
            self._brakes.keep(resting=self.guard.state.standstill is True)
        elif self._gate.stale(self._now()):
            self._brakes.zero()
        if look.changed:
            self._publish()

    def _on_stop(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        answer.success, answer.message = True, self.stop("stop service called")
        return answer

    def _on_reset(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        answer.success, answer.message = True, self.reset()
        return answer

    def _on_heartbeat(self, beat: Header) -> None:
        if self.guard.beat(beat.frame_id):
            self._publish()
        if not names_source(beat.frame_id):
            self.get_logger().warning(
                f"not a heartbeat: frame_id '{beat.frame_id[:80]}' is not <server>:<motion id>",
                throttle_duration_sec=5.0,
            )

    def _on_odometry(self, odometry: Odometry) -> None:
        twist = odometry.twist.twist
        self.guard.odometry(math.hypot(twist.linear.x, twist.linear.y), twist.angular.z)

    def _on_joints(self, joints: JointState) -> None:
        self.guard.joints(list(joints.name), list(joints.position), list(joints.velocity))

    def _on_stamped(self, stamped: TwistStamped) -> None:
        self._on_velocity(stamped.twist)

    def _on_velocity(self, twist: Twist) -> None:
        linear, angular = twist.linear, twist.angular
        components = (linear.x, linear.y, linear.z, angular.x, angular.y, angular.z)
        if self._gate.passes(components, held=self.guard.holding, now=self._now()):
            self._brakes.drive(twist)
        else:
            self._brakes.zero()

    def _publish(self) -> None:
        state = self.guard.state
        lapsed = DiagnosticStatus.OK if state.reason == RUNNING else DiagnosticStatus.WARN
        self._state.publish(
            DiagnosticStatus(
                level=DiagnosticStatus.ERROR if state.latched else lapsed,
                name=NAME,
                message=state.reason,
                values=[KeyValue(key=key, value=value) for key, value in state.values().items()],
            )
        )

    def _now(self) -> float:
        return Clock(clock_type=ClockType.STEADY_TIME).now().nanoseconds / 1e9

    # --- parameters ---------------------------------------------------------------------------------
    def _latch_path(self, robot: str) -> Path:
        chosen = self._text("latch_file", "", empty=True)
        home = Path(os.environ.get("ROS_HOME") or Path.home() / ".ros")
        return Path(chosen) if chosen else home / f"quartet_robot_guard_{robot}.json"

    def _parameter(self, name: str, default: Any) -> Any:
        self._known.add(name)
        if not self.has_parameter(name):
            self.declare_parameter(name, default)
        return self.get_parameter(name).value

    def _refuse_unknown(self) -> None:
        """A misspelt parameter would leave its default in force without a word."""
        given = self.list_parameters([], 0).names
        unknown = sorted(name for name in given if name not in self._known and not name.startswith("qos_overrides."))
        if unknown:
            raise BadParameter(
                f"there is no parameter {', '.join(unknown)}; there are {', '.join(sorted(self._known))}"
            )

    def _text(self, name: str, default: str, *, empty: bool = False) -> str:
        value = self._parameter(name, default)
        if not isinstance(value, str) or not (value or empty):
            raise BadParameter(f"{name}: '{value}' cannot be used; give a text, such as {name}:=...")
        return value

    def _seconds(self, name: str, default: float) -> float:
        value = self._parameter(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.05 <= value <= 60:
            raise BadParameter(f"{name}: {value} cannot be used; 0.05 to 60 [s] are valid")
        return float(value)

    def _whole(self, name: str, default: int) -> int:
        value = self._parameter(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 65535:
            raise BadParameter(f"{name}: {value} cannot be used; 0 (any free port) to 65535 are valid")
        return value

    def _one_of(self, name: str, default: str, valid: tuple[str, ...]) -> str:
        value = self._text(name, default)
        if value not in valid:
            raise BadParameter(f"{name}: '{value}' cannot be used; {' or '.join(valid)} are valid")
        return value
