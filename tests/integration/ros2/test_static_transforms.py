"""The node that merges static transforms, on a real ROS graph."""

import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# The first test that needs the interfaces builds them, which takes a minute of CPU time.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1000)]


def test_static_transforms_of_several_nodes_come_in_one_message(interfaces_python, ros_environment):
    node = subprocess.Popen([interfaces_python, "-m", "quartet_bringup.static_transforms"], env=ros_environment)
    try:
        read = subprocess.run(
            [interfaces_python, HERE / "static_broadcasters.py"],
            env=ros_environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
    finally:
        node.terminate()
        node.wait(60)
    assert json.loads(read.stdout) == ["frame_0", "frame_1", "frame_2"], read.stderr
