"""The tools that each agent shows its model, made by its own code from the listings of the real servers."""

import asyncio
import inspect
import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, MagicMock

from quartet_agent_runtime import ToolSpec, UntrustedPhrases, render_prompt, skill_report, task_report
from quartet_agent_runtime._shown_tool import shown_tool
from quartet_contracts import ARGUMENTS, MODEL_SKILLS, MODEL_TOOLS, Architecture, ResultForm, Skill
from quartet_orchestrator.mcp.tools import tools_of
from quartet_orchestrator.tasks.briefs import make_briefs
from quartet_orchestrator.tasks.steps import StepTools
from quartet_orchestrator.tasks.tools import TaskTools
from quartet_robot_link import BridgeLink, Robot
from quartet_site import RobotSetup, load_robot, load_site
from quartet_tool_server import make_server

ROOT = Path(__file__).parents[2]
SITE = ROOT / "deploy" / "sites" / "home"
FILE = ROOT / "services" / "gateway" / "src" / "quartet_gateway" / "agent_tools.json"
"""The copy from which `quartet doctor --models` sends them. To renew it: python tests/support/shown_tools.py"""
SENTENCE = "put the red coke can on the wooden coffee table"
SERVERS = ("quartet_nav2", "quartet_moveit", "quartet_perception.server", "quartet_ros")
REQUEST = {
    "target_area": "kitchen",
    "next_action": "pick",
    "object_name": "red coke can",
    "target_location": "desk",
    "object_height_m": 0.1,
}
"""Arguments of the skills; each takes its own."""
Tool = dict[str, Any]


async def list_servers() -> dict[str, ToolSpec]:
    """Return every tool of the robot's servers by its full name, as they list it, without a robot."""
    robot, site, found = load_robot(SITE / "robot.yaml"), load_site(SITE / "site.yaml"), dict[str, ToolSpec]()
    link = Robot(robot, BridgeLink(robot.bridge.url))
    with tempfile.TemporaryDirectory() as folder:
        for module in SERVERS:
            server = make_server(import_module(module).SERVER, link, site, Path(folder), None)
            for tool in await server.mcp.list_tools(run_middleware=False):
                name = f"{server.name}__{tool.name}"
                found[name] = ToolSpec(name, tool.description or "", tool.parameters)
    await link.close()
    return found


def list_orchestrator() -> list[ToolSpec]:
    """Return the tools that the orchestrator lists for MCP clients."""
    tools = tools_of(MagicMock())
    return [ToolSpec(name, tool.description, tool.arguments.model_json_schema()) for name, tool in tools.items()]


async def shown_tools() -> dict[str, list[Tool]]:
    """Return the tools that each agent shows its model, in OpenAI's format.

    The keys are agents; those of an orchestrator that does not read its results from sub-agents, in the default form,
    have its architecture or form of results behind them.
    """
    listed = await list_servers()
    shown = {str(skill): _of_skill(skill, listed) for skill in MODEL_SKILLS}
    for architecture in Architecture:
        for form in ResultForm:
            options = [str(one) for one in (architecture, form) if one not in {Architecture.MULTI, ResultForm.TYPED}]
            shown[" ".join(["orchestrator", *options])] = await _of_orchestrator(architecture, form, listed)
    return shown


def as_file(shown: dict[str, list[Tool]]) -> str:
    """Return the text of FILE: a line for each agent, and for each architecture in which it shows other tools."""
    lines: dict[str, str] = {}
    for agent, tools in shown.items():
        lines.setdefault(json.dumps(tools), json.dumps(agent))
    return "{\n" + ",\n".join(f"{agent}: {tools}" for tools, agent in lines.items()) + "\n}\n"


def _of_skill(skill: Skill, listed: dict[str, ToolSpec]) -> list[Tool]:
    agent = import_module(f"quartet_{skill}").definition()
    own = {name: value for name, value in REQUEST.items() if name in ARGUMENTS[skill].model_fields}
    facts = agent.facts(
        load_robot(SITE / "robot.yaml"), load_site(SITE / "site.yaml"), ARGUMENTS[skill].model_validate(own)
    )
    specs = [*(listed[name] for name in MODEL_TOOLS[skill]), skill_report(skill).spec]
    return [shown_tool(spec, render_prompt(agent.prompt, facts)) for spec in specs]


async def _of_orchestrator(architecture: Architecture, form: ResultForm, listed: dict[str, ToolSpec]) -> list[Tool]:
    setup = RobotSetup(load_robot(SITE / "robot.yaml"), load_site(SITE / "site.yaml"))
    prompt = make_briefs({"summit": setup}, architecture, form)["summit"].system_prompt(SENTENCE)
    parameters = inspect.signature(TaskTools).parameters.values()
    tools = TaskTools(*[MagicMock() for one in parameters if one.default is one.empty])
    specs = await tools.build().list()
    if architecture is Architecture.SINGLE:
        names = dict.fromkeys(name for skill in MODEL_SKILLS for name in MODEL_TOOLS[skill])
        caller = MagicMock(tools=AsyncMock(return_value=[listed[name] for name in names]))
        specs = await StepTools(tools, caller, UntrustedPhrases([])).list()
    return [shown_tool(spec, prompt) for spec in [*specs, task_report().spec]]


if __name__ == "__main__":
    FILE.write_text(as_file(asyncio.run(shown_tools())))
