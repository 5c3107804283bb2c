"""How an agent thinks: gateway client, MCP tools, the loop, budgets, transcript, and the life of an agent process."""

from quartet_agent_runtime._agent import AgentContext, AgentDefinition, CodedAgent
from quartet_agent_runtime._alike import new_detections, new_places
from quartet_agent_runtime._approvals import ApprovalRequester
from quartet_agent_runtime._arguments import repair_arguments
from quartet_agent_runtime._http import CLOCK_PATIENCE_S, is_out_of_time
from quartet_agent_runtime._loop import Loop
from quartet_agent_runtime._model import Model, ModelAnswer, ToolCall
from quartet_agent_runtime._nameless import Spot, is_nameless, spot_of, stands_at
from quartet_agent_runtime._place_region import (
    FLOOR_M,
    FLOOR_RADIUS_M,
    PlaceRegion,
    around_drop,
    mode_of,
    opening_m,
    region_of,
)
from quartet_agent_runtime._procedures import run_turns
from quartet_agent_runtime._prompt import (
    area_facts,
    arm_facts,
    entries_meant,
    json_block,
    load_prompt,
    place_facts,
    render_prompt,
    request_message,
)
from quartet_agent_runtime._protocols import ApprovalClient, Routes
from quartet_agent_runtime._recorder import Recorder
from quartet_agent_runtime._release import LetGo, let_go, let_go_over, lies_outside, needs_release
from quartet_agent_runtime._repairs import Repair, note_repairs, resolve_name
from quartet_agent_runtime._replay import RecordedTurn, read_turns
from quartet_agent_runtime._report import Cause, Ending, ReportTool, skill_report, task_report
from quartet_agent_runtime._request_context import RequestContext
from quartet_agent_runtime._retreat import back_off_and_tuck, is_tucked, retreat, tuck
from quartet_agent_runtime._serve import run_agent, serve_agent
from quartet_agent_runtime._settings import AgentSettings, load_settings
from quartet_agent_runtime._settled_grasp import camera_shows_held, has_moved_away, settled_grasp
from quartet_agent_runtime._standstill import Observations, bring_to_standstill, describe_observations, observe
from quartet_agent_runtime._toolbox import Call, Toolbox
from quartet_agent_runtime._tools import (
    Image,
    LocalTool,
    LocalTools,
    Progress,
    ToolOutcome,
    Tools,
    ToolSpec,
    failure,
    ignore_progress,
)
from quartet_agent_runtime._untrusted import UntrustedPhrases, clean, mark_untrusted, site_names
from quartet_agent_runtime._work_clock import WorkClock
from quartet_agent_runtime.errors import (
    AgentError,
    ArgumentsError,
    ModelUnavailableError,
    PromptError,
    ToolsUnavailableError,
    VerificationError,
)
from quartet_agent_runtime.gateway import GatewayClient

__all__ = [
    "CLOCK_PATIENCE_S",
    "FLOOR_M",
    "FLOOR_RADIUS_M",
    "AgentContext",
    "AgentDefinition",
    "AgentError",
    "AgentSettings",
    "ApprovalClient",
    "ApprovalRequester",
    "ArgumentsError",
    "Call",
    "Cause",
    "CodedAgent",
    "Ending",
    "GatewayClient",
    "Image",
    "LetGo",
    "LocalTool",
    "LocalTools",
    "Loop",
    "Model",
    "ModelAnswer",
    "ModelUnavailableError",
    "Observations",
    "PlaceRegion",
    "Progress",
    "PromptError",
    "RecordedTurn",
    "Recorder",
    "Repair",
    "ReportTool",
    "RequestContext",
    "Routes",
    "Spot",
    "ToolCall",
    "ToolOutcome",
    "ToolSpec",
    "Toolbox",
    "Tools",
    "ToolsUnavailableError",
    "UntrustedPhrases",
    "VerificationError",
    "WorkClock",
    "area_facts",
    "arm_facts",
    "around_drop",
    "back_off_and_tuck",
    "bring_to_standstill",
    "camera_shows_held",
    "clean",
    "describe_observations",
    "entries_meant",
    "failure",
    "has_moved_away",
    "ignore_progress",
    "is_nameless",
    "is_out_of_time",
    "is_tucked",
    "json_block",
    "let_go",
    "let_go_over",
    "lies_outside",
    "load_prompt",
    "load_settings",
    "mark_untrusted",
    "mode_of",
    "needs_release",
    "new_detections",
    "new_places",
    "note_repairs",
    "observe",
    "opening_m",
    "place_facts",
    "read_turns",
    "region_of",
    "render_prompt",
    "repair_arguments",
    "request_message",
    "resolve_name",
    "retreat",
    "run_agent",
    "run_turns",
    "serve_agent",
    "settled_grasp",
    "site_names",
    "skill_report",
    "spot_of",
    "stands_at",
    "task_report",
    "tuck",
]
