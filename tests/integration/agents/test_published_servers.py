"""Our agents, unmodified, with the published nav2, moveit, perception and ros servers doing the work."""

import json
import urllib.request

import pytest

from quartet_contracts import new_object_id


def connected(url: str) -> dict[str, bool]:
    """Upstreams of a server, and whether it has a session with them."""
    with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:
        return json.load(answer)["upstreams"]


def metric(url: str, tool: str) -> float:
    """Calls of a tool that ended well."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    wanted = ("quartet_tool_calls_total", 'code="NONE"', f'tool="{tool}"')
    return sum(float(line.split()[-1]) for line in lines if all(word in line for word in wanted))


@pytest.mark.long
@pytest.mark.timeout(240)
async def test_a_can_is_fetched_and_put_down(published_stage):
    stage = published_stage
    approached = await stage.approach("studio", "red coke can", "pick")
    assert approached.error_code == "NONE", stage.memory.story()
    assert stage.distance("red coke can") < stage.robot.approach.standoff_m.pick + 0.3
    by_id = {"object_id": approached.object_id}
    refused = await stage.call("perception__get_topdown_grasp_pose", **by_id)
    assert refused.error_code == "UNKNOWN_OBJECT_ID", "their server knows no ids, ours would have told them"
    picked = await stage.pick("red coke can", **by_id)
    assert picked.error_code == "NONE", stage.memory.story()
    assert stage.truth()["held"] == "red coke can"
    approached = await stage.approach("studio", "wooden table", "surface_place")
    assert approached.error_code == "NONE", stage.memory.story()
    lost = new_object_id()
    placed = await stage.place("wooden table", "red coke can", target_id=lost, held_id=lost)
    assert placed.error_code == "NONE", stage.memory.story()
    assert stage.truth()["objects"]["red coke can"]["on"] == "wooden table"
    for server, upstreams in stage.UPSTREAMS.items():
        assert connected(stage.urls[server]) == dict.fromkeys(upstreams, True)
    for tool, server in (
        ("navigate_to_pose", "nav2"),
        ("plan_and_execute", "moveit"),
        ("close_gripper", "moveit"),
        ("get_topdown_grasp_pose", "perception"),
    ):
        assert metric(stage.urls[server], tool) >= 1
