"""Each fault of a robot is named with its remedy; a healthy robot has none."""

import asyncio
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from websockets.asyncio.client import connect

from quartet_cli.commands.doctor import summary
from quartet_cli.doctor import Finding, Report, Verdict, diagnose
from quartet_cli.doctor.cameras import check_cameras
from quartet_cli.doctor.examination import Examination
from quartet_cli.main import main
from quartet_robot_link import Robot, stamp_of
from quartet_site import RobotFile, SiteFile
from support.frame_relay import frame_relay, without_effort

ROOT = Path(__file__).parents[3]
STUDIO = ROOT / "deploy" / "sites" / "studio"
STEPS = ["bridge", "rosapi", "topics", "frames", "site", "nav2", "moveit", "cameras", "gripper", "guard"]
SPEED = {"rosapi", "topics", "cameras"}


@pytest.fixture
def changed(robot_file: RobotFile, sim: Any) -> Any:
    """`changed({"topics.odom": "/x"})`: the robot file of the simulation with other values."""

    def change(values: dict[str, Any] | None = None, url: str = sim.url) -> RobotFile:
        fields = robot_file.model_dump()
        for path, value in {"bridge.url": url, **(values or {})}.items():
            *sections, last = path.split(".")
            section = fields
            for name in sections:
                section = section[name]
            section[last] = value
        return RobotFile.model_validate(fields)

    return change


async def examine(file: RobotFile, site: SiteFile | None = None, patience_s: float = 5.0) -> Report:
    report = await diagnose(file, site, patience_s=patience_s, watch_s=0.3)
    for finding in report.findings:
        assert bool(finding.remedy) == (finding.verdict is not Verdict.OK), finding
    return report


def only(report: Report, step: str) -> Finding:
    """The one wrong finding, which is of this step."""
    assert [finding.step for finding in report.wrong] == [step], report.wrong
    return report.wrong[0]


async def test_a_healthy_robot_has_nothing_to_mend(changed: Any, site_file: SiteFile) -> None:
    told: list[Finding] = []
    report = await diagnose(changed(), site_file, patience_s=60.0, on_finding=told.append)
    assert report.healthy, report.wrong
    assert told == report.findings
    assert list(dict.fromkeys(finding.step for finding in report.findings)) == STEPS
    # Only speed may be warned of, on a machine that is busy with other things.
    assert {finding.step for finding in report.findings if finding.verdict is not Verdict.OK} <= SPEED
    rates = {finding.what.split()[0]: finding.rate_hz for finding in report.findings if finding.rate_hz is not None}
    assert {"/tf", "/odom", "/scan", "/joint_states"} <= set(rates)
    assert min(rates.values()) > 0
    timed = {finding.step for finding in report.findings if finding.latency_ms is not None}
    assert timed >= {"bridge", "rosapi", "frames", "nav2", "moveit", "cameras"}


async def test_no_bridge(changed: Any, free_port: int) -> None:
    report = await examine(changed(url=f"ws://127.0.0.1:{free_port}"), patience_s=0.3)
    found = only(report, "bridge")
    assert str(free_port) in found.what
    assert "rosbridge_websocket_launch" in found.remedy
    assert {finding.verdict for finding in report.findings[1:]} == {Verdict.SKIPPED}
    assert [finding.step for finding in report.findings] == ["bridge", "rosapi", *STEPS[2:]]


@pytest.mark.parametrize("fault", ["zombie", "dead_executor"])
async def test_a_zombie_bridge(changed: Any, sim: Any, fault: str) -> None:
    sim.faults(fault)
    found = only(await examine(changed(), patience_s=1.0), "bridge")
    assert "zombie" in found.what
    assert "respawn" in found.remedy


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_password_of_the_bridge_is_not_printed(
    tmp_path: Path, free_port: int, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = (STUDIO / "robot.yaml").read_text()
    fields = yaml.safe_load(text) | {"bridge": {"url": f"ws://bob:secret@127.0.0.1:{free_port}/"}}
    (tmp_path / "robot.yaml").write_text(yaml.safe_dump(fields))
    assert run("--robot-file", str(tmp_path / "robot.yaml"), "--patience", "0.3", *options) == 1
    printed = "".join(capsys.readouterr())
    assert f"ws://bob:***@127.0.0.1:{free_port}/" in printed
    assert "secret" not in printed


async def test_slow_services_are_a_warning(changed: Any, sim: Any) -> None:
    sim.faults("slow_services")
    # Only up to the point that it is about; every further call would take two seconds.
    file, found = changed(), []

    class Enough(Exception):
        pass

    def listen(finding: Finding) -> None:
        found.append(finding)
        if finding.step == "rosapi" and finding.latency_ms is not None:
            raise Enough

    with pytest.raises(Enough):
        await diagnose(file, patience_s=3.5, on_finding=listen)
    assert found[-1].verdict is Verdict.WARNING
    assert found[-1].latency_ms > 1900
    assert "CPU" in found[-1].remedy


async def test_wrong_names_in_the_robot_file(changed: Any) -> None:
    report = await examine(
        changed(
            {
                "topics.odom": "/odometry/filtered",
                "topics.scan": "/map",
                "actions.spin": "/spin_robot",
                "services.compute_ik": "/ik",
                "arm.joints": ["arm_shoulder_pan_joint", *(f"axis_{number}" for number in range(5))],
                "gripper.joint": "finger",
                "cameras.front.depth_topic": "/front_camera/depth/image_raw",
                "cameras.arm.frame": "laser",
                "services.guard_stop": "/guard/stop",
            }
        )
    )
    what = {finding.what: (finding.step, finding.remedy) for finding in report.wrong}

    def remedy(step: str, *words: str) -> str:
        found = [text for name, (of, text) in what.items() if of == step and all(word in name for word in words)]
        assert len(found) == 1, (step, words, what)
        return found[0]

    assert "set topics.odom in robot.yaml to one of this type: /odom" in remedy("topics", "/odometry/filtered")
    assert "/scan" in remedy("topics", "/map", "nav_msgs/msg/OccupancyGrid", "sensor_msgs/msg/LaserScan")
    assert "set actions.spin in robot.yaml to /spin" in remedy("nav2", "/spin_robot")
    assert "/compute_ik" in remedy("moveit", "/ik")
    assert "arm.joints" in remedy("moveit", "axis_0")
    assert "robotiq_140_finger_joint" in remedy("gripper", "finger")
    depth = remedy("cameras", "/front_camera/depth/image_raw")
    assert "align_depth" in depth
    assert "/front_camera/aligned_depth_to_color/image_raw" in depth
    assert "'arm_camera_color_optical_frame'" in remedy("cameras", "laser")
    assert "/robot_guard/stop" in remedy("guard", "/guard/stop")


async def test_what_a_robot_can_do_without_is_a_warning(changed: Any) -> None:
    report = await examine(changed({"topics.gripper_status": "/gripper/word", "topics.scan": "/laser"}))
    assert report.healthy, report.wrong
    told = [finding for finding in report.findings if finding.step == "topics" and "/word" in finding.what]
    assert [finding.verdict for finding in told] == [Verdict.WARNING]
    assert "set topics.gripper_status in robot.yaml to one of this type: /gripper/status" in told[0].remedy


async def test_static_transforms_that_no_node_merges(changed: Any, sim: Any) -> None:
    """As with rosbridge alone: this client, which is not the first, gets the message of one of three publishers."""

    def without_merged(operation: dict[str, Any]) -> dict[str, Any] | None:
        if operation.get("values") == {"publishers": ["/static_transforms"]}:
            return operation | {"values": {"publishers": []}}
        return None if operation.get("topic") == "/tf_static_merged" else operation

    async with frame_relay(sim.url, without_merged) as url:
        first = await Robot.open(changed(url=url), wait_s=60)
        try:
            await first.transform("odom", "base_footprint", timeout_s=60)
            report = await examine(changed(url=url))
        finally:
            await first.close()
    [found] = [one for one in report.findings if "merges them" in one.what]
    assert found.verdict is Verdict.WARNING
    assert "/robot_state_publisher" in found.what
    assert "static_transforms" in found.remedy
    assert "front_camera_color_optical_frame" in " ".join(one.what for one in report.wrong if one.step == "frames")
    merged = await examine(changed())
    assert merged.healthy, merged.wrong
    assert not [one for one in merged.findings if "merges them" in one.what]


async def test_a_missing_frame(changed: Any) -> None:
    report = await examine(changed({"frames.tool": "arm_tool9"}), patience_s=3.0)
    found = only(report, "frames")
    assert "arm_tool9" in found.what
    assert "set frames.tool" in found.remedy
    assert "arm_tool0" in found.remedy
    assert [finding.step for finding in report.findings if finding.verdict is Verdict.SKIPPED] == ["moveit"]


async def test_planning_group_and_link(changed: Any) -> None:
    found = only(await examine(changed({"arm.group": "left_arm"})), "moveit")
    assert "left_arm" in found.what
    assert "SRDF" in found.remedy
    found = only(await examine(changed({"frames.tool": "arm_base"})), "moveit")
    assert "frames.tool" in found.remedy


async def test_a_topic_that_nobody_publishes_to(changed: Any, sim: Any) -> None:
    async with connect(sim.url) as socket:
        await socket.send(json.dumps({"op": "advertise", "topic": "/silent", "type": "sensor_msgs/msg/LaserScan"}))
        await socket.send(json.dumps({"op": "call_service", "service": "/rosapi/get_time"}))
        await socket.recv()
        found = only(await examine(changed({"topics.scan": "/silent"}), patience_s=3.0), "topics")
    assert "nothing came" in found.what
    assert "/rosbridge_websocket" in found.remedy
    assert "`ros2 topic info -v /silent` whether its publishers have the type sensor_msgs/msg/LaserScan" in found.remedy


@pytest.mark.parametrize("read_before", [True, False], ids=["read before", "first reader"])
async def test_a_topic_whose_publisher_has_another_type_than_its_readers(
    changed: Any, peer: Any, read_before: bool
) -> None:
    """rosapi tells one type, the readers'; rosbridge writes all of them to its log at the first subscription."""
    log: list[dict[str, Any]] = []
    kinds = {"/tf": "tf2_msgs/msg/TFMessage", "/odom": "nav_msgs/msg/Odometry"}
    graph = answering(
        {
            "/rosapi/topics": {"topics": list(kinds), "types": list(kinds.values())},
            "/rosapi/services": {"services": []},
            "/rosapi/action_servers": {"action_servers": []},
            "/rosapi/get_time": {"time": {"sec": 1000, "nanosec": 0}},
            "/rosapi/publishers": {"publishers": ["/base_driver"]},
        }
    )

    def answer(operation: dict[str, Any]) -> list[Any] | None:
        if operation["op"] != "subscribe":
            return graph(operation)
        if operation["topic"] == "/odom" and not read_before:
            log.append({"msg": "More than one topic type detected: ['nav_msgs/msg/Odometry', 'std_msgs/msg/String']"})
        log.append({"msg": f"[Client 4711] Subscribed to {operation['topic']}"})
        # The log is latched.
        return [{"op": "publish", "topic": "/rosout", "msg": line} for line in log]

    peer.answer = answer
    report = await examine(changed(url=peer.url), patience_s=0.3)
    [odom] = [finding for finding in report.wrong if "/odom (" in finding.what or finding.what.startswith("/odom")]
    if read_before:
        assert "nothing came" in odom.what
        assert "ros2 topic info -v /odom" in odom.remedy
    else:
        assert odom.what == (
            "/odom carries std_msgs/msg/String, topics.odom needs nav_msgs/msg/Odometry, which only its readers have"
        )
        assert "ros2 topic info -v /odom" in odom.remedy
    assert "nothing came" in next(finding.what for finding in report.wrong if finding.what.startswith("/tf"))


async def test_types_of_services_and_of_every_other_topic(changed: Any) -> None:
    names = {
        "services.compute_ik": "/clear_octomap",
        "services.clear_global_costmap": "/compute_fk",
        "services.guard_stop": "/compute_fk",
        "services.check_state_validity": "/compute_fk",
        "topics.guard_state": "/odom",
        "topics.battery": "/odom",
        "topics.velocity": "/odom",
        "topics.clock": "/odom",
    }
    needed = {
        "services.compute_ik": "moveit_msgs/srv/GetPositionIK",
        "services.clear_global_costmap": "nav2_msgs/srv/ClearEntireCostmap",
        "services.guard_stop": "std_srvs/srv/Trigger",
        "services.check_state_validity": "moveit_msgs/srv/GetStateValidity",
        "topics.guard_state": "diagnostic_msgs/msg/DiagnosticStatus",
        "topics.battery": "sensor_msgs/msg/BatteryState",
        "topics.velocity": "geometry_msgs/msg/Twist or geometry_msgs/msg/TwistStamped",
        "topics.clock": "rosgraph_msgs/msg/Clock",
    }
    there = {"/odom": "nav_msgs/msg/Odometry", "/clear_octomap": "std_srvs/srv/Empty"}
    report = await examine(changed(names))
    told = {finding.what for finding in report.wrong}
    for field, name in names.items():
        kind = there.get(name, "moveit_msgs/srv/GetPositionFK")
        verb = "is" if field.startswith("services") else "carries"
        subject = f"service {name}" if field.startswith("services") else name
        assert f"{subject} {verb} {kind}, {field} needs {needed[field]}" in told, (field, told)
    assert all(f"set {field}" in " ".join(finding.remedy for finding in report.wrong) for field in names)


async def test_a_gripper_whose_effort_is_not_measured(changed: Any, sim: Any) -> None:
    async with frame_relay(sim.url, without_effort) as url:
        report = await examine(changed({"topics.gripper_status": "/none"}, url))
    assert report.healthy, report.wrong
    [found] = [each for each in report.findings if "effort in /joint_states" in each.what]
    assert found.verdict is Verdict.WARNING
    assert "robotiq_140_finger_joint" in found.what
    assert "/none" in found.what
    assert "stalled" in found.remedy
    # The driver's word is enough, and so is an effort.
    async with frame_relay(sim.url, without_effort) as url:
        report = await examine(changed(url=url))
    assert not [each for each in report.findings if "effort in /joint_states" in each.what]


async def test_a_robot_in_wall_time_has_its_clock_compared(changed: Any, sim: Any) -> None:
    """Quartet's own subscriptions bring /clock, the battery's topic and others into a graph where no node publishes."""
    ahead_s, silent = 100.0, {"/clock", "/battery_state", "/gripper/status"}

    def in_wall_time(operation: dict[str, Any]) -> dict[str, Any] | None:
        values = operation.get("values")
        if operation["op"] == "service_response" and isinstance(values, dict):
            if "time" in values:
                values["time"] = {"sec": int(time.time() + ahead_s), "nanosec": 0}
            if "publishers" in values and not {"/robot_state_publisher"} & set(values["publishers"]):
                values["publishers"] = []
        return None if operation.get("topic") in silent else operation

    async with frame_relay(sim.url, in_wall_time) as url:
        report = await examine(changed(url=url), patience_s=1.0)
    whats = [finding.what for finding in report.findings]
    assert [what for what in whats if "the robot's clock is 9" in what or "the robot's clock is 100" in what], whats
    assert not [what for what in whats if what.startswith(("/clock", "/battery_state", "the gripper sends no status"))]
    [status] = [finding for finding in report.findings if "no node publishes /gripper/status" in finding.what]
    assert status.verdict is Verdict.WARNING


async def test_links_of_the_gripper(changed: Any) -> None:
    right = await examine(changed())
    assert "MoveIt knows all 3 links of the gripper" in {finding.what for finding in right.findings}
    wrong = await examine(changed({"gripper.links": ["arm_tool0", "leftfinger"]}))
    [unknown] = [finding for finding in wrong.wrong if "gripper.links" in finding.what]
    assert unknown.what == "MoveIt does not know all of arm_tool0, leftfinger (gripper.links)"
    none = await examine(changed({"gripper.links": []}))
    [missing] = [finding for finding in none.findings if finding.what.startswith("gripper.links is empty")]
    assert missing.verdict is Verdict.WARNING
    assert "straight path is free" in missing.what


async def test_services_and_topics_that_command_the_gripper(changed: Any) -> None:
    # The only Trigger service of the simulation plays that of the gripper's driver.
    close, camera = "/robot_guard/stop", changed().cameras.front.colour_topic
    guard = {"services.guard_stop": "/guard/stop"}
    trigger = {**guard, "gripper.command": "Trigger", "gripper.close_service": close, "gripper.open_service": close}
    right = await examine(changed(trigger))
    assert f"service {close} is std_srvs/srv/Trigger" in {finding.what for finding in right.findings}
    assert not [finding for finding in right.wrong if finding.step == "gripper"]
    for changes, what, remedy in (
        ({**trigger, "gripper.open_service": "/none"}, "no service /none (gripper.open_service)", "gripper's driver"),
        (
            {**guard, "gripper.command": "SetBool", "gripper.close_service": close},
            f"service {close} is std_srvs/srv/Trigger, gripper.close_service needs std_srvs/srv/SetBool",
            "set gripper.close_service",
        ),
        (
            {"gripper.command": "Float64", "gripper.command_topic": camera},
            f"topic {camera} (gripper.command_topic) carries sensor_msgs/msg/CompressedImage",
            "gripper.command_topic",
        ),
        (
            {"gripper.command": "Float64", "gripper.command_topic": "/none"},
            "topic /none (gripper.command_topic) has no subscriber",
            "start the gripper's controller",
        ),
        ({"gripper.second_joint": "finger"}, "no joint 'finger' (gripper.second_joint)", "set gripper.second_joint"),
    ):
        report = await examine(changed(changes))
        [found] = [finding for finding in report.wrong if finding.step == "gripper"]
        assert what in found.what
        assert remedy in found.remedy


async def test_late_stamps_and_an_arm_without_velocities(changed: Any, sim: Any, robot: Robot) -> None:
    topics = {"/late_odom": "nav_msgs/msg/Odometry", "/bare_joints": "sensor_msgs/msg/JointState"}
    joints = await robot.receive("/joint_states", topics["/bare_joints"])
    stamp = {"sec": int(stamp_of(joints)) - 3}
    sent = {"/late_odom": {"header": {"stamp": stamp}}, "/bare_joints": joints | {"velocity": []}}

    async def publish(socket: Any) -> None:
        while True:
            for topic, message in sent.items():
                await socket.send(json.dumps({"op": "publish", "topic": topic, "msg": message}))
            await asyncio.sleep(0.02)

    async with connect(sim.url) as socket:
        for topic, kind in topics.items():
            await socket.send(json.dumps({"op": "advertise", "topic": topic, "type": kind}))
        publisher = asyncio.create_task(publish(socket))
        report = await examine(changed({"topics.odom": "/late_odom", "topics.joint_states": "/bare_joints"}))
        publisher.cancel()
    [late] = [finding for finding in report.wrong if finding.step == "topics"]
    assert re.match(r"the stamps of /late_odom are [34]\.\d s behind the robot's clock", late.what)
    assert "chrony" in late.remedy
    [bare] = [finding for finding in report.findings if "no velocity" in finding.what]
    assert bare.verdict is Verdict.WARNING
    assert "arm_elbow_joint" in bare.what


async def test_a_stopped_robot(changed: Any, robot: Robot) -> None:
    await robot.link.call_service("/robot_guard/stop")
    found = only(await examine(changed()), "guard")
    assert "stop service called" in found.what
    assert "quartet reset" in found.remedy


async def test_an_action_of_another_type(changed: Any, sim: Any) -> None:
    async with connect(sim.url) as socket:
        await socket.send(json.dumps({"op": "advertise_action", "action": "/turn", "type": "nav2_msgs/action/Wait"}))
        await socket.send(json.dumps({"op": "call_service", "service": "/rosapi/get_time"}))
        await socket.recv()
        found = only(await examine(changed({"actions.spin": "/turn"})), "nav2")
    assert found.what == "action /turn is nav2_msgs/action/Wait, actions.spin needs nav2_msgs/action/Spin"
    assert "loses the action" in found.remedy


async def test_nobody_listens_for_heartbeats(changed: Any, sim: Any) -> None:
    found = only(await examine(changed({"topics.guard_heartbeat": "/nobody"})), "guard")
    assert "nobody listens for heartbeats on /nobody" in found.what
    assert "start the robot guard" in found.remedy
    # The bridge listening for one of its clients is no guard.
    async with connect(sim.url) as socket:
        await socket.send(json.dumps({"op": "subscribe", "topic": "/beats", "type": "std_msgs/msg/Header"}))
        await socket.send(json.dumps({"op": "call_service", "service": "/rosapi/get_time"}))
        await socket.recv()
        assert "/beats" in only(await examine(changed({"topics.guard_heartbeat": "/beats"})), "guard").what
    found = only(await examine(changed({"topics.guard_heartbeat": "/odom"})), "guard")
    assert "/odom carries nav_msgs/msg/Odometry" in found.what


async def test_who_listens_for_velocities(changed: Any, sim: Any) -> None:
    def gate(report: Report) -> str:
        [found] = [finding for finding in report.findings if "velocities" in finding.what]
        return found.what

    assert gate(await examine(changed())) == "velocities on /cmd_vel reach the base through the guard alone"
    assert "nobody listens" in gate(await examine(changed({"topics.velocity": "/nobody"})))


async def test_outside_of_the_site(changed: Any, site_file: SiteFile) -> None:
    fields = site_file.model_dump()
    fields["areas"][0]["outline"] = [(10, 10), (11, 10), (11, 11)]
    report = await examine(changed(), SiteFile.model_validate(fields))
    [found] = [finding for finding in report.findings if finding.step == "site"]
    assert found.verdict is Verdict.WARNING
    assert "initial pose" in found.remedy
    assert report.healthy


def answering(values: dict[str, Any]) -> Any:
    """A peer's answers: response by service, all others do not exist."""

    def answer(operation: dict[str, Any]) -> list[Any] | None:
        if operation["op"] != "call_service":
            return None
        name = operation["service"]
        there = name in values
        reply = {"op": "service_response", "service": name, "id": operation["id"], "result": there}
        return [reply | {"values": values[name] if there else f"Service {name} does not exist"}]

    return answer


async def test_without_rosapi(changed: Any, peer: Any) -> None:
    peer.answer = answering({})
    report = await examine(changed(url=peer.url), patience_s=0.5)
    assert report.findings[0].verdict is Verdict.OK
    first = report.wrong[0]
    assert first.step == "rosapi"
    assert "rosapi_node" in first.remedy


async def test_nav2_that_is_not_active(changed: Any, peer: Any) -> None:
    state = {"current_state": {"id": 2, "label": "inactive"}}
    nodes = [f"/{node}/get_state" for node in ("bt_navigator", "controller_server", "planner_server")]
    peer.answer = answering(
        {
            "/rosapi/topics": {"topics": [], "types": []},
            "/rosapi/services": {"services": nodes},
            "/rosapi/action_servers": {"action_servers": []},
            "/rosapi/get_time": {"time": {"sec": 1000, "nanosec": 0}},
        }
        | dict.fromkeys(nodes, state)
    )
    report = await examine(changed(url=peer.url), patience_s=0.5)
    inactive = [finding for finding in report.wrong if "inactive" in finding.what]
    assert len(inactive) == 3
    assert all("manage_nodes" in finding.remedy for finding in inactive)
    assert [finding.what for finding in report.wrong if "does not run" in finding.what] == [
        "Nav2's node behavior_server does not run"
    ]
    assert any("clock" in finding.what and "chrony" in finding.remedy for finding in report.findings)


@pytest.mark.parametrize("json_comes", [True, False])
async def test_a_bridge_whose_cbor_fails_on_arrays(changed: Any, peer: Any, json_comes: bool) -> None:
    file = changed(url=peer.url)
    topics = {file.cameras.front.info_topic, file.cameras.arm.info_topic}

    def answer(operation: dict[str, Any]) -> list[Any] | None:
        asked = operation["op"] == "subscribe" and operation["topic"] in topics and operation["compression"] == "none"
        if asked and json_comes:
            return [{"op": "publish", "topic": operation["topic"], "msg": {"header": {"frame_id": "x"}}}]
        return answering({"/rosapi/get_time": {"time": {"sec": 1, "nanosec": 0}}})(operation)

    peer.answer = answer
    exam = Examination(await Robot.open(file, wait_s=10), None, patience_s=0.2, watch_s=0.1)
    try:
        await check_cameras(exam)
    finally:
        await exam.robot.close()
    assert [finding.verdict for finding in exam.findings] == [Verdict.WRONG] * 2
    for finding in exam.findings:
        assert ("comes as JSON and not as CBOR" in finding.what) is json_comes
        assert ("upgrade rosbridge_suite" if json_comes else "max_message_size") in finding.remedy


def test_the_summary_of_checks_that_were_not_possible() -> None:
    findings = [Finding(step="moveit", verdict=Verdict.SKIPPED, what="not tried", remedy="start it")]
    report = Report(robot="summit", bridge_url="ws://x", findings=findings)
    assert summary(report) == "1 checks, 0 wrong, 0 warnings, 1 not possible: see what they need"
    assert summary(report.model_copy(update={"findings": []})).endswith("the robot is ready")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_command_on_a_good_robot(sim: Any, capsys: pytest.CaptureFixture[str]) -> None:
    status = run("--robot-file", str(STUDIO / "robot.yaml"), "--bridge-url", sim.url, "--json")
    report = Report.model_validate_json(capsys.readouterr().out)
    assert (status, report.healthy, report.bridge_url) == (0, True, sim.url)


def test_the_command_on_a_bad_robot(sim: Any, capsys: pytest.CaptureFixture[str]) -> None:
    sim.faults("zombie")
    options = ["--robot-file", str(STUDIO / "robot.yaml"), "--bridge-url", sim.url, "--patience", "1"]
    assert run(*options) == 1
    printed = capsys.readouterr().out
    assert "zombie" in printed
    assert "to fix it: restart the rosbridge_websocket" in printed
    assert run(*options, "--json") == 1
    assert not Report.model_validate_json(capsys.readouterr().out).healthy


def test_the_robot_of_the_running_stack(
    sim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deploy" / "sites").mkdir(parents=True)
    monkeypatch.setenv("QUARTET_ROOT", str(tmp_path))
    assert run() == 2
    assert "--robot-file is needed" in capsys.readouterr().err
    state = tmp_path / ".quartet" / "up"
    state.mkdir(parents=True)
    about = {"pid": os.getpid(), "site_dir": str(STUDIO), "bridge_url": sim.url}
    (state / "stack.json").write_text(json.dumps(about))
    sim.faults("zombie")
    assert run("--patience", "1") == 1
    assert f"summit at {sim.url}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--robot-file", "/nowhere/robot.yaml"], "/nowhere/robot.yaml cannot be read"),
        (["--robot-file", str(STUDIO / "site.yaml")], "valid fields here"),
        (["--robot-file", str(STUDIO / "robot.yaml"), "--bridge-url", "http://x"], "valid: ws://HOST:PORT"),
        (["--robot-file", str(STUDIO / "robot.yaml"), "--site-file", "/nowhere"], "/nowhere cannot be read"),
    ],
)
def test_bad_input_starts_nothing(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*options) == 2
    assert said in capsys.readouterr().err
