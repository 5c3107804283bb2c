"""The robot file: frames, topics, actions, arm, gripper, cameras and standoffs of one robot."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from quartet_site._section import Finite, Positive, Section, form
from quartet_site._simulated import Simulated
from quartet_site.errors import field_error

MOST_SHIFT_M, MOST_TURN_RAD = 0.1, 0.35
"""A camera that is mounted farther from where /tf has it needs another URDF, not a correction."""
RosName = Annotated[
    str,
    form(
        r"/?[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)*", "a ROS name of letters, digits and _, such as /arm/state"
    ),
]


def _websocket(url: str) -> str:
    """Return an address of a websocket. The error does not repeat it, since it may contain a password."""
    if not url.startswith(("ws://", "wss://")):
        raise field_error("it does not begin with ws:// or wss://; valid: ws://HOST:PORT or wss://HOST:PORT")
    return url


class Bridge(Section):
    """Where the robot's rosbridge listens."""

    url: Annotated[str, AfterValidator(_websocket)] = "ws://127.0.0.1:9090"
    call_timeout_s: Positive = 5.0
    """Wall time after which a service call without an answer has failed."""


class Frames(Section):
    """Names of the coordinate frames in /tf."""

    map: str = "map"
    odom: str = "odom"
    base: str = "base_footprint"
    tool: str = "arm_tool0"
    """The wrist flange that arm goals are given for; the fingers reach `gripper.finger_offset_m` beyond it along +z."""


class Actions(Section):
    """Names of the action servers."""

    navigate_to_pose: RosName = "/navigate_to_pose"
    follow_waypoints: RosName = "/follow_waypoints"
    compute_path_to_pose: RosName = "/compute_path_to_pose"
    spin: RosName = "/spin"
    drive_on_heading: RosName = "/drive_on_heading"
    backup: RosName = "/backup"
    wait: RosName = "/wait"
    dock_robot: RosName = "/dock_robot"
    undock_robot: RosName = "/undock_robot"
    move_group: RosName = "/move_action"
    execute_trajectory: RosName = "/execute_trajectory"
    gripper: RosName = "/robotiq_gripper_controller/gripper_cmd"

    TYPES: ClassVar[dict[str, str]] = {
        "navigate_to_pose": "nav2_msgs/action/NavigateToPose",
        "follow_waypoints": "nav2_msgs/action/FollowWaypoints",
        "compute_path_to_pose": "nav2_msgs/action/ComputePathToPose",
        "spin": "nav2_msgs/action/Spin",
        "drive_on_heading": "nav2_msgs/action/DriveOnHeading",
        "backup": "nav2_msgs/action/BackUp",
        "wait": "nav2_msgs/action/Wait",
        "dock_robot": "nav2_msgs/action/DockRobot",
        "undock_robot": "nav2_msgs/action/UndockRobot",
        "move_group": "moveit_msgs/action/MoveGroup",
        "execute_trajectory": "moveit_msgs/action/ExecuteTrajectory",
    }
    """Type of each of them, as released for ROS 2 Jazzy; that of `gripper` is the robot's (RobotFile.action_types)."""


class Services(Section):
    """Names of the services."""

    compute_ik: RosName = "/compute_ik"
    compute_fk: RosName = "/compute_fk"
    compute_cartesian_path: RosName = "/compute_cartesian_path"
    plan_kinematic_path: RosName = "/plan_kinematic_path"
    check_state_validity: RosName = "/check_state_validity"
    get_planning_scene: RosName = "/get_planning_scene"
    apply_planning_scene: RosName = "/apply_planning_scene"
    clear_octomap: RosName = "/clear_octomap"
    clear_global_costmap: RosName = "/global_costmap/clear_entirely_global_costmap"
    clear_local_costmap: RosName = "/local_costmap/clear_entirely_local_costmap"
    manage_navigation: RosName = "/lifecycle_manager_navigation/manage_nodes"
    guard_stop: RosName = "/robot_guard/stop"
    guard_reset: RosName = "/robot_guard/reset"
    """Of a guard that has one; that of deploy/ros2 is reset over its HTTP port alone. No model may call it."""

    TYPES: ClassVar[dict[str, str]] = {
        "compute_ik": "moveit_msgs/srv/GetPositionIK",
        "compute_fk": "moveit_msgs/srv/GetPositionFK",
        "compute_cartesian_path": "moveit_msgs/srv/GetCartesianPath",
        "plan_kinematic_path": "moveit_msgs/srv/GetMotionPlan",
        "check_state_validity": "moveit_msgs/srv/GetStateValidity",
        "get_planning_scene": "moveit_msgs/srv/GetPlanningScene",
        "apply_planning_scene": "moveit_msgs/srv/ApplyPlanningScene",
        "clear_octomap": "std_srvs/srv/Empty",
        "clear_global_costmap": "nav2_msgs/srv/ClearEntireCostmap",
        "clear_local_costmap": "nav2_msgs/srv/ClearEntireCostmap",
        "manage_navigation": "nav2_msgs/srv/ManageLifecycleNodes",
        "guard_stop": "std_srvs/srv/Trigger",
        "guard_reset": "std_srvs/srv/Trigger",
    }
    """Type of each of them, as released for ROS 2 Jazzy."""


class Topics(Section):
    """Names of the topics."""

    tf: RosName = "/tf"
    tf_static: RosName = "/tf_static"
    clock: RosName = "/clock"
    odom: RosName = "/odom"
    scan: RosName = "/scan"
    """sensor_msgs/msg/LaserScan; only shown, as are the next two."""
    map: RosName = "/map"
    """nav_msgs/msg/OccupancyGrid."""
    plan: RosName = "/plan"
    """nav_msgs/msg/Path: the way that Nav2 drives."""
    localisation: RosName = "/amcl_pose"
    """geometry_msgs/msg/PoseWithCovarianceStamped, of which the covariance is used; need not exist."""
    joint_states: RosName = "/joint_states"
    gripper_status: RosName = "/gripper/status"
    guard_state: RosName = "/robot_guard/state"
    guard_heartbeat: RosName = "/robot_guard/heartbeat"
    velocity: RosName = "/cmd_vel"
    """Where velocities for the base go: to the guard's gate, behind which the base's driver listens."""
    battery: RosName | None = None
    """sensor_msgs/msg/BatteryState, of a robot that publishes it; only shown."""


class Heartbeat(Section):
    """Heartbeats while the robot moves: from the caller to the server, from the server to the guard; wall time [s]."""

    every_s: Positive = 0.1
    caller_timeout_s: Positive = 0.45
    """The server ends the motion of a caller that is silent for longer."""
    guard_timeout_s: Positive = 0.4
    """The guard's `heartbeat_timeout`: the guard ends the motion of a server that is silent for longer."""

    @model_validator(mode="after")
    def _beats_fit_into_the_limits(self) -> "Heartbeat":
        for name in ("caller_timeout_s", "guard_timeout_s"):
            if getattr(self, name) < 2 * self.every_s:
                raise field_error(
                    f"{name} is {getattr(self, name):g}; valid: at least twice every_s ({self.every_s:g}), so that one "
                    "late beat stops nothing",
                    name,
                )
        return self


class Base(Section):
    """The mobile base and how it is driven."""

    holonomic: bool = False
    """Whether it drives sideways, as on mecanum or omni wheels: the motion model of AMCL in deploy/ros2."""
    footprint_radius_m: Positive = 0.48
    linear_speed_m_s: Positive = 0.5
    angular_speed_rad_s: Positive = 0.8
    navigation_timeout_s: Positive = 180.0
    """Motion time-outs are in ROS time (/clock)."""
    standstill_m_s: Positive = 0.01
    standstill_rad_s: Positive = 0.01
    """The base stands still while both speeds of topics.odom are below these."""


class Standoffs(Section):
    """Distance from base_footprint to the target at which the robot stops, by what it does next [m]."""

    look: Positive = 1.3
    """From nearer, a camera shows a part of a surface only."""
    pick: Positive = 0.85
    floor_place: Positive = 0.85
    container_place: Positive = 0.65
    surface_place: Positive = 0.45


class Approach(Section):
    """The drive-in to a target."""

    standoff_m: Standoffs = Standoffs()
    tolerance_m: Positive = 0.10
    """No drive-in when the distance is at most standoff + tolerance."""
    turn_threshold_deg: Positive = 8.0
    """Turn first when the bearing is over this."""
    minimum_drive_m: Positive = 0.20
    speed_m_s: Positive = 0.2
    spin_step_deg: Positive = 60.0
    spin_steps: Annotated[int, Field(ge=1, le=36)] = 8


class Arm(Section):
    """The arm: its joints, named states, reach and limits."""

    group: str = "manipulator"
    joints: Annotated[list[str], Field(min_length=1)]
    named_states: dict[str, list[Finite]]
    """Joint positions [rad] by name; `transit_state` is the one the arm drives with."""
    transit_state: str = "look_forward"
    tool_error_m: Annotated[float, Field(ge=0, le=0.1)] = 0.0015
    """How far the flange is from where it was sent, RMS on the floor plane: zero offsets of the joints."""
    reach_floor_m: Positive = 1.10
    """Horizontal reach from base_footprint of a pick at floor height."""
    reach_top_down_m: Positive = 0.90
    """Horizontal reach from base_footprint of a top-down placing at reach_top_down_height_m."""
    reach_top_down_height_m: Positive = 0.75
    """Height above the floor at which reach_top_down_m was measured: a table's. Between it and the floor the reach is
    interpolated."""
    joint_limit_rad: Positive = 6.2832
    """Largest angle of a joint goal, in both directions. The default is 360 degrees, the range of every UR joint."""
    at_rest_rad_s: Positive = 0.01
    """The arm is at rest while the speeds of all of its joints are at most this."""
    speed_scale: Annotated[float, Field(gt=0, le=1)] = 0.5
    motion_timeout_s: Positive = 30.0
    bounds_m: dict[str, Positive] = {}
    """Links from the foot to the flange, each with the radius of a bound of the arm: all of it lies within the radius
    of the boxes between the frame of a link and the next one, the last one's between flange and finger tips. With it,
    this arm moves together with another one of its place only where the bounds of both motions keep apart."""

    @model_validator(mode="after")
    def _states_fit_the_joints(self) -> "Arm":
        for index, name in enumerate(self.joints):
            if name in self.joints[:index]:
                raise field_error(
                    f"'{name}' is there twice; valid: each joint of the arm, from the foot to the flange",
                    "joints",
                    index,
                )
        for name, values in self.named_states.items():
            if len(values) != len(self.joints):
                raise field_error(
                    f"named state '{name}' has {len(values)} values, the arm has {len(self.joints)} joints",
                    "named_states",
                    name,
                )
        if self.transit_state not in self.named_states:
            known = ", ".join(sorted(self.named_states))
            raise field_error(f"'{self.transit_state}' is not a named state; valid: {known}", "transit_state")
        return self


LEAST_RANGE = 1e-3
"""Least difference of a gripper joint's two positions [rad or m]; the widths are computed with it."""


class Gripper(Section):
    """The parallel gripper: its links and joint, sizes [m] and what tells a held object."""

    links: list[str] = []
    """Its links in MoveIt's model, fingers and palm: they may touch what is held and, on straight paths, what the
    cameras see. Without them a straight path down to a thing leads into an obstacle where MoveIt has an octomap."""
    joint: str = "robotiq_140_finger_joint"
    """Its joint in /joint_states; the position runs from open_position to closed_position."""
    second_joint: str | None = None
    """Joint of the other finger, if each finger has a joint that moves by itself: the opening is the sum of both."""
    second_open_position: Finite | None = None
    second_closed_position: Finite | None = None
    """Positions of second_joint, fully open and fully closed; None: those of `joint`."""
    command: Literal[
        "GripperCommand",
        "ParallelGripperCommand",
        "SetBool",
        "Trigger",
        "Float64",
        "Float64MultiArray",
        "JointTrajectory",
    ] = "GripperCommand"
    """Type of what commands the gripper.

    GripperCommand of ros2_controllers' gripper_controllers, or ParallelGripperCommand of its successor
    parallel_gripper_controller, which also takes the effort where its `max_effort` interface is configured: the action
    actions.gripper. SetBool or Trigger: services, which open and close fully. Float64, Float64MultiArray or
    JointTrajectory: positions of the joints on a topic. Services and topics take no effort.
    """
    close_service: RosName | None = None
    """Service of a SetBool gripper, or the one that closes a Trigger gripper."""
    open_service: RosName | None = None
    """Service that opens a Trigger gripper."""
    close_data: bool = True
    """`data` of the SetBool request that closes; its opposite opens."""
    command_topic: RosName | None = None
    """Topic of a gripper that takes positions."""
    open_position: Finite = 0.0
    closed_position: Finite = 0.7
    """Positions of the joint and of a command, fully open and fully closed."""
    effort: Positive = 50.0
    """Force of a command that names none [N]."""
    max_effort_n: Positive = 235.0
    """Largest force that a command may name. The default is that of a Robotiq 2F-85 (instruction manual)."""
    at_rest_rad_s: Positive = 0.02
    """The fingers are at rest while the speed of their joint is at most this."""
    stroke_m: Positive = 0.14
    """Distance between the finger pads when fully open."""
    finger_offset_m: Positive = 0.14
    """Wrist flange (frames.tool) to finger tip along +z of the tool."""
    pad_width_m: Positive = 0.027
    """Extent of a finger across the closing direction."""
    finger_thickness_m: Positive = 0.018
    """Extent of a finger along the closing direction, pad included: the room it needs beside an object."""
    side_clearance_m: Positive = 0.006
    """Least gap between an open finger and the object on each side of it."""
    grasp_depth_m: Positive = 0.065
    """Furthest that the finger tips go below the top of an object: the palm stays clear of it."""
    tip_below_middle_m: Positive = 0.018
    """The finger tips go this far below half the object's height, so that the pads meet the widest part of a ball."""
    tip_clearance_m: Positive = 0.009
    """The finger tips stay this far above what the object stands on."""
    hand_radius_m: Positive = 0.13
    """The hand's own body lies within this of the tool's axis; what the camera sees there is no obstacle."""
    holding_min_effort_n: Positive = 5.0
    """Fingers that press at least this hard on something wider than holding_min_width_m hold it."""
    holding_min_width_m: Positive = 0.008
    """Below this width the fingers have closed on nothing."""
    touching_min_effort_n: Positive | None = None
    """Fingers that are half open and press at least this hard touch something; None: a tenth of holding_min_effort_n.

    In the simulated home things hang between fingers that press 0.8 N and more."""
    settle_timeout_s: Positive = 8.0

    @model_validator(mode="after")
    def _values_fit(self) -> "Gripper":
        if abs(self.open_position - self.closed_position) < LEAST_RANGE:
            raise field_error(
                f"open_position is {self.open_position:g} and closed_position {self.closed_position:g}; valid: the "
                f"joint's two positions that /joint_states shows with open and with closed fingers, at least "
                f"{LEAST_RANGE} apart",
                "closed_position",
            )
        if self.second_joint is not None:
            opened, closed = self.joint_ranges[self.second_joint]
            if self.second_joint == self.joint or abs(opened - closed) < LEAST_RANGE:
                raise field_error(
                    f"second_joint is '{self.second_joint}', from {opened:g} (open) to {closed:g} (closed); valid: "
                    f"another joint than '{self.joint}', with positions at least {LEAST_RANGE} apart",
                    "second_joint",
                )
        needed = self.COMMAND_NAMES.get(self.command, ())
        for name in ("close_service", "open_service", "command_topic"):
            value = getattr(self, name)
            if (value is not None) != (name in needed):
                raise field_error(
                    f"{name} is {value or 'missing'} and command {self.command}; valid: {self.command} with "
                    f"{' and '.join(needed) or 'actions.gripper'}",
                    name,
                )
        if self.holding_min_width_m >= self.stroke_m:
            raise field_error(
                f"holding_min_width_m is {self.holding_min_width_m:g}; valid: less than stroke_m ({self.stroke_m:g})",
                "holding_min_width_m",
            )
        if self.touching_effort_n > self.holding_min_effort_n:
            raise field_error(
                f"touching_min_effort_n is {self.touching_effort_n:g}; valid: at most holding_min_effort_n "
                f"({self.holding_min_effort_n:g})",
                "touching_min_effort_n",
            )
        for name in ("effort", "holding_min_effort_n"):
            if getattr(self, name) > self.max_effort_n:
                raise field_error(
                    f"{name} is {getattr(self, name):g}; valid: at most max_effort_n ({self.max_effort_n:g})", name
                )
        return self

    COMMAND_TYPES: ClassVar[dict[str, str]] = {
        "GripperCommand": "control_msgs/action/GripperCommand",
        "ParallelGripperCommand": "control_msgs/action/ParallelGripperCommand",
        "SetBool": "std_srvs/srv/SetBool",
        "Trigger": "std_srvs/srv/Trigger",
        "Float64": "std_msgs/msg/Float64",
        "Float64MultiArray": "std_msgs/msg/Float64MultiArray",
        "JointTrajectory": "trajectory_msgs/msg/JointTrajectory",
    }
    COMMAND_NAMES: ClassVar[dict[str, tuple[str, ...]]] = {
        "SetBool": ("close_service",),
        "Trigger": ("close_service", "open_service"),
        "Float64": ("command_topic",),
        "Float64MultiArray": ("command_topic",),
        "JointTrajectory": ("command_topic",),
    }
    """Fields that a command other than an action needs."""

    @property
    def command_type(self) -> str:
        """Full ROS type of `command`."""
        return self.COMMAND_TYPES[self.command]

    @property
    def command_kind(self) -> str:
        """`action`, `srv` or `msg`."""
        return self.command_type.split("/")[1]

    @property
    def services(self) -> list[str]:
        """Services that command the gripper."""
        return [name for name in (self.close_service, self.open_service) if name is not None]

    @property
    def joint_ranges(self) -> dict[str, tuple[float, float]]:
        """Positions of each finger joint, fully open and fully closed."""
        ranges = {self.joint: (self.open_position, self.closed_position)}
        if self.second_joint is not None:
            opened, closed = self.second_open_position, self.second_closed_position
            ranges[self.second_joint] = (
                self.open_position if opened is None else opened,
                self.closed_position if closed is None else closed,
            )
        return ranges

    def position_of(self, positions: Mapping[str, float]) -> float | None:
        """Return the position of `joint` at which both fingers together are as far apart as with `positions`.

        None if a finger joint is missing.
        """
        ranges = self.joint_ranges
        if not ranges.keys() <= positions.keys():
            return None
        shares = [(positions[name] - closed) / (opened - closed) for name, (opened, closed) in ranges.items()]
        return self.closed_position + (self.open_position - self.closed_position) * sum(shares) / len(shares)

    def positions_for(self, position: float) -> list[float]:
        """Return the position of each finger joint for a `position` of `joint`, in the order of joint_ranges."""
        share = (position - self.closed_position) / (self.open_position - self.closed_position)
        return [closed + share * (opened - closed) for opened, closed in self.joint_ranges.values()]

    @property
    def touching_effort_n(self) -> float:
        """touching_min_effort_n, or its default."""
        return self.touching_min_effort_n or self.holding_min_effort_n / 10

    def grasp_depth(self, height: float) -> float:
        """Return how far below the top of an object of that height the finger tips go [m]."""
        depth = min(height / 2 + self.tip_below_middle_m, height - self.tip_clearance_m, self.grasp_depth_m)
        return max(0.0, depth)

    def width_at(self, position: float) -> float:
        """Return the opening between the finger pads [m] at a position of the joint; linear, as the command is."""
        return self.stroke_m * (self.closed_position - position) / (self.closed_position - self.open_position)

    def position_at(self, width: float) -> float:
        """Return the position of the joint at which the finger pads are `width` [m] apart, the inverse of width_at."""
        return self.closed_position - (self.closed_position - self.open_position) * width / self.stroke_m


class Manipulation(Section):
    """Distances of the pick and place motions [m]."""

    pre_grasp_height_m: Positive = 0.20
    lift_height_m: Positive = 0.20
    pre_place_height_m: Positive = 0.15
    surface_clearance_m: Positive = 0.05
    container_clearance_m: Positive = 0.35
    """Height of the release above the rim of a container."""
    floor_drop_x_m: Positive = 0.40
    floor_drop_y_m: Finite = 0.0
    floor_drop_clearance_m: Positive = 0.05
    edge_inset_m: Positive = 0.15
    """Objects are put down this far inside the near edge of a wide surface."""


PASS_M = 0.02
"""Least height of the finger tips above an object that they pass over [m]. An arm may miss its target by 0.01 m
(quartet_moveit.arm.REACHED_M); the rest is for the height that a camera has measured."""
Shift = Annotated[float, Field(ge=-MOST_SHIFT_M, le=MOST_SHIFT_M)]
Turn = Annotated[float, Field(ge=-MOST_TURN_RAD, le=MOST_TURN_RAD)]


class Correction(Section):
    """How a camera is truly mounted, in its own optical frame as /tf has it: `quartet doctor --hand-eye` measures it.

    A point that the camera sees is turned, then moved, before it is transformed by /tf.
    """

    position_m: tuple[Shift, Shift, Shift] = (0.0, 0.0, 0.0)
    """x (right), y (down), z (ahead)."""
    rpy_rad: tuple[Turn, Turn, Turn] = (0.0, 0.0, 0.0)
    """Roll, pitch and yaw about its fixed x, y and z axis, as in URDF."""


class CalibrationError(Section):
    """How far a camera's mounting is known to be off, RMS of the whole vector, in what perception tells of certainty.

    The default is what a careful hand-eye calibration leaves: Tsai and Lenz (IEEE Trans. Robotics and Automation 5(3),
    1989), Horaud and Dornaika (IJRR 14(3), 1995).
    """

    position_m: Annotated[float, Field(ge=0, le=MOST_SHIFT_M)] = 0.003
    turn_rad: Annotated[float, Field(ge=0, le=MOST_TURN_RAD)] = 0.0052


class Camera(Section):
    """One RGB-D camera; depth is aligned to colour."""

    colour_topic: RosName
    """sensor_msgs/msg/CompressedImage, JPEG or PNG."""
    depth_topic: RosName
    """sensor_msgs/msg/Image 16UC1 [mm] or 32FC1 [m], or compressedDepth, png or rvl."""
    info_topic: RosName
    """sensor_msgs/msg/CameraInfo."""
    frame: str
    """Optical frame: x right, y down, z forward."""
    correction: Correction = Correction()
    calibration_error: CalibrationError = CalibrationError()


class Cameras(Section):
    """The two cameras: on the mast or base, and on the wrist."""

    front: Camera
    arm: Camera


class RobotFile(Section):
    """robot.yaml, whole."""

    name: Annotated[
        str,
        form("[a-z][a-z0-9_]{0,31}", "at most 32 lower-case letters, digits and _, the first a letter, as in arm_1"),
    ]
    description: str = ""
    bridge: Bridge = Bridge()
    frames: Frames = Frames()
    topics: Topics = Topics()
    actions: Actions = Actions()
    services: Services = Services()
    heartbeat: Heartbeat = Heartbeat()
    base: Base = Base()
    approach: Approach = Approach()
    arm: Arm
    gripper: Gripper = Gripper()
    manipulation: Manipulation = Manipulation()
    cameras: Cameras
    simulation: Simulated | None = None
    """How the simulation builds this robot; None: as the one of the home, or it is a real one."""

    @model_validator(mode="after")
    def _images_differ(self) -> "RobotFile":
        for name, camera in (("front", self.cameras.front), ("arm", self.cameras.arm)):
            if camera.colour_topic == camera.depth_topic:
                raise field_error(
                    f"'{camera.depth_topic}' is colour_topic as well; valid: the topic of the aligned depth image",
                    "cameras",
                    name,
                    "depth_topic",
                )
        return self

    @model_validator(mode="after")
    def _gripper_has_names_of_its_own(self) -> "RobotFile":
        """Every bridge client may write what commands the gripper, so the guard's and other names are not valid."""
        names = {"topics": self.topics.model_dump(), "services": self.services.model_dump()}
        used = {
            name.lstrip("/"): f"{section}.{field}"
            for section, fields in names.items()
            for field, name in fields.items()
            if name is not None
        }
        for field in ("close_service", "open_service", "command_topic"):
            name = getattr(self.gripper, field)
            if name is not None and (other := used.get(name.lstrip("/"))):
                raise field_error(
                    f"'{name}' is {other} as well; valid: a name that only the gripper's driver has", "gripper", field
                )
        return self

    @property
    def action_types(self) -> dict[str, str]:
        """Type of each action of `actions` that the robot has, by field."""
        gripper = {"gripper": self.gripper.command_type} if self.gripper.command_kind == "action" else {}
        return {**self.actions.TYPES, **gripper}

    def hanging_m(self, height_m: float) -> float:
        """Return the distance from the flange to the underside of an object of a height that it holds [m]."""
        return self.gripper.finger_offset_m + height_m - self.gripper.grasp_depth(height_m)

    def release_m(self, height_m: float, *, into: bool) -> float:
        """Return the height of the flange above a top, or `into` a container above its rim, for the release [m]."""
        above = self.hanging_m(height_m) + self.manipulation.surface_clearance_m
        # The reference clearance is for objects as long as the fingers; taller ones must clear the rim as well.
        return max(self.manipulation.container_clearance_m, above) if into else above
