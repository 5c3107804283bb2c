"""The guard on the ROS graph: stop service, state, heartbeats, and the robot's own reports."""

import math
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from quartet_bringup.errors import ParameterError
from quartet_bringup.guard.brakes import RosBrakes
from quartet_bringup.guard.parameters import Parameters, stopped_actions
from quartet_bringup.guard.velocity import VelocityGate
from quartet_bringup.robot_file import RobotNames, read_robot_file
from quartet_safety.guard import LOOK_PERIOD_S, NODE, Guard, LatchFile

DRIVER_TOPIC = "/cmd_vel_gated"
"""Where the base's driver listens, behind the gate."""


class RobotGuardNode(Node):
    """Adapter of `quartet_safety.guard` to ROS 2.

    Raises:
        ParameterError: a parameter cannot be used.
        RobotFileError: robot.yaml cannot be used.
    """

    def __init__(self) -> None:
        super().__init__(NODE, automatically_declare_parameters_from_overrides=True)
        parameters = Parameters(self)
        self.any_rclpy = parameters.value("allow_old_rclpy", False) is True
        names = read_robot_file(Path(parameters.text("robot_file", "")))
        stamped = parameters.one_of("velocity_type", "twist", ("twist", "twist_stamped")) == "twist_stamped"
        driver_topic = parameters.text("velocity_topic", DRIVER_TOPIC)
        commands = parameters.text("velocity_input_topic", names.topics["velocity"], empty=True)
        if commands == driver_topic:
            raise ParameterError(
                f"velocity_input_topic: '{commands}' is the driver's own topic, past which velocities would reach it; "
                "remap the driver and name its topic in velocity_topic, or say velocity_input_topic: '' to do without "
                "the gate"
            )
        if not commands:
            self.get_logger().warning(f"velocities on {driver_topic} do not pass the guard: velocity_input_topic is ''")
        self._brakes = RosBrakes(
            self,
            stopped_actions(names, parameters.value("more_actions", [""]) or []),
            (driver_topic, stamped),
            commands,
            names.frames["base"],
            parameters.text("hold_trajectory_topic", "", empty=True),
            positions=lambda: self.guard.arm_positions(),
            holding=lambda: self.guard.holding,
            inherited=lambda action, running: self.guard.inherited(action, running=running),
        )
        self.guard = Guard(
            self._brakes,
            LatchFile(parameters.latch_path(names.name)),
            parameters.seconds("heartbeat_timeout", names.heartbeat_timeout_s),
            names.arm_joints,
            ros_time=lambda: self.get_clock().now().nanoseconds / 1e9,
            on_change=self._publish,
        )
        self.http = (parameters.text("http_host", "127.0.0.1"), parameters.port("http_port", 9091))
        self._gate = VelocityGate(parameters.seconds("velocity_timeout", 0.5))
        parameters.refuse_unknown()
        self._listen(names, commands, stamped)
        latched = QoSProfile(
            depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
        )
        self._state = self.create_publisher(DiagnosticStatus, names.topics["guard_state"], latched)
        self.create_service(Trigger, names.services["guard_stop"], self._on_stop)
        self.create_timer(LOOK_PERIOD_S, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.guard.start()

    def _listen(self, names: RobotNames, commands: str, stamped: bool) -> None:
        self.create_subscription(
            Header, names.topics["guard_heartbeat"], lambda beat: self.guard.beat(beat.frame_id), 100
        )
        self.create_subscription(Odometry, names.topics["odom"], self._on_odometry, qos_profile_sensor_data)
        self.create_subscription(JointState, names.topics["joint_states"], self._on_joints, qos_profile_sensor_data)
        if commands:
            kind, handler = (TwistStamped, self._on_stamped) if stamped else (Twist, self._on_velocity)
            self.create_subscription(kind, commands, handler, 10)

    def _look(self) -> None:
        self.guard.look()
        if not self.guard.holding and self._gate.stale(self._now()):
            self._brakes.halt_base()

    def _on_stop(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        answer.success, answer.message = True, self.guard.stop("stop service called")
        return answer

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
            # To the driver alone: a zero among the commands would come back here.
            self._brakes.drive(Twist())

    def _publish(self) -> None:
        status = self.guard.status
        self._state.publish(
            DiagnosticStatus(
                level=bytes([status.level]),
                name=NODE,
                message=status.reason,
                values=[KeyValue(key=key, value=value) for key, value in status.values().items()],
            )
        )

    def _now(self) -> float:
        return Clock(clock_type=ClockType.STEADY_TIME).now().nanoseconds / 1e9
