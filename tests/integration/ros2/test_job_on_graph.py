"""The main job on a real ROS graph in wall time, over a slow link that loses packets and a bridge that restarts.

QUARTET_GRAPH_JOBS=10 repeats the job; with -s each job says how it ended. QUARTET_GRAPH_EVENTS=1 shows its events.
QUARTET_ROSBRIDGE names a program that starts rosbridge_websocket and rosapi at the port in its first argument; without
it the bridge is that of bridge_on_graph.py.
"""

import itertools
import os
import random
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from quartet_benchmarks.chaos.tcp_proxy import TcpProxy
from quartet_cli.commands.up import SENTENCE
from quartet_contracts import State, TaskSubmission
from quartet_contracts.journal import ToolReturned
from quartet_deployment import SERVERS, Stack, StackOptions
from quartet_site import RobotFile, load_robot
from support.frame_relay import without_effort
from support.graph_relay import GraphRelay, graph_names
from support.wall_time import WallTime

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
DELAY_S, LOSS = 0.1, 0.01
HEARTBEAT_TIMEOUT_S = 1.0
"""Of the guard: a packet that is sent again is late by up to 0.4 s, and the heartbeats behind it too."""
OUTAGE_S = 3.0
RESTARTS_S = 10.0, 60.0
"""When the bridge restarts, after the job's begin."""
LIMIT_S = 600.0
JOBS = int(os.environ.get("QUARTET_GRAPH_JOBS", "1"))
CAN, TABLE = "red coke can", "wooden coffee table"
pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]


def topics_of(robot_file: RobotFile) -> dict[str, str]:
    """The robot's topics without /clock and without a status of the gripper."""
    topics = {
        "/tf": "tf2_msgs/msg/TFMessage",
        "/tf_static": "tf2_msgs/msg/TFMessage",
        "/odom": "nav_msgs/msg/Odometry",
        "/amcl_pose": "geometry_msgs/msg/PoseWithCovarianceStamped",
        "/joint_states": "sensor_msgs/msg/JointState",
        "/battery_state": "sensor_msgs/msg/BatteryState",
        "/robot_guard/state": "diagnostic_msgs/msg/DiagnosticStatus",
    }
    for camera in (robot_file.cameras.front, robot_file.cameras.arm):
        topics[camera.colour_topic] = "sensor_msgs/msg/CompressedImage"
        topics[camera.depth_topic] = "sensor_msgs/msg/Image"
        topics[camera.info_topic] = "sensor_msgs/msg/CameraInfo"
    return topics


class Deployment:
    """A stack whose servers reach the simulated robot over a graph, and the slow link to it."""

    def __init__(self, stack: Stack, proxy: TcpProxy, graph: GraphRelay) -> None:
        self.stack, self.proxy, self.graph = stack, proxy, graph

    def truth(self) -> dict[str, Any]:
        return httpx.get(f"{self.stack.scoring_url}/truth", timeout=60).raise_for_status().json()

    def begin(self, number: int) -> int:
        """Begin an episode with the can in the kitchen, as the sentence says; return its seed."""
        found = -1
        for seed in itertools.count():
            body = {"seed": seed}
            httpx.post(f"{self.stack.scoring_url}/reset", json=body, timeout=60).raise_for_status()
            found += self.truth()["objects"][CAN]["area"] == "kitchen"
            if found == number:
                return seed
        raise AssertionError("no seed is left")

    def wait_for_robot(self) -> None:
        end = time.monotonic() + 120
        for server in SERVERS:
            while not (health := httpx.get(f"{self.stack.url_of(server)}/health", timeout=60).json())["bridge"]:
                assert time.monotonic() < end, f"{server} does not reach the robot: {health}"
                time.sleep(0.1)


@pytest.fixture(scope="module")
def deployment(
    interfaces_python: Path, ros_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    site = tmp_path_factory.mktemp("site") / "home"
    shutil.copytree(HOME, site)
    with (site / "robot.yaml").open("a") as file:
        file.write(f"heartbeat: {{guard_timeout_s: {HEARTBEAT_TIMEOUT_S}}}\n")
    robot_file = load_robot(site / "robot.yaml")
    with TcpProxy("the bridge", delay_s=DELAY_S, loss=LOSS) as proxy:
        options = StackOptions(
            state_dir=tmp_path_factory.mktemp("stack"),
            use_dotenv=False,
            start_timeout_s=250.0,
            world="home",
            site_dir=site,
            realtime=True,
            env={"QUARTET_BRIDGE_URL": f"ws://{proxy.address}"},
            env_of={"simulation": {"QUARTET_SIMULATION_HEARTBEAT_TIMEOUT": str(HEARTBEAT_TIMEOUT_S)}},
        )
        command = [interfaces_python, "-m", "quartet_bringup.static_transforms"]
        with subprocess.Popen(command, env=ros_environment) as merging, ExitStack() as cleanup:
            cleanup.callback(merging.kill)
            stack = cleanup.enter_context(Stack(options))
            names = graph_names(robot_file, topics_of(robot_file))
            graph = GraphRelay(
                interfaces_python,
                ros_environment,
                stack.bridge_url,
                names,
                changes=(WallTime(), without_effort),
                rosbridge=os.environ.get("QUARTET_ROSBRIDGE"),
            )
            cleanup.callback(graph.close)
            proxy.forward_to(graph.port)
            deployed = Deployment(stack, proxy, graph)
            deployed.wait_for_robot()
            yield deployed


@pytest.mark.parametrize("number", range(JOBS))
def test_main_job(deployment: Deployment, number: int) -> None:
    seed = deployment.begin(number)
    deployment.wait_for_robot()
    after = random.Random(number).uniform(*RESTARTS_S)
    restart = threading.Timer(after, deployment.graph.restart_bridge, [OUTAGE_S])
    began = time.monotonic()
    restart.start()
    with deployment.stack.api() as api:
        task_id = api.submit(TaskSubmission(sentence=SENTENCE, timeout_s=LIMIT_S)).task.task_id
        errors = Counter[str]()
        for event in api.events(task_id):
            if isinstance(event.event, ToolReturned) and not event.event.ok:
                errors[str(event.event.error_code)] += 1
            if os.environ.get("QUARTET_GRAPH_EVENTS"):
                print(f"{time.monotonic() - began:6.1f} {str(event.event.model_dump(mode='json'))[:600]}")
        took = time.monotonic() - began
        status = api.task(task_id)
    restart.join()
    can = deployment.truth()["objects"][CAN]
    delivered = can["on"] == TABLE and not can["held"]
    summary = status.report.summary if status.report else ""
    how = "delivered" if delivered else "NOT delivered"
    print(
        f"\njob {number} (seed {seed}): {how}, {status.state} after {took:.0f} s, bridge restarted at {after:.0f} s, "
        f"load {os.getloadavg()[0]:.1f}, errors on the way {dict(errors)}; {summary}",
        flush=True,
    )
    assert took > after, "the bridge restarted after the job"
    assert (status.state, delivered) == (State.SUCCEEDED, True), summary
