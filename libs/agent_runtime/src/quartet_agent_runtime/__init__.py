"""How an agent thinks: gateway client, MCP tools, the loop, budgets, transcript, and the life of an agent process."""

from quartet_agent_runtime.definition import AgentDefinition
from quartet_agent_runtime.errors import AgentError, ModelUnavailable, PromptProblem, SettingsProblem, ToolsUnavailable
from quartet_agent_runtime.facts import area_facts, arm_facts, place_facts
from quartet_agent_runtime.gateway import GatewayClient, Model, ModelAnswer, ToolCall
from quartet_agent_runtime.health import HealthServer
from quartet_agent_runtime.local_tools import LocalTool, LocalTools
from quartet_agent_runtime.loop import Cause, Ending, Loop
from quartet_agent_runtime.outside import from_outside
from quartet_agent_runtime.overheard import Overheard, site_names
from quartet_agent_runtime.past import PastTurn, read_past
from quartet_agent_runtime.process import run_process
from quartet_agent_runtime.prompt import json_block, load_prompt, render_prompt, request_message
from quartet_agent_runtime.recorder import Recorder
from quartet_agent_runtime.report import ReportTool, skill_report, task_report
from quartet_agent_runtime.serve import serve_agent, unless_stopped
from quartet_agent_runtime.settings import AgentSettings, load_settings
from quartet_agent_runtime.standstill import Sight, describe_sight, look_around, observe, stand_still
from quartet_agent_runtime.toolbox import Toolbox
from quartet_agent_runtime.tools import Image, Progress, ToolOutcome, Tools, ToolSpec, failure
from quartet_agent_runtime.verification import CannotVerify, Verification

__all__ = [
    "AgentDefinition",
    "AgentError",
    "AgentSettings",
    "CannotVerify",
    "Cause",
    "Ending",
    "GatewayClient",
    "HealthServer",
    "Image",
    "LocalTool",
    "LocalTools",
    "Loop",
    "Model",
    "ModelAnswer",
    "ModelUnavailable",
    "Overheard",
    "PastTurn",
    "Progress",
    "PromptProblem",
    "Recorder",
    "ReportTool",
    "SettingsProblem",
    "Sight",
    "ToolCall",
    "ToolOutcome",
    "ToolSpec",
    "Toolbox",
    "Tools",
    "ToolsUnavailable",
    "Verification",
    "area_facts",
    "arm_facts",
    "describe_sight",
    "failure",
    "from_outside",
    "json_block",
    "load_prompt",
    "load_settings",
    "look_around",
    "observe",
    "place_facts",
    "read_past",
    "render_prompt",
    "request_message",
    "run_process",
    "serve_agent",
    "site_names",
    "skill_report",
    "stand_still",
    "task_report",
    "unless_stopped",
]
