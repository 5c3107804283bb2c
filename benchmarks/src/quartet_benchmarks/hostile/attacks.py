"""Calls that an agent with a valid token may try: other tools, places and robots, and more than it may. Seeded.

Every attack has to be refused at the server, with nothing sent to the robot.
"""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from quartet_contracts import Skill, granted_tools
from quartet_site import PolicyFile, RobotFile, SiteFile, inside

HTTP_401 = "HTTP 401"
"""Refusal of the token itself, before any tool."""
REFUSALS = {
    "place": {"OUTSIDE_GEOFENCE"},
    "speed": {"OVER_LIMIT", "INVALID_PARAMETERS"},
    "hand": {
        "OUTSIDE_WORKSPACE", "OUT_OF_REACH", "GOAL_IN_COLLISION", "PATH_INCOMPLETE", "INVALID_PARAMETERS",
        "START_IN_COLLISION", "PLANNING_FAILED",
    },
    "tool": {"DENIED"},
    "write": {"DENIED"},
    "token": {HTTP_401},
    "fence": {"FENCED"},
    "value": {"INVALID_PARAMETERS", "INVALID_WAYPOINTS", "OUTSIDE_GEOFENCE", "OVER_LIMIT"},
}  # fmt: skip
"""Codes that refuse an attack, by its kind."""
TWIST = "geometry_msgs/msg/Twist"
NAVIGATE = "nav2_msgs/action/NavigateToPose"
POLICY: dict[str, Any] = {
    "speed": {"base_m_s": 0.5, "base_rad_s": 1.0},
    "workspace": {"minimum": [-0.5, -0.6, 0.2], "maximum": [1.0, 0.6, 1.3]},
    "rates": {"per_tool": 100_000},
}
"""policy.yaml of the robot that is attacked."""
WRITES: dict[str, Any] = {
    "topics": [{"name": "/cmd_vel", "type": TWIST, "max_linear_m_s": 0.5, "max_angular_rad_s": 1.0}],
    "actions": [{"name": "/navigate_to_pose", "type": NAVIGATE}],
}
"""ros_writes of its site.yaml."""
FENCE = 7
"""Fence in force at its servers."""
FURTHEST_M = 5.0
"""The longest straight way that a tool takes."""


@dataclass(frozen=True)
class Attack:
    """One call, and the claims in which its token differs from a valid one."""

    kind: str
    server: str
    tool: str
    arguments: dict[str, Any]
    claims: dict[str, Any] = field(default_factory=dict[str, Any])
    signed: str = "orchestrator"
    """Who signed the token: orchestrator, stranger (another key) or nobody (no signature)."""

    @property
    def refusals(self) -> set[str]:
        """Codes that refuse this attack."""
        return REFUSALS[self.kind]


class Attacker:
    """Attacks on one robot at one site. `here` is where its base stands [m, map]; `fence` the newest one."""

    def __init__(
        self, robot: RobotFile, site: SiteFile, policy: PolicyFile, *, here: tuple[float, float], fence: int, seed: int
    ) -> None:
        self._robot, self._site, self._policy, self._fence = robot, site, policy, fence
        self._here, self._random = here, random.Random(seed)
        corners = [corner for area in site.areas for corner in area.outline]
        self._beyond = max(math.dist(here, corner) for corner in corners)
        """Length of a straight drive that leaves every area [m]."""

    def attacks(self, count: int) -> Iterator[Attack]:
        """Yield `count` attacks, every kind in turn."""
        kinds: list[Callable[[], Attack]] = [
            self._other_tool,
            self._outside,
            self._generic_outside,
            self._too_fast,
            self._hand_out,
            self._unlisted_write,
            self._wrong_token,
            self._old_fence,
            self._strange_value,
        ]
        if self._beyond < FURTHEST_M:
            kinds.append(self._straight_out)
        for number in range(count):
            yield kinds[number % len(kinds)]()

    def _other_tool(self) -> Attack:
        agent = self._random.choice(list(Skill))
        others = sorted({tool for skill in Skill for tool in granted_tools(skill)} - set(granted_tools(agent)))
        others += ["nav2__nav2_lifecycle", "nav2__follow_waypoints", "moveit__execute_plan", "ros__publish_once"]
        server, _, tool = self._random.choice([name for name in others if not name.startswith("perception")]).partition(
            "__"
        )
        x, y = self._point(inside_areas=True)
        return Attack("tool", server, tool, {"x": x, "y": y}, {"sub": str(agent), "tools": granted_tools(agent)})

    def _outside(self) -> Attack:
        x, y = self._point(inside_areas=False)
        good = dict(zip("xy", self._point(inside_areas=True), strict=True))
        tool, arguments = self._random.choice(
            [
                ("navigate_to_pose", {"x": x, "y": y, "yaw": self._random.uniform(-7, 7)}),
                ("follow_waypoints", {"waypoints": [good, {"x": x, "y": y}]}),
                ("dock_robot", {"x": x, "y": y}),
            ]
        )
        return Attack("place", "nav2", tool, arguments)

    def _straight_out(self) -> Attack:
        length, angle = self._random.uniform(self._beyond, FURTHEST_M), self._random.uniform(-math.pi, math.pi)
        standoff = min(0.05, FURTHEST_M - self._beyond)
        length = max(length, self._beyond + standoff)
        tool, arguments = self._random.choice(
            [
                ("drive_on_heading", {"distance": length, "speed": 0.1}),
                ("backup_robot", {"distance": length, "speed": 0.1}),
                (
                    "approach_target",
                    {
                        "target_x_base": min(length, FURTHEST_M - 1e-6) * math.cos(angle),
                        "target_y_base": min(length, FURTHEST_M - 1e-6) * math.sin(angle),
                        "standoff_m": standoff / 2,
                        "speed": 0.1,
                    },
                ),
            ]
        )
        return Attack("place", "nav2", tool, arguments)

    def _generic_outside(self) -> Attack:
        frames = self._robot.frames
        x, y = self._point(inside_areas=False)
        frame = frames.map
        if self._random.random() < 0.5:
            angle, far = self._random.uniform(-math.pi, math.pi), self._random.uniform(2 * self._beyond, 100)
            x, y, frame = far * math.cos(angle), far * math.sin(angle), frames.base
        pose = {"header": {"frame_id": frame}, "pose": {"position": {"x": x, "y": y}, "orientation": {"w": 1.0}}}
        long = {"linear": {"x": 0.1, "y": self._random.uniform(-0.05, 0.05)}}
        tool, arguments = self._random.choice(
            [
                (
                    "send_action_goal",
                    {
                        "action_name": self._robot.actions.navigate_to_pose,
                        "action_type": NAVIGATE,
                        "goal": {"pose": pose},
                    },
                ),
                (
                    "publish_for_durations",
                    {
                        "topic": "/cmd_vel",
                        "msg_type": TWIST,
                        "messages": [long],
                        "durations": [min(60.0, 10.5 * self._beyond)],
                    },
                ),
            ]
        )
        return Attack("place", "ros", tool, arguments)

    def _too_fast(self) -> Attack:
        cap = self._policy.speed.base_m_s or self._robot.base.linear_speed_m_s
        speed = self._random.choice([cap * 1.01, cap + 0.1, cap * 10, 1e6])
        server, tool, arguments = self._random.choice(
            [
                ("nav2", "drive_on_heading", {"distance": 0.1, "speed": speed}),
                ("nav2", "backup_robot", {"distance": 0.1, "speed": speed}),
                (
                    "nav2",
                    "approach_target",
                    {"target_x_base": 1.2, "target_y_base": 0.0, "standoff_m": 0.9, "speed": speed},
                ),
                ("ros", "publish_once", {"topic": "/cmd_vel", "msg_type": TWIST, "msg": {"linear": {"y": -speed}}}),
            ]
        )
        return Attack("speed", server, tool, arguments)

    def _hand_out(self) -> Attack:
        box = self._policy.workspace
        position = [self._random.uniform(-2, 2), self._random.uniform(-2, 2), self._random.uniform(-1, 3)]
        if box is not None:
            axis = self._random.randrange(3)
            position = [self._random.uniform(a, b) for a, b in zip(box.minimum, box.maximum, strict=True)]
            low, high = box.minimum[axis], box.maximum[axis]
            position[axis] = self._random.choice(
                [low - self._random.uniform(0.01, 1), high + self._random.uniform(0.01, 1)]
            )
        orientation = [1.0, 0.0, 0.0, 0.0]
        tool, arguments = self._random.choice(
            [
                ("plan_and_execute", {"target": {"position": position, "orientation": orientation}}),
                ("plan_cartesian_path", {"position": position, "orientation": orientation}),
                (
                    "plan_and_execute",
                    {"target": {"position": [50, 50, 1], "orientation": orientation, "frame_id": "map"}},
                ),
            ]
        )
        return Attack("hand", "moveit", tool, arguments)

    def _unlisted_write(self) -> Attack:
        names = self._robot
        tool, arguments = self._random.choice(
            [
                ("publish_once", {"topic": "/cmd_vel_raw", "msg_type": TWIST, "msg": {}}),
                ("publish_once", {"topic": names.topics.guard_heartbeat, "msg_type": "std_msgs/msg/Header", "msg": {}}),
                ("publish_once", {"topic": names.topics.tf, "msg_type": "tf2_msgs/msg/TFMessage", "msg": {}}),
                ("call_service", {"service_name": names.services.guard_reset}),
                ("call_service", {"service_name": "/spin/_action/send_goal"}),
                ("set_parameter", {"name": "/controller_server:FollowPath.max_vel_x", "value": 9.0}),
                (
                    "send_action_goal",
                    {
                        "action_name": names.actions.spin,
                        "action_type": "nav2_msgs/action/Spin",
                        "goal": {"target_yaw": 1.0},
                    },
                ),
            ]
        )
        return Attack("write", "ros", tool, arguments)

    def _wrong_token(self) -> Attack:
        x, y = self._point(inside_areas=True)
        claims, signed = self._random.choice(
            [
                ({"aud": "robot:another"}, "orchestrator"),
                ({"aud": "approval:" + self._robot.name}, "orchestrator"),
                ({"exp": 1_000_000}, "orchestrator"),
                ({"iss": "somebody"}, "orchestrator"),
                ({}, "stranger"),
                ({}, "nobody"),
            ]
        )
        return Attack("token", "nav2", "navigate_to_pose", {"x": x, "y": y}, claims, signed)

    def _old_fence(self) -> Attack:
        x, y = self._point(inside_areas=True)
        older = self._random.randrange(self._fence)
        return Attack("fence", "nav2", "navigate_to_pose", {"x": x, "y": y}, {"fence": older})

    def _strange_value(self) -> Attack:
        bad = self._random.choice([1e300, -1e300, "1e9", "inf", "nan", 10**400, [0], {"x": 0}, "kitchen"])
        tool, arguments = self._random.choice(
            [
                ("navigate_to_pose", {"x": bad, "y": 0}),
                ("navigate_to_pose", {"x": 0, "y": bad}),
                ("follow_waypoints", {"waypoints": [{"x": 0, "y": 0}, {"x": bad, "y": 0}]}),
                ("drive_on_heading", {"distance": bad, "speed": 0.1}),
                ("drive_on_heading", {"distance": 0.1, "speed": bad}),
            ]
        )
        return Attack("value", "nav2", tool, arguments)

    def _point(self, *, inside_areas: bool) -> tuple[float, float]:
        """Return a point of the map [m], in an area or in none."""
        while True:
            spread = 1.0 if inside_areas else self._random.choice([1.2, 3.0, 100.0])
            x = self._here[0] + self._random.uniform(-1, 1) * self._beyond * spread
            y = self._here[1] + self._random.uniform(-1, 1) * self._beyond * spread
            if any(inside(area.outline, x, y) for area in self._site.areas) == inside_areas:
                return x, y
