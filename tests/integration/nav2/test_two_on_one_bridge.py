"""Two robots in namespaces of one ROS graph, behind one rosbridge: robot.yaml alone tells them apart."""

import re
from pathlib import Path

import pytest
import yaml

import quartet_nav2
from quartet_robot_link import Robot
from quartet_site import load_robot
from quartet_tool_server.run import with_heartbeat_timeout

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio"


@pytest.fixture(scope="module")
def pair(start_studio, tmp_path_factory):
    studio = start_studio(tmp_path_factory.mktemp("pair") / "ready.json", "--robots", "2", "--namespaces", "ada,bob")
    yield studio
    studio.end()


def below(namespace: str, folder: Path):
    """The studio's robot file with every name of the ROS graph below `namespace`, written out as a user would."""
    text = re.sub(r"_topic: (/\S+)", rf"_topic: /{namespace}\1", (STUDIO / "robot.yaml").read_text())
    fields, plain = yaml.safe_load(text), load_robot(STUDIO / "robot.yaml")
    for section in ("topics", "services", "actions"):
        names = getattr(plain, section).model_dump()
        written = fields.setdefault(section, {})
        written |= {
            key: f"/{namespace}{name}" for key, name in names.items() if isinstance(name, str) and name.startswith("/")
        }
    file = folder / f"{namespace}.yaml"
    file.write_text(yaml.safe_dump({**fields, "name": namespace}))
    return with_heartbeat_timeout(load_robot(file), 20.0)


async def test_each_server_moves_its_own_robot(pair, tmp_path, open_over):
    before = [one["pose"] for one in pair.truth()["robots"]]
    robots = {name: await Robot.open(below(name, tmp_path), url=pair.url, wait_s=60) for name in ("ada", "bob")}
    try:
        ada, bob = [await open_over(robots[name], quartet_nav2) for name in ("ada", "bob")]
        poses = [await hands.call("get_robot_pose") for hands in (ada, bob)]
        for found, true in zip(poses, before, strict=True):
            assert (found["pose"]["x"], found["pose"]["y"]) == pytest.approx(true[:2], abs=0.05)
        turned = await bob.call("spin_robot", angle=0.5)
        assert turned["ok"], turned
    finally:
        for robot in robots.values():
            await robot.close()
    after = [one["pose"] for one in pair.truth()["robots"]]
    assert after[0] == pytest.approx(before[0], abs=0.01), "ada stayed where it was"
    assert abs(after[1][2] - before[1][2]) == pytest.approx(0.5, abs=0.06)
