"""Bring the robot to rest and look at it, when a request ends in any other way than by its own report."""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from quartet_agent_runtime._conversation import truncate
from quartet_agent_runtime._model import ToolCall
from quartet_agent_runtime._recorder import Recorder
from quartet_agent_runtime._toolbox import Toolbox
from quartet_agent_runtime._tools import ToolOutcome, ignore_progress
from quartet_contracts import OBSERVE_TOOLS, STANDSTILL_TOOLS

log = logging.getLogger(__name__)

STANDSTILL_TIMEOUT_S = 5.0
OBSERVE_TIMEOUT_S = 10.0
MAX_OBSERVED = 4000
MAX_TOLD = 300
"""Characters of what one server says of a robot that it could not bring to rest."""

Observations = dict[str, tuple[ToolOutcome, list[str]]]
"""Outcome and image references by tool."""
_EVERYTHING: dict[str, dict[str, Any]] = {tool: {} for tool in OBSERVE_TOOLS}


async def bring_to_standstill(toolbox: Toolbox, recorder: Recorder) -> str:
    """Cancel whatever moves; return why it is not known that the robot rests, "" when every server has measured it.

    The text names each server that did not, and what it said, such as that the robot refused to cancel a goal. Never
    raises for a server or the journal.
    """
    outcomes = await asyncio.gather(
        *(_call(toolbox, recorder, tool, STANDSTILL_TIMEOUT_S) for tool in STANDSTILL_TOOLS)
    )
    told = {
        tool: str(outcome.content.get("message") or "") or "no standstill was measured"
        for tool, (outcome, _) in zip(STANDSTILL_TOOLS, outcomes, strict=True)
        if not (outcome.ok and outcome.content.get("standstill") is True)
    }
    return "; ".join(f"{tool}: {truncate(text, MAX_TOLD)}" for tool, text in told.items())


async def observe(
    toolbox: Toolbox, recorder: Recorder, tools: Mapping[str, dict[str, Any]] = _EVERYTHING
) -> Observations:
    """Return what each of `tools` (arguments by name) says now."""
    seen = await asyncio.gather(
        *(_call(toolbox, recorder, tool, OBSERVE_TIMEOUT_S, arguments) for tool, arguments in tools.items())
    )
    return dict(zip(tools, seen, strict=True))


def describe_observations(sight: Observations) -> str:
    """Return what the observations say in words, as text for a result. The journal has their numbers and pictures."""
    lines: list[str] = []
    for tool, (outcome, _) in sight.items():
        words = {name: value for name, value in outcome.content.items() if isinstance(value, str) and value}
        words = {name: value for name, value in words.items() if value != "NONE" and name != "text_is"}
        lines.append(f"{tool}: {json.dumps(words, ensure_ascii=False, separators=(',', ':'))}")
    share = MAX_OBSERVED // max(1, len(lines)) - 60
    return "\n".join(truncate(line, share) for line in lines)


async def _call(
    toolbox: Toolbox, recorder: Recorder, tool: str, timeout_s: float, arguments: dict[str, Any] | None = None
) -> tuple[ToolOutcome, list[str]]:
    call = ToolCall(id=f"rest_{tool}", name=tool, arguments=arguments or {})
    began = time.monotonic()
    outcome = await toolbox.call(tool, arguments or {}, ignore_progress, timeout_s=timeout_s)
    try:
        # Journaled after the call, unlike elsewhere: bringing the robot to rest must not wait for the journal.
        await recorder.called(call)
        return outcome, await recorder.returned(call, outcome, time.monotonic() - began)
    except Exception as error:
        log.warning("journal of %s: %s", tool, error)
        return outcome, []
