"""A mapping must fit the tools of the server that it is for; what it leaves out is told by name."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import quartet_moveit
import quartet_nav2
import quartet_perception.server as quartet_perception
import quartet_ros
from quartet_site import SiteFileError
from quartet_tool_server.run import make_server
from quartet_tool_server.upstream._conversions import CONVERSIONS

PACKAGES = {"nav2": quartet_nav2, "moveit": quartet_moveit, "perception": quartet_perception, "ros": quartet_ros}
QUESTION = {"success": {"has": ["x"]}}


@pytest.fixture
async def serve(robot, site_file, tmp_path, make_mapping):
    """`serve(mapping)`: our server behind it, as its process makes it; nothing is connected."""
    made = []

    def make(mapping: Any, name: str = "nav2"):
        spec = PACKAGES[name].SERVER
        made.append(make_server(spec, robot, site_file, tmp_path, None, mapping=make_mapping(mapping)))
        return made[-1]

    yield make
    for server in made:
        await server.upstream.close()


def mapping(server: str = "nav2", **changes: Any) -> dict[str, Any]:
    return {"server": server, "upstreams": {"rover": {"url": "http://127.0.0.1:1/mcp"}}} | changes


@pytest.mark.parametrize("name", sorted(PACKAGES))
async def test_the_shipped_mappings_serve_every_tool(serve, name):
    server = serve(name, name)
    own = make_names(await server.mcp.list_tools(run_middleware=False))
    assert server.upstream.check() == [], "no tool of an agent is missing"
    assert own == {*server.upstream.mapping.own, *server.upstream.mapping.tools}


def make_names(tools: Any) -> set[str]:
    return {tool.name for tool in tools}


async def test_the_mapping_of_the_documentation_is_one(serve):
    text = (Path(__file__).parents[3] / "docs" / "bring-your-own.md").read_text()
    example = next(block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "server:" in block)
    server = serve(yaml.safe_load(example))
    assert make_names(await server.mcp.list_tools(run_middleware=False)) == {
        "navigate_to_pose",
        "cancel_navigation",
        "spin_robot",
    }


def test_every_conversion_is_documented():
    text = (Path(__file__).parents[3] / "docs" / "bring-your-own.md").read_text()
    assert [name for name in CONVERSIONS if not re.search(rf"[`{{]{name}\b", text)] == []


async def test_what_agents_need_and_nothing_serves_is_told_by_name(serve, caplog):
    serve(mapping(tools={"get_robot_pose": QUESTION}, own=["cancel_navigation"]))
    assert "nav2__navigate_to_pose (approach)" in caplog.text
    assert "nav2__backup_robot (approach, pick, place)" in caplog.text
    assert "nav2__get_robot_pose" not in caplog.text
    assert "nav2__cancel_navigation" not in caplog.text


@pytest.mark.parametrize(
    ("changes", "name", "words"),
    [
        ({"server": "moveit"}, "nav2", "is for server 'moveit', this is 'nav2'"),
        ({"tools": {"fly": QUESTION}}, "nav2", "names fly, which it has not; valid: approach_target"),
        ({"own": ["fly"]}, "nav2", "names fly"),
        (
            {"tools": {"get_robot_pose": QUESTION | {"arguments": {"a": "frame"}}}},
            "nav2",
            "takes 'frame'; valid: none, $robot",
        ),
        (
            {"tools": {"spin_robot": QUESTION | {"arguments": {"a": {"fields": {"b": "speed"}}}}}},
            "nav2",
            "takes 'speed'; valid: angle",
        ),
        ({"tools": {"get_robot_pose": QUESTION | {"result": {"place": "x"}}}}, "nav2", "result has place; valid: area"),
        ({"tools": {"get_robot_pose": QUESTION | {"result": {"area": "$words"}}}}, "nav2", "valid after $: $text"),
        ({"server": "ros", "tools": {"call_service": QUESTION}}, "ros", "name it under own"),
    ],
)
async def test_what_does_not_fit_is_said_at_start(serve, changes, name, words):
    with pytest.raises(SiteFileError) as problem:
        serve(mapping(**changes), name)
    assert words in str(problem.value)


async def test_a_call_that_is_refused_is_an_answer(serve, start_foreign):
    """Of a server that takes no such argument: it was reached, so it is not unavailable."""
    rover = await start_foreign("foreign.py").wait_ready()
    where = {"tool": "where", "success": {"has": ["spot"]}, "arguments": {"frame": {"constant": "map"}}}
    chosen = mapping(tools={"get_robot_pose": where}) | {"upstreams": {"rover": {"url": rover.url}}}
    session = serve(chosen).upstream.session("rover")
    assert (await session.call("where", {"frame": "map"})).is_error
    assert not (await session.call("where", {})).is_error
    assert session.connected


async def test_an_upstreams_token_comes_from_the_environment(serve, monkeypatch):
    upstreams = {"rover": {"url": "http://127.0.0.1:1/mcp", "token_env": "ROVER_TOKEN"}}
    server = serve(mapping(upstreams=upstreams, tools={"get_robot_pose": QUESTION}))
    monkeypatch.delenv("ROVER_TOKEN", raising=False)
    assert "set ROVER_TOKEN" in (await server.upstream.survey())["rover"][0]
    monkeypatch.setenv("ROVER_TOKEN", "secret-word")
    [fault] = (await server.upstream.survey())["rover"]
    assert "cannot be used" in fault
    assert "secret-word" not in fault
