"""Programs of others, over their own public API, work with the simulated robot: roslibpy (PyPI) and roslib (npm).

Each client runs once, in a process of its own, and reports what it saw.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
Report = dict[str, Any]


def command_of(client: str) -> list[str]:
    """How to run a client; skips where it cannot be had."""
    if client == "roslibpy":
        return [sys.executable, str(HERE / "roslibpy_client.py")]
    installed = subprocess.run([ROOT / "scripts" / "roslib"], capture_output=True, text=True, timeout=300)
    if installed.returncode != 0:
        pytest.skip(f"roslib cannot be installed here: {installed.stderr.strip()[-500:]}")
    return ["node", str(HERE / "roslib_client.js")]


@pytest.fixture(scope="module", params=["roslibpy", "roslib"])
def client(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def whole(client: str, studio_process: Any) -> Report:
    command = command_of(client)
    studio_process.faults()
    studio_process.reset()
    # Warnings of the client's own dependencies are not ours.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    ended = subprocess.run(
        [*command, studio_process.url, studio_process.guard_url],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        cwd=HERE,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout)


@pytest.fixture
def part(whole: Report, request: pytest.FixtureRequest) -> Report:
    """The part of the report that a test is about: the last word of its name."""
    found = whole[request.node.originalname.rpartition("_")[2]]
    assert "failed" not in found, found
    return found


def values_of(end: Report) -> Report:
    """The action's result. roslib hands it over as text when the goal did not succeed."""
    return end["values"] if "values" in end else json.loads("{" + end["text"].partition("{")[2])


def test_the_connection_opens(whole: Report) -> None:
    assert whole["connected"] is True


def test_what_is_there_graph(part: Report, client: str) -> None:
    assert {"/odom", "/tf", "/tf_static", "/map", "/scan", "/joint_states"} <= set(part["topics"])
    assert part["odom_type"] == "nav_msgs/msg/Odometry"
    assert part["topics_of_type"] == ["/odom"]
    assert "/compute_ik" in part["services"]
    assert part["service_type"] == "std_srvs/srv/Trigger"
    assert "/robot_guard/stop" in part["services_of_type"]
    assert "/robot_guard" in part["nodes"]
    assert "/robot_guard/state" in part["node"]["publishing"]
    assert {"/navigate_to_pose", "/move_action", "/spin"} <= set(part["actions"])
    assert (part["twist_fields"], part["trigger_response"]) == (["linear", "angular"], ["success", "message"])
    if client == "roslib":
        assert set(part["decoded_twist"]) == {"linear", "angular"}
        assert part["odom_publishers"] == ["/base_controller"]


def test_publish_and_subscribe_topics(part: Report) -> None:
    assert part["odom_frame"] == part["relative"] == "odom"
    assert part["heard"] == ["one", "two", "drei äöü"]
    assert part["after_unsubscribe"] == 0
    assert part["listed_after_unadvertise"] is False


def test_late_subscribers_get_what_is_latched(part: Report) -> None:
    assert {"base_link", "front_camera_color_optical_frame"} <= set(part["static_frames"])
    assert (part["late"], part["guard"]) == ("kept", "robot_guard")


def test_answers_and_refusals_of_services(part: Report) -> None:
    assert part["state"] == "active"
    assert part["unknown"] == "Service /nope does not exist"
    assert part["bad_field"] == "Message type std_srvs/Trigger_Request does not have a field bad"
    assert set(part["time"]) == {"sec", "nanosec"}


def test_services_that_clients_have_offered(part: Report, client: str) -> None:
    assert part["asked"] == [{"data": True}]
    assert part["answer"] == {"success": True, "message": "switched äöü"}
    assert part["gone"] == f"Service /interop/{client}/switch does not exist"


def test_goals_of_an_action_that_is_served(whole: Report, client: str) -> None:
    if client == "roslibpy":
        pytest.skip("roslibpy has no action server")
    part = whole["served"]
    assert part["asked"] == [1, 2, 3], part
    assert (part["succeeded"]["way"], values_of(part["succeeded"])["total_elapsed_time"]["sec"]) == ("result", 1)
    assert part["succeeded"]["feedback"] == {"time_left": {"sec": 1, "nanosec": 0}}
    assert "aborted" in part["aborted"]["text"]
    assert "canceled" in part["canceled"]["text"]
    assert values_of(part["canceled"])["total_elapsed_time"]["sec"] == 3
    assert "No action server available" in part["gone"]["text"]


def test_reading_and_setting_parameters(part: Report) -> None:
    assert part["listed"] is True
    assert (part["before"], part["changed"], part["restored"], part["own"]) == (True, False, True, True)
    assert (part["refused"], part["deleted"]) == (False, False)


def test_results_of_actions(part: Report, client: str) -> None:
    done = part["succeeded"]
    assert (done["way"], values_of(done)["error_code"]) == ("result", 0)
    assert set(done["feedback"]) == {"angular_distance_traveled"}

    aborted = part["aborted"]
    assert values_of(aborted)["error_code"] == 724
    assert "same sign" in values_of(aborted)["error_msg"]

    names = ["canceled"] if client == "roslibpy" else ["canceled", "all_canceled"]
    for canceled in (part[name] for name in names):
        assert set(canceled["feedback"]) == {"time_left"}
        elapsed = values_of(canceled)["total_elapsed_time"]
        assert 0 < elapsed["sec"] + elapsed["nanosec"] * 1e-9 < 1_000_000
    if client == "roslibpy":
        assert [part[name]["status"] for name in ("succeeded", "aborted", "canceled")] == [4, 6, 5]
    else:
        assert ["aborted" in part["aborted"]["text"], "canceled" in part["canceled"]["text"]] == [True, True]


def test_refused_goals_of_actions(part: Report) -> None:
    assert part["stopped"] is True
    for name, reason in (("rejected", "Action goal was rejected"), ("unknown", "No action server available")):
        end = part[name]
        assert end["way"] == "error"
        assert reason in (end.get("text") or end["values"])
        assert end["feedback"] is None


def test_pictures_are_images(part: Report, client: str) -> None:
    assert "jpeg" in part["format"]
    assert part["frame"] == "front_camera_color_optical_frame"
    assert part["magic"] == "ffd8ff"
    assert part["depth"] == [640, 480, "16UC1", 640 * 480 * 2]
    if client == "roslib":
        assert part["cbor"] == ["Uint8Array", "ffd8ff"]
        assert part["png"] == "base_footprint"
