"""A model that claims success without having done anything: the world decides, and there is no false success."""

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from quartet_agent_runtime._skill_run import SkillRun
from quartet_contracts import Skill

Liar = Callable[..., AbstractAsyncContextManager[str]]


@pytest.fixture
def liar() -> Liar:
    """An OpenAI endpoint whose only answer is one report; yields its URL."""

    @contextlib.asynccontextmanager
    async def serve(skill: Skill, **report: Any) -> AsyncIterator[str]:
        claim = {"success": True, "error_code": "NONE", "reason": "all done, trust me", **report}
        function = {"name": f"report_{skill.value}_result", "arguments": json.dumps(claim)}
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": function}]}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            size = 0
            while line := (await reader.readline()).strip():
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            await reader.readexactly(size)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
            writer.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    return serve


async def test_approach_that_never_drove_to_an_absent_object(studio, liar):
    studio.reset("absent:red coke can")
    async with liar(Skill.APPROACH) as url:
        result = await studio.approach("studio", "red coke can", "pick", model_url=url)
    assert result.error_code == "NAV_VERIFY_OVERRIDE", studio.memory.story()
    assert "not seen" in result.reason


async def test_approach_that_never_drove_to_an_object_in_view_is_completed(studio, liar):
    """The code does the drive-in in any case, so here the claim comes true."""
    async with liar(Skill.APPROACH) as url:
        result = await studio.approach("studio", "red coke can", "pick", model_url=url)
    assert result.error_code == "NONE", studio.memory.story()
    assert abs(studio.distance("red coke can") - studio.robot.approach.standoff_m.pick) < 0.15


async def test_approach_in_another_area(studio, liar):
    """The wanted area is the far corner of the room; the robot stands in the middle."""
    corner = studio.site.areas[0].model_copy(update={"name": "corner", "outline": [(-9.0, -9), (-3, -9), (-3, -3)]})
    site = studio.site.model_copy(update={"areas": [*studio.site.areas, corner]})
    async with liar(Skill.APPROACH) as url, studio.outside(Skill.APPROACH, url) as outside:
        request = studio.request(Skill.APPROACH, target_area="corner", object_name="red coke can", next_action="pick")
        robots = {name: replace(known, site=site) for name, known in outside.robots.items()}
        result = await SkillRun(request, replace(outside, robots=robots)).run()
    assert result.error_code == "NAV_DRIVE_FAILED", studio.memory.story()
    assert "outside of corner" in result.reason


async def test_a_claim_of_a_wrong_area_is_settled_by_the_site(studio, liar):
    """A robot elsewhere did not drive: the code drives it, and nobody is sent to look for another area."""
    async with liar(Skill.APPROACH, success=False, error_code="NAV_AREA_WRONG") as url:
        result = await studio.approach("studio", "red coke can", "pick", model_url=url)
        assert result.error_code == "NONE", studio.memory.story()
        result = await studio.approach("garage", "red coke can", "pick", model_url=url)
    assert result.error_code == "NAV_AREA_WRONG", studio.memory.story()


async def test_approach_never_drives_with_the_arm_out(studio, liar):
    """The liar left the arm stretched; the code tucks it before the base moves."""
    up = {"position": [0.6, 0.0, 1.3], "orientation": [0.7071, 0.7071, 0.0, 0.0], "frame_id": "base_footprint"}
    raised = await studio.call("moveit__plan_and_execute", group=studio.robot.arm.group, target_type="pose", target=up)
    assert raised.ok, raised
    async with liar(Skill.APPROACH) as url:
        result = await studio.approach("studio", "red coke can", "pick", model_url=url)
    assert result.error_code == "NONE", studio.memory.story()
    tools = studio.memory.tools()
    assert tools.index("moveit__plan_and_execute") < tools.index("nav2__approach_target")


async def test_pick_that_grasped_nothing(studio, liar):
    async with liar(Skill.PICK, held_object_height_m=0.12) as url:
        result = await studio.pick("red coke can", model_url=url)
    assert result.error_code == "PICK_ATTACH_TIMEOUT", studio.memory.story()
    assert result.held_object_height_m is None


@pytest.mark.parametrize(
    ("held", "claimed"),
    [("red cup", "red coke can"), ("green tea box", "red coke can"), ("purple toy block", "green tea box")],
)
async def test_pick_that_holds_something_else(studio, liar, held, claimed):
    studio.reset(f"in_gripper:{held}")
    async with liar(Skill.PICK) as url:
        result = await studio.pick(claimed, model_url=url)
    assert result.error_code == "PICK_WRONG_OBJECT", studio.memory.story()


@pytest.mark.parametrize("held", ["red coke can", "red cup", "green tea box", "purple toy block"])
async def test_pick_that_holds_the_right_thing(studio, liar, held):
    studio.reset(f"in_gripper:{held}")
    async with liar(Skill.PICK, held_object_height_m=0.9) as url:
        result = await studio.pick(held, model_url=url)
    assert result.error_code == "NONE", studio.memory.story()
    heights = {thing.name: thing.appearance.size_m[2] for thing in studio.site.objects}
    assert result.held_object_height_m == heights[held]


async def test_the_visible_part_of_what_is_held_is_no_height(studio, liar):
    studio.reset("in_gripper:red coke can")
    claim = {"success": False, "error_code": "PICK_HOLDING_ALREADY", "held_object_height_m": 0.076}
    async with liar(Skill.PICK, **claim) as url:
        result = await studio.pick("red coke can", model_url=url)
    assert (result.held_object, result.held_object_height_m) == ("red coke can", 0.122), studio.memory.story()


async def test_place_that_never_let_go(studio, liar):
    studio.reset("in_gripper:red coke can")
    async with liar(Skill.PLACE) as url:
        result = await studio.place("wooden table", "red coke can", model_url=url)
    assert result.error_code == "PLACE_DROP_VERIFY_FAILED", studio.memory.story()
    assert studio.truth()["held"] == "red coke can"


async def test_place_of_something_that_stands_elsewhere(studio, liar):
    """The gripper is empty and the can is in view, but on the counter."""
    async with liar(Skill.PLACE) as url:
        result = await studio.place("wooden table", "red coke can", model_url=url)
    assert result.error_code == "PLACE_DROP_VERIFY_FAILED", studio.memory.story()


async def test_place_on_the_floor_of_something_on_the_counter(studio, liar):
    async with liar(Skill.PLACE) as url:
        result = await studio.place("floor", "red coke can", model_url=url)
    assert result.error_code == "PLACE_DROP_VERIFY_FAILED", studio.memory.story()


@pytest.mark.parametrize("direction", [1.05, -1.05])
async def test_place_of_something_that_fell_beside_the_container(studio, liar, direction):
    """In plain view, a hand's breadth from the bin, which stands askew before the robot."""
    await studio.approach("studio", "bin", "container_place")
    seen = (await studio.call("perception__detect_objects", names=["bin"])).content["detections"][0]
    x, y, _ = seen["position_base"]
    studio.put_before("red coke can", x + 0.275 * math.cos(direction), y + 0.275 * math.sin(direction), 0.0)
    async with liar(Skill.PLACE) as url:
        result = await studio.place("bin", "red coke can", model_url=url)
    assert result.error_code == "PLACE_DROP_VERIFY_FAILED", studio.memory.story()
    # It was seen, so it is its place that speaks against it.
    assert "m away" in result.reason


@pytest.mark.parametrize(("scenario", "code"), [(None, "PICK_ATTACH_TIMEOUT"), ("in_gripper:red coke can", "NONE")])
async def test_what_the_orchestrators_model_claims_is_verified_without_another_model(studio, scenario, code):
    """Of an attempt that it has made itself; no model is asked, and none of the agent's own work is done before."""
    studio.reset(scenario)
    claim = {"success": True, "error_code": "NONE", "reason": "all done, trust me"}
    async with studio.outside(Skill.PICK, "http://127.0.0.1:9") as outside:
        request = studio.request(Skill.PICK, object_name="red coke can").model_copy(update={"claim": claim})
        result = await SkillRun(request, outside).run()
    assert result.error_code == code, studio.memory.story()
    assert result.usage.turns == 0
