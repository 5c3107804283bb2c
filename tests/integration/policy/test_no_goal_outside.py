"""Whatever a tool that moves the base is told, no goal that it sends ends outside the geofence."""

import asyncio
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quartet_nav2
import quartet_ros
from quartet_tool_server import ToolError

ROOM, PIT = (-1.5, -1.2, 1.5, 1.2), (0.4, -0.4, 0.9, 0.4)
"""x, y of two corners: where the base may be sent, and a hole in it."""
EDGE = 0.02
"""Half of this is how far a pose may be off between the test's reading and the server's."""
EXAMPLES = 25


def rectangle(x1, y1, x2, y2):
    return [[x1, y1], [x2, y1], [x2, y2], [x1, y2]]


POLICY = {
    "geofence": {
        "areas": [],
        "zones": [{"name": "room", "outline": rectangle(*ROOM)}],
        "forbidden": [{"name": "pit", "outline": rectangle(*PIT)}],
        "docks": {"in": {"x": 1.0, "y": 1.0}, "out": {"x": 3.0, "y": 1.0}},
    },
    "rates": {"per_tool": 100_000},
}
WRITES = {
    "topics": [
        {"name": "/cmd_vel", "type": "geometry_msgs/msg/Twist", "max_linear_m_s": 1.0, "max_angular_rad_s": 2.0},
    ],
    "actions": [
        {"name": f"/{name}", "type": f"nav2_msgs/action/{kind}"}
        for name, kind in [
            ("navigate_to_pose", "NavigateToPose"),
            ("follow_waypoints", "FollowWaypoints"),
            ("drive_on_heading", "DriveOnHeading"),
            ("backup", "BackUp"),
        ]
    ],
}
lengths = st.floats(0.01, 5.0)
coordinates = st.floats(-3, 3)
points = st.fixed_dictionaries({"x": coordinates, "y": coordinates, "yaw": st.floats(-7, 7)})


def ros(name, kind, goal):
    return "send_action_goal", {"action_name": f"/{name}", "action_type": f"nav2_msgs/action/{kind}", "goal": goal}


def stamped(point, frame):
    pose = {"position": {"x": point["x"], "y": point["y"]}, "orientation": {"w": 1.0}}
    return {"header": {"frame_id": frame}, "pose": pose}


frames = st.sampled_from(["map", "odom", "base_footprint", "/map", "front_camera_color_optical_frame"])
CALLS = {
    "navigate": (quartet_nav2, points.map(lambda p: ("navigate_to_pose", p))),
    "waypoints": (
        quartet_nav2,
        st.lists(points, min_size=1, max_size=4).map(lambda p: ("follow_waypoints", {"waypoints": p})),
    ),
    "drive": (quartet_nav2, lengths.map(lambda d: ("drive_on_heading", {"distance": d, "speed": 0.2}))),
    "backup": (quartet_nav2, lengths.map(lambda d: ("backup_robot", {"distance": d, "speed": 0.2}))),
    "spin": (quartet_nav2, st.floats(-12, 12).map(lambda a: ("spin_robot", {"angle": a}))),
    "approach": (
        quartet_nav2,
        st.tuples(coordinates, coordinates, st.floats(0.1, 2)).map(
            lambda v: ("approach_target", {"target_x_base": v[0], "target_y_base": v[1], "standoff_m": v[2]})
        ),
    ),
    "dock": (
        quartet_nav2,
        st.one_of(
            points.map(lambda p: ("dock_robot", p)),
            st.sampled_from(["in", "out", "elsewhere"]).map(lambda name: ("dock_robot", {"dock_id": name})),
            st.just(("undock_robot", {})),
        ),
    ),
    "generic": (
        quartet_ros,
        st.one_of(
            st.tuples(points, frames).map(
                lambda v: ros("navigate_to_pose", "NavigateToPose", {"pose": stamped(*v)})
            ),
            st.lists(st.tuples(points, frames), min_size=1, max_size=3).map(
                lambda v: ros("follow_waypoints", "FollowWaypoints", {"poses": [stamped(*item) for item in v]})
            ),
            st.tuples(st.floats(-5, 5), st.floats(-2, 2), st.floats(-1, 1)).map(
                lambda v: ros("drive_on_heading", "DriveOnHeading", {"target": {"x": v[0], "y": v[1]}, "speed": v[2]})
            ),
            st.tuples(st.floats(-5, 5), st.floats(-1, 1)).map(
                lambda v: ros("backup", "BackUp", {"target": {"x": v[0]}, "speed": v[1]})
            ),
        ),
    ),
}  # fmt: skip


def allowed(x, y):
    """Independent of the code under test: two rectangles."""
    within = ROOM[0] - EDGE < x < ROOM[2] + EDGE and ROOM[1] - EDGE < y < ROOM[3] + EDGE
    hole = PIT[0] + EDGE < x < PIT[2] - EDGE and PIT[1] + EDGE < y < PIT[3] - EDGE
    return within and not hole


async def ends(robot, kind, goal):
    """Where a goal that was sent would bring the base, in the map."""
    kind = kind.rsplit("/", 1)[-1]
    if kind in {"NavigateToPose", "FollowWaypoints"}:
        poses = [goal["pose"]] if kind == "NavigateToPose" else goal["poses"]
        for pose in poses:
            found = await robot.transform("map", pose["header"]["frame_id"].lstrip("/"))
            at = pose["pose"]["position"]
            x, y, _ = found.apply((at["x"], at["y"], 0.0))
            yield x, y
        return
    here = await robot.base_pose()
    if kind == "DockRobot":
        dock = {"in": (1.0, 1.0), "out": (3.0, 1.0)}.get(goal["dock_id"])
        at = goal.get("dock_pose", {}).get("pose", {}).get("position", {})
        yield dock or (at["x"], at["y"])
        return
    dx, dy = 0.0, 0.0
    if kind in {"DriveOnHeading", "BackUp"}:
        dx, dy = goal["target"]["x"], goal["target"].get("y", 0.0)
        if kind == "BackUp" or goal["speed"] < 0:
            dx = -abs(dx)
    elif kind == "UndockRobot":
        dx = -1.0
    else:
        assert kind == "Spin", kind
    yield (
        here.x + math.cos(here.yaw) * dx - math.sin(here.yaw) * dy,
        here.y + math.sin(here.yaw) * dx + math.cos(here.yaw) * dy,
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CALLS)
async def test_no_goal_that_is_sent_ends_outside(serve, sent, robot, name):
    package, calls = CALLS[name]
    server = await serve(package, POLICY, writes=WRITES if package is quartet_ros else None)
    loop = asyncio.get_running_loop()
    seen = {"sent": 0, "refused": 0}

    async def try_out(tool, arguments):
        sent.goals.clear()
        result = await server.call(tool, arguments)
        for _, kind, goal in sent.goals:
            async for x, y in ends(robot, kind, goal):
                assert allowed(x, y), (tool, arguments, (x, y))
        seen["sent"] += bool(sent.goals)
        seen["refused"] += result["error_code"] in {"OUTSIDE_GEOFENCE", "POLICY_DENIED"}

    @settings(max_examples=EXAMPLES)
    @given(calls)
    def search(call):
        asyncio.run_coroutine_threadsafe(try_out(*call), loop).result()

    await asyncio.to_thread(search)
    assert seen["sent"], "something is allowed"
    assert seen["refused"] or name == "spin", "something is not"


@pytest.mark.timeout(600)
async def test_no_velocity_reaches_out(serve, robot):
    """However a velocity turns, it ends within the geofence: the way it may go is shorter than the way out."""
    ros = await serve(quartet_ros, POLICY, writes=WRITES)
    here = await robot.base_pose()
    out = min(here.x - ROOM[0], ROOM[2] - here.x, here.y - ROOM[1], ROOM[3] - here.y, PIT[0] - here.x)
    loop, passed = asyncio.get_running_loop(), []

    @settings(max_examples=EXAMPLES * 5)
    @given(
        st.lists(
            st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-2, 2), st.floats(0, 2)), min_size=1, max_size=3
        )
    )
    def search(steps):
        twists = [({"linear": {"x": x, "y": y}, "angular": {"z": z}}, seconds) for x, y, z, seconds in steps]
        way = sum(math.hypot(x, y) * seconds for x, y, _, seconds in steps)
        judging = asyncio.run_coroutine_threadsafe(ros.server.limits.check_velocity("publish", twists), loop)
        error = judging.exception()
        if error is None:
            assert way < out + EDGE, steps
            passed.append(way)
        else:
            assert isinstance(error, ToolError)
            assert error.code == "OUTSIDE_GEOFENCE"
            assert way > out - EDGE, steps

    await asyncio.to_thread(search)
    assert passed
