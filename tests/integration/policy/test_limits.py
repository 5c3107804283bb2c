"""Each rule of a policy refuses with its code, names itself, the value and what is allowed, and nothing is sent."""

import math
from types import SimpleNamespace

import pytest

import quartet_moveit
import quartet_nav2
import quartet_perception.server
import quartet_ros
from quartet_robot_link import CallTimeoutError, GoalStatus, MotionOutcome
from quartet_robot_link.geometry import multiply
from quartet_tool_server import ToolError

CORNER = {"geofence": {"areas": [], "zones": [{"name": "corner", "outline": [[-1, -1], [1, -1], [1, 1], [-1, 1]]}]}}
PIT = {"geofence": {"forbidden": [{"name": "pit", "outline": [[0.5, -0.5], [1, -0.5], [1, 0.5], [0.5, 0.5]]}]}}
BOX = {"workspace": {"minimum": [-0.5, -0.6, 0.3], "maximum": [0.9, 0.6, 1.1]}}
DOWN = [1, 0, 0, 0]
ABOVE = [0.5, -0.6348, -2.0271, -1.3523, 1.5778, 0]
"""Joints that bring the flange 1.24 m high."""
TWIST = "geometry_msgs/msg/Twist"
WRITES = {
    "topics": [
        {"name": "/cmd_vel", "type": TWIST, "max_linear_m_s": 0.5, "max_angular_rad_s": 1.0},
        {"name": "/goal_pose", "type": "geometry_msgs/msg/PoseStamped"},
        {"name": "/initialpose", "type": "geometry_msgs/msg/PoseWithCovarianceStamped"},
    ],
    "actions": [
        {"name": "/navigate_to_pose", "type": "nav2_msgs/action/NavigateToPose"},
        {"name": "/drive_on_heading", "type": "nav2_msgs/action/DriveOnHeading"},
        {"name": "/move_action", "type": "moveit_msgs/action/MoveGroup"},
        {"name": "/execute_trajectory", "type": "moveit_msgs/action/ExecuteTrajectory"},
        {"name": "/robotiq_gripper_controller/gripper_cmd", "type": "control_msgs/action/GripperCommand"},
    ],
}
"""The robot starts at about (-0.1, -0.15), looking along +x."""


def goal(action, kind, **fields):
    return {"action_name": action, "action_type": kind, "goal": fields}


def stamped(x, y, frame="map"):
    return {"header": {"frame_id": frame}, "pose": {"position": {"x": x, "y": y}, "orientation": {"w": 1.0}}}


def navigate(x, y, frame="map", **more):
    return goal("/navigate_to_pose", "nav2_msgs/action/NavigateToPose", pose=stamped(x, y, frame), **more)


def heading(x, speed=0.1):
    return goal("/drive_on_heading", "nav2_msgs/action/DriveOnHeading", target={"x": x}, speed=speed)


BASE = [
    ("navigate_to_pose", {"x": 1.5, "y": 0}, "(1.50, 0.00) in the map is outside the geofence"),
    ("follow_waypoints", {"waypoints": [{"x": 0.5, "y": 0}, {"x": 0, "y": 1.2}]}, "1 (counted from 0) (0.00, 1.20)"),
    ("drive_on_heading", {"distance": 1.5, "speed": 0.1}, "geofence.areas; allowed: corner"),
    ("backup_robot", {"distance": 1.5, "speed": 0.1}, "geofence.areas"),
    ("approach_target", {"target_x_base": 2.5, "target_y_base": 0, "standoff_m": 0.5}, "geofence.areas"),
    ("approach_target", {"target_x_base": 0.1, "target_y_base": 2.5, "standoff_m": 0.5}, "geofence.areas"),
    ("dock_robot", {"x": 1.5, "y": 1.5}, "dock (1.50, 1.50)"),
]


async def test_nothing_drives_out_of_the_geofence(serve, sent):
    nav2 = await serve(quartet_nav2, CORNER)
    free = await serve(quartet_nav2, {"geofence": {"areas": "any place"}})
    for tool, arguments, words in BASE:
        message = await nav2.refused(tool, "OUTSIDE_GEOFENCE", arguments)
        assert words in message
        assert "Nothing moved" in message
        assert not sent.goals
        # The same call is sent where the policy has no such rule.
        await free.call(tool, arguments)
        assert sent.goals, (tool, arguments)
        sent.goals.clear()


async def test_nothing_drives_into_or_through_a_forbidden_zone(serve, sent):
    nav2 = await serve(quartet_nav2, PIT)
    for tool, arguments in [
        ("navigate_to_pose", {"x": 0.7, "y": 0}),
        ("drive_on_heading", {"distance": 0.8, "speed": 0.1}),
        ("drive_on_heading", {"distance": 1.4, "speed": 0.1}),  # it ends behind the zone
        ("approach_target", {"target_x_base": 1.4, "target_y_base": 0.1, "standoff_m": 0.5}),
    ]:
        assert "forbidden zone 'pit' (policy rule geofence.forbidden" in await nav2.refused(
            tool, "OUTSIDE_GEOFENCE", arguments
        )
        assert not sent.goals


async def test_by_default_the_areas_of_the_site_are_the_geofence(serve, sent):
    nav2 = await serve(quartet_nav2)
    assert "allowed: studio" in await nav2.refused("navigate_to_pose", "OUTSIDE_GEOFENCE", x=2.5, y=0)
    await nav2.call("navigate_to_pose", x=1.0, y=0)
    assert [action for action, _, _ in sent.goals] == ["/navigate_to_pose"]


async def test_docks_are_where_the_policy_says(serve, sent):
    docks = {"near": {"x": 0.5, "y": 0.5}, "far": {"x": 5, "y": 5}}
    nav2 = await serve(quartet_nav2, {"geofence": CORNER["geofence"] | {"docks": docks}})
    assert "'far' (5.00, 5.00)" in await nav2.refused("dock_robot", "OUTSIDE_GEOFENCE", dock_id="far")
    assert "geofence.docks in policy.yaml: near, far" in await nav2.refused("dock_robot", "POLICY_DENIED", dock_id="x")
    assert not sent.goals
    await nav2.call("dock_robot", dock_id="near")
    assert len(sent.goals) == 1
    undock = await serve(quartet_nav2, {"geofence": CORNER["geofence"] | {"undock_m": 1.2}})
    await undock.refused("undock_robot", "OUTSIDE_GEOFENCE")
    assert len(sent.goals) == 1
    await nav2.call("undock_robot")
    assert len(sent.goals) == 1, "1 m behind is out of the corner too"


async def test_a_generic_goal_keeps_to_the_geofence(serve, sent):
    ros = await serve(quartet_ros, CORNER, writes=WRITES)
    for arguments, code, words in [
        (navigate(1.5, 0), "OUTSIDE_GEOFENCE", "(1.50, 0.00)"),
        (navigate(1.3, 0, "base_footprint"), "OUTSIDE_GEOFENCE", "geofence.areas"),
        (navigate(0.5, 0, ""), "POLICY_DENIED", "no frame_id"),
        (navigate(0.5, 0, "nowhere"), "TRANSFORM_UNAVAILABLE", "nowhere"),
        (navigate(0.5, 0, behavior_tree="/tmp/other.xml"), "POLICY_DENIED", "behavior_tree"),
        (heading(1.5), "OUTSIDE_GEOFENCE", "geofence.areas"),
        (heading(-1.5, -0.1), "OUTSIDE_GEOFENCE", "geofence.areas"),
    ]:
        assert words in await ros.refused("send_action_goal", code, arguments)
        assert not sent.goals


async def test_a_generic_goal_in_another_frame_is_judged_where_it_lies(serve, sent, robot):
    ros = await serve(quartet_ros, CORNER, writes=WRITES)
    here = await robot.base_pose()
    await ros.call("send_action_goal", navigate(0.9 - here.x, 0, "base_footprint"))
    assert len(sent.goals) == 1
    await ros.call("send_action_goal", heading(-0.7, -0.1))
    assert len(sent.goals) == 2


async def test_a_generic_goal_that_cannot_be_judged_needs_the_policys_word(serve, sent):
    writes = {"actions": [{"name": "/dock_robot", "type": "nav2_msgs/action/DummyBehavior"}]}
    ros = await serve(quartet_ros, CORNER, writes=writes)
    limits = ros.server.limits
    with pytest.raises(ToolError, match=r"unchecked\.actions in policy\.yaml") as caught:
        await limits.check_goal("send_action_goal", "/dummy", "nav2_msgs/action/DummyBehavior", {}, generic=True)
    assert caught.value.code == "POLICY_DENIED"
    listed = await serve(quartet_ros, CORNER | {"unchecked": {"actions": ["/dummy"]}})
    await listed.server.limits.check_goal(
        "send_action_goal", "/dummy", "nav2_msgs/action/DummyBehavior", {}, generic=True
    )


@pytest.mark.parametrize(
    ("topic", "kind", "message", "code", "words"),
    [
        ("/goal_pose", "geometry_msgs/msg/PoseStamped", stamped(1.5, 0), "OUTSIDE_GEOFENCE", "(1.50, 0.00)"),
        ("/initialpose", "geometry_msgs/msg/PoseWithCovarianceStamped", {}, "POLICY_DENIED", "unchecked.topics"),
        ("/jog", "control_msgs/msg/JointJog", {}, "POLICY_DENIED", "unchecked.topics"),
        ("/arm", "trajectory_msgs/msg/MultiDOFJointTrajectory", {}, "POLICY_DENIED", "unchecked.topics"),
        ("/speed", "geometry_msgs/msg/TwistWithCovarianceStamped", {}, "POLICY_DENIED", "unchecked.topics"),
    ],
)
async def test_a_published_message_is_judged(serve, topic, kind, message, code, words):
    ros = await serve(quartet_ros, CORNER, writes=WRITES)
    from quartet_site import WritableTopic

    with pytest.raises(ToolError, match=words.replace("(", r"\(").replace(")", r"\)")) as caught:
        await ros.server.limits.check_message(WritableTopic(name=topic, type=kind), message)
    assert caught.value.code == code
    listed = await serve(quartet_ros, CORNER | {"unchecked": {"topics": [topic]}})
    await listed.server.limits.check_message(WritableTopic(name=topic, type=kind), message)


async def test_a_velocity_stays_within_reach_of_the_geofence(serve, robot):
    ros = await serve(quartet_ros, CORNER, writes=WRITES)
    drive = {"topic": "/cmd_vel", "msg_type": TWIST}
    async with robot.link.subscribe("/cmd_vel", TWIST) as heard:
        message = await ros.refused(
            "publish_for_durations",
            "OUTSIDE_GEOFENCE",
            drive | {"messages": [{"linear": {"x": -0.3}}], "durations": [4]},
        )
        assert "1.20 m from" in message
        assert heard.latest is None
        ok = await ros.call("publish_for_durations", drive | {"messages": [{"linear": {"x": 0.1}}], "durations": [0.2]})
        assert ok["ok"], ok


async def test_nothing_is_faster_than_its_cap(serve, sent):
    for package, policy, tool, arguments, words in [
        (quartet_nav2, {"speed": {"base_m_s": 0.2}}, "drive_on_heading", {"distance": 0.3, "speed": 0.3},
         "speed 0.3 m/s is not allowed; allowed: at most 0.2 m/s (policy rule speed.base_m_s)"),
        (quartet_nav2, {"speed": {"base_m_s": 0.2}}, "backup_robot", {"distance": 0.3, "speed": 0.3}, "speed.base_m_s"),
        (quartet_nav2, {"speed": {"base_m_s": 0.2}}, "approach_target",
         {"target_x_base": 1.0, "target_y_base": 0, "standoff_m": 0.5, "speed": 0.3}, "speed.base_m_s"),
        (quartet_ros, {"speed": {"base_m_s": 0.2}}, "publish_once",
         {"topic": "/cmd_vel", "msg_type": TWIST, "msg": {"linear": {"x": -0.2, "y": 0.2}}}, "speed.base_m_s"),
        (quartet_ros, {"speed": {"base_rad_s": 0.5}}, "publish_once",
         {"topic": "/cmd_vel", "msg_type": TWIST, "msg": {"angular": {"z": -0.6}}}, "speed.base_rad_s"),
        (quartet_ros, {"speed": {"base_m_s": 0.2}}, "send_action_goal", heading(0.3, 0.3), "speed.base_m_s"),
        (quartet_moveit, {"speed": {"arm_scale": 0.1}}, "plan_and_execute", {"target": {"state_name": "look_down"}},
         "max_velocity_scaling_factor 0.8 is not allowed; allowed: above 0, at most 0.1 (policy rule speed.arm_scale)"),
        (quartet_ros, {"speed": {"arm_scale": 0.9}}, "send_action_goal",
         goal("/move_action", "moveit_msgs/action/MoveGroup", request={"max_velocity_scaling_factor": 0.0}),
         "max_velocity_scaling_factor 0"),
    ]:  # fmt: skip
        server = await serve(package, policy, writes=WRITES)
        assert words in await server.refused(tool, "OVER_LIMIT", arguments)
        assert not sent.goals


async def test_a_generic_trajectory_has_no_known_speed(serve, sent):
    ros = await serve(quartet_ros, {"speed": {"arm_scale": 0.9}}, writes=WRITES)
    arguments = goal("/execute_trajectory", "moveit_msgs/action/ExecuteTrajectory", trajectory={})
    assert "how fast" in await ros.refused("send_action_goal", "POLICY_DENIED", arguments)
    assert not sent.goals


def constraint(x, y, z, frame="base_footprint", link="arm_tool0"):
    region = {
        "primitives": [{"type": 2, "dimensions": [0.01]}],
        "primitive_poses": [{"position": {"x": x, "y": y, "z": z}}],
    }
    return {"header": {"frame_id": frame}, "link_name": link, "constraint_region": region}


def move(*constraints, **more):
    return goal("/move_action", "moveit_msgs/action/MoveGroup", request={"goal_constraints": list(constraints)}, **more)


def trajectory(robot_file, *points, names=None):
    path = {"joint_names": names or robot_file.arm.joints, "points": [{"positions": list(point)} for point in points]}
    return goal("/execute_trajectory", "moveit_msgs/action/ExecuteTrajectory", trajectory={"joint_trajectory": path})


async def test_the_hand_stays_in_its_box(serve, sent):
    """Whether the goal is a pose, joints or a path; MoveIt is asked where joints bring the hand."""
    moveit = await serve(quartet_moveit, BOX, agent="pick")
    for tool, arguments, axis in [
        ("plan_and_execute", {"target": {"position": [0.7, 0, 0.25], "orientation": DOWN}}, "z"),
        ("plan_and_execute", {"target": {"position": [0.6, 0.65, 0.6], "orientation": DOWN}}, "y"),
        ("plan_and_execute", {"target": {"joint_positions": ABOVE}}, "z"),
        ("plan_and_execute", {"target": {"state_name": "look_down"}}, "z"),
        ("plan_cartesian_path", {"position": [0.373, -0.11, 1.12]}, "z"),
    ]:
        result = await moveit.call(tool, arguments)
        if result["error_code"] in {"OUT_OF_REACH", "GOAL_IN_COLLISION", "PATH_INCOMPLETE"}:
            pytest.fail(f"the robot cannot go there anyway: {result}")
        assert result["error_code"] == "OUTSIDE_WORKSPACE", result
        assert f"allowed in {axis}: " in result["message"]
        assert "policy rule workspace" in result["message"]
        assert not sent.goals


async def test_within_its_box_the_hand_may_move(serve, sent):
    moveit = await serve(quartet_moveit, BOX, agent="pick")
    await moveit.call("plan_and_execute", {"target": {"state_name": "look_forward"}})
    assert [action for action, _, _ in sent.goals] == ["/move_action"]


async def test_a_plan_that_ends_outside_is_not_executed(serve, sent):
    moveit = await serve(quartet_moveit, BOX, agent="pick")
    plan = await moveit.call("plan_to_joint_state", joint_positions=ABOVE)
    assert plan["ok"], plan
    await moveit.refused("execute_plan", "OUTSIDE_WORKSPACE", operation_id=plan["operation_id"])
    assert not sent.goals


async def test_a_generic_arm_goal_keeps_to_the_box(serve, sent, robot_file):
    ros = await serve(quartet_ros, BOX, writes=WRITES)
    forward = robot_file.arm.named_states["look_forward"]
    for arguments, code, words in [
        (move({"position_constraints": [constraint(0.7, 0, 0.1)]}), "OUTSIDE_WORKSPACE", "workspace"),
        (move({"position_constraints": [constraint(0.7, 0, 0.305)]}), "OUTSIDE_WORKSPACE", "workspace"),
        (move({"position_constraints": [constraint(9, 0, 0.5, "map")]}), "OUTSIDE_WORKSPACE", "workspace"),
        (move({"position_constraints": [constraint(0.7, 0, 0.5, link="finger")]}), "POLICY_DENIED", "arm_tool0"),
        (move({"position_constraints": [constraint(0.7, 0, 0.5, frame="")]}), "POLICY_DENIED", "no frame_id"),
        (move({"joint_constraints": [{"joint_name": "arm_elbow_joint"}]}), "POLICY_DENIED", "all joints"),
        (move({"orientation_constraints": [{}]}), "POLICY_DENIED", "leaves open"),
        (move(), "POLICY_DENIED", "goal_constraints"),
        (trajectory(robot_file), "POLICY_DENIED", "no points"),
        (trajectory(robot_file, forward[:3], names=robot_file.arm.joints[:3]), "POLICY_DENIED", "all joints"),
        (trajectory(robot_file, forward, ABOVE), "OUTSIDE_WORKSPACE", "workspace"),
        (trajectory(robot_file, forward, ABOVE, forward), "OUTSIDE_WORKSPACE", "workspace"),
    ]:  # fmt: skip
        assert words in await ros.refused("send_action_goal", code, arguments), arguments
    assert not sent.goals
    await ros.call("send_action_goal", move({"position_constraints": [constraint(0.7, 0, 0.5)]}))
    await ros.call("send_action_goal", trajectory(robot_file, forward, forward))
    assert len(sent.goals) == 2


async def test_no_grasp_is_planned_of_what_is_too_heavy(serve, site_file):
    perception = await serve(quartet_perception.server, {"payload_kg": 0.2}, agent="pick")
    for name in ("red coke can", "The Coke"):
        message = await perception.refused("get_topdown_grasp_pose", "OVER_LIMIT", object_name=name)
        assert "weighs 0.35 kg by the catalogue, at most 0.2 kg is allowed (policy rule payload_kg)" in message
    strong = await serve(quartet_perception.server, {"payload_kg": 0.35}, agent="pick")
    assert (await strong.call("get_topdown_grasp_pose", object_name="red coke can"))["error_code"] != "OVER_LIMIT"


async def test_the_arm_waits_for_the_base_and_the_base_for_the_arm(serve, sent, robot, monkeypatch):
    moveit, nav2 = await serve(quartet_moveit, agent="pick"), await serve(quartet_nav2)
    ros = await serve(quartet_ros, writes=WRITES)
    answers = {"base": False, "arm": False}

    async def stands(**_):
        return answers["base"]

    async def rests(**_):
        if answers["arm"] is None:
            raise CallTimeoutError("no joint of the arm came on /joint_states within 3 s")
        return answers["arm"]

    monkeypatch.setattr(robot, "wait_standstill", stands)
    monkeypatch.setattr(robot, "wait_arm_at_rest", rests)
    tuck = {"target": {"state_name": "look_forward"}}
    turn = {"topic": "/cmd_vel", "msg_type": TWIST, "msg": {"angular": {"z": 0.1}}}
    assert "phases.arm_or_base" in await moveit.refused("plan_and_execute", "WRONG_PHASE", tuck)
    assert "phases.arm_or_base" in await nav2.refused("spin_robot", "WRONG_PHASE", angle=0.2)
    assert "phases.arm_or_base" in await ros.refused("publish_once", "WRONG_PHASE", turn)
    answers["arm"] = None
    assert "no joint of the arm came" in await nav2.refused("spin_robot", "WRONG_PHASE", angle=0.2)
    assert not sent.goals
    both = {"phases": {"arm_or_base": False}}
    await (await serve(quartet_nav2, both)).call("spin_robot", angle=0.2)
    await (await serve(quartet_moveit, both, agent="pick")).call("plan_and_execute", tuck)
    assert len(sent.goals) == 2


async def test_the_arm_does_not_start_while_the_base_drives(serve, realtime, robot, until):
    nav2, moveit = await serve(quartet_nav2), await serve(quartet_moveit, agent="pick")
    import asyncio

    turning = asyncio.create_task(nav2.call("spin_robot", angle=math.pi))
    async with robot.link.subscribe("/odom", "nav_msgs/msg/Odometry", keep=1) as odom:
        await until(lambda: odom.latest is not None and abs(odom.latest["twist"]["twist"]["angular"]["z"]) > 0.1)
    message = await moveit.refused("plan_and_execute", "WRONG_PHASE", {"target": {"state_name": "look_down"}})
    assert "the base drives" in message
    await nav2.call("cancel_navigation")
    await turning
    assert (await moveit.call("plan_and_execute", {"target": {"state_name": "look_down"}}))["ok"]


async def test_who_carries_does_not_let_go(serve, robot, monkeypatch, sent):
    """What the fingers hold is measured; only the reading is scripted here."""
    from quartet_moveit import fingers as measured
    from quartet_moveit.fingers import Reading

    async def held(_):
        return Reading(width_m=0.06, effort_n=40.0, moving=False, status=None)

    monkeypatch.setattr(measured, "read", held)
    for agent in ("approach", "pick"):
        moveit = await serve(quartet_moveit, agent=agent)
        message = await moveit.refused("open_gripper", "WRONG_PHASE")
        assert "something 60 mm wide is held (policy rule phases.no_release: approach, pick)" in message
        await moveit.refused("close_gripper", "WRONG_PHASE", position=0.0)
        assert not sent.goals
    await moveit.call("close_gripper")
    assert len(sent.goals) == 1, "to press harder lets nothing go"
    await (await serve(quartet_moveit, agent="place")).call("open_gripper")
    assert len(sent.goals) == 2
    anybody = {"phases": {"no_release": []}}
    await (await serve(quartet_moveit, anybody, agent="pick")).call("open_gripper")
    assert len(sent.goals) == 3
    ros = await serve(quartet_ros, agent="pick", writes=WRITES)
    release = goal(
        "/robotiq_gripper_controller/gripper_cmd", "control_msgs/action/GripperCommand", command={"position": 0.0}
    )
    assert "no_release" in await ros.refused("send_action_goal", "WRONG_PHASE", release)
    assert len(sent.goals) == 3


@pytest.mark.parametrize(
    ("since", "code"),
    [
        ({"raised_m": 0.03}, "NONE"),
        ({"raised_m": 0.05}, "WRONG_PHASE"),
        ({"turned_rad": 0.1}, "NONE"),
        ({"turned_rad": 0.4}, "WRONG_PHASE"),
        ({"request": "another"}, "WRONG_PHASE"),
        ({"rests": False}, "WRONG_PHASE"),
        ({"lifted_while_closing_m": 0.02}, "WRONG_PHASE"),
    ],
    ids=str,
)
async def test_who_carries_may_let_go_where_the_fingers_closed(serve, robot, monkeypatch, since, code):
    """What was picked by mistake goes back to where it was. Width and place of the fingers are scripted."""
    from quartet_moveit import fingers as measured
    from quartet_moveit import gripper
    from quartet_moveit.arm import pose_in
    from quartet_moveit.fingers import Reading

    fingers, hand = {"width_m": 0.0}, {"raised_m": 0.0, "turned_rad": 0.0}

    class Moved:
        def __init__(self, goal):
            self.closes = goal["command"]["position"] > 0

        async def outcome(self):
            fingers["width_m"] = 0.06 if self.closes else 0.14
            hand["raised_m"] += since.get("lifted_while_closing_m", 0.0) if self.closes else 0.0
            return MotionOutcome(GoalStatus.SUCCEEDED, {"stalled": self.closes}, 0.1)

        async def ended(self): ...

        def cancel(self, _): ...

    async def read(_):
        effort = 40.0 if fingers["width_m"] == 0.06 else 0.0
        return Reading(**fingers, effort_n=effort, moving=False, status=None)

    async def shifted(*where):
        pose = await pose_in(*where)
        x, y, z = pose.position
        turn = (0.0, 0.0, math.sin(hand["turned_rad"] / 2), math.cos(hand["turned_rad"] / 2))
        moved = {"position": (x, y, z + hand["raised_m"]), "orientation": multiply(turn, pose.orientation)}
        return pose.model_copy(update=moved)

    async def rests(**_):
        return since.get("rests", True)

    monkeypatch.setattr(robot, "start_motion", lambda _action, _kind, goal, **_: Moved(goal))
    monkeypatch.setattr(measured, "read", read)
    monkeypatch.setattr(gripper, "pose_in", shifted)
    moveit = await serve(quartet_moveit, agent="pick")
    assert (await moveit.call("close_gripper"))["state"] == "HOLDING"
    hand |= {name: value for name, value in since.items() if name in hand}
    monkeypatch.setattr(robot, "wait_arm_at_rest", rests)
    if "request" in since:
        other = SimpleNamespace(get=lambda: SimpleNamespace(jti=since["request"]))
        monkeypatch.setattr(gripper, "current_grant", other)
    assert (await moveit.call("open_gripper"))["error_code"] == code
    assert fingers["width_m"] == (0.14 if code == "NONE" else 0.06)
    # Put into the hand by somebody, later.
    fingers["width_m"] = 0.06
    hand |= {"raised_m": 0.0, "turned_rad": 0.0}
    if code == "NONE":
        assert "no_release" in await moveit.refused("open_gripper", "WRONG_PHASE")


async def test_an_empty_hand_opens_for_everybody(serve, sent):
    await (await serve(quartet_moveit, agent="pick")).call("open_gripper")
    assert len(sent.goals) == 1


async def test_agents_rates_and_denials_hold_at_the_tool(serve, sent):
    policy = {
        "agents": {"approach": ["nav2__spin_robot", "nav2__get_*"]},
        "rates": {"tools": {"nav2__spin_robot": 2}},
        "approval": [{"tool": "nav2__spin_robot", "when": {"angle": {"min": 2}}, "then": "deny", "because": "cables"}],
    }
    nav2 = await serve(quartet_nav2, policy)
    assert "allowed: nav2__spin_robot, nav2__get_*" in await nav2.refused(
        "navigate_to_pose", "POLICY_DENIED", x=0.2, y=0
    )
    assert "cables" in await nav2.refused("spin_robot", "POLICY_DENIED", angle=2.5)
    assert not sent.goals
    await nav2.call("spin_robot", angle=0.5)
    assert "rates" in await nav2.refused("spin_robot", "RATE_LIMITED", angle=0.5)
    assert len(sent.goals) == 1
    assert (await nav2.call("get_robot_pose"))["ok"]
    assert (await nav2.call("cancel_navigation"))["ok"], "to stop is always allowed"
    nav2.grant["tools"] = ["nav2__get_robot_pose"]
    await nav2.refused("spin_robot", "DENIED", angle=0.5)
