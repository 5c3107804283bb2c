"""What importing costs, and what the package offers."""

import subprocess
import sys

import pytest

import quartet_robot_link


def test_everything_offered_exists():
    for name in quartet_robot_link.__all__:
        assert getattr(quartet_robot_link, name) is not None
    assert quartet_robot_link.__all__ == sorted(quartet_robot_link.__all__, key=lambda n: (not n.isupper(), n))


@pytest.mark.slow
def test_servers_without_images_do_not_load_numpy():
    code = "import sys, quartet_nav2, quartet_moveit, quartet_ros; print({'numpy', 'PIL', 'cbor2'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
