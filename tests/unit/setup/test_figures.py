"""Figures of the documents are those of the code: a value that changes takes its sentence along."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from quartet_agent_runtime._repetition import LIMIT
from quartet_agent_runtime._toolbox import RESTART_S
from quartet_agent_runtime.gateway import MAX_ANSWER_BYTES
from quartet_benchmarks.chaos import hangs, stops, suite
from quartet_benchmarks.chaos.redis_proxy import LATE_S
from quartet_bus import BusOptions
from quartet_deployment._specs import FAST_HEARTBEAT_TIMEOUT_S
from quartet_gateway.config import GatewayFile
from quartet_gateway.models import OLLAMA_CONTEXT
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_perception.segmenters import http_endpoint, vision_llm
from quartet_perception.segmenters.open_vocabulary import queries
from quartet_perception.settings import PerceptionSettings
from quartet_process import MIN_TOKEN_LENGTH
from quartet_site import RobotFile
from quartet_stop.robot import GUARD_S, LOOK_EVERY_S

DOCS = Path(__file__).parents[3] / "docs"
NUMBERS = {3: "three", 4: "four"}
ORDINALS = {3: "third", 4: "fourth"}


def default(model: type[BaseModel], field: str) -> Any:
    return model.model_fields[field].get_default(call_default_factory=True)


BUS, RETRIES, TASKS = BusOptions(), GatewayFile().retries, GatewayFile().tasks
BEATS = default(RobotFile, "heartbeat")
FEW = suite.RUNS // suite.SHARE
SAID = {
    "durability.md": [
        f"by a lease of {BUS.lease_s:g} s that it renews every second",
        f"waits up to {RESTART_S:g} s for a server",
        f"looks again for {default(OrchestratorSettings, 'outcome_patience_s'):g} s",
        f"die {NUMBERS[BUS.delivery_cap]} times in a row",
        f"may write {BUS.journal_events:,} events",
        f"the last {'tenth' if BUS.reserve == 0.1 else BUS.reserve} of it",
        f"up to {LATE_S:g} s late",
        f"frozen for {hangs.LASTS_S:g} s",
        f"{suite.RUNS} kills, {FEW} frozen owners, {len(hangs.hangs(0))} hangs, {FEW} tasks with repeated messages",
        f"repeated messages, {stops.STOPS} stops",
    ],
    "stop.md": [
        f"`HEARTBEAT_LAPSED` | {BEATS.caller_timeout_s:g} s |",
        f"the robot guard | {BEATS.guard_timeout_s:g} s |",
        f"beside the MCP endpoint every {BEATS.every_s:g} s",
        f"the deployment waits {FAST_HEARTBEAT_TIMEOUT_S:g} s",
        f"502 when it did not within {GUARD_S:g} s",
        f"checks every {'second' if LOOK_EVERY_S == 1 else LOOK_EVERY_S}",
        f"at least {MIN_TOKEN_LENGTH} characters",
    ],
    "models.md": [
        f"retries: {{attempts: {RETRIES.attempts}, timeout_attempts: {RETRIES.timeout_attempts}, "
        f"timeout_s: {RETRIES.timeout_s:g}, total_s: {RETRIES.total_s:g}, rest_s: {RETRIES.rest_s:g}}}",
        f"({TASKS.budget_usd:g} USD and {(TASKS.budget_tokens or 0) // 10**6} million tokens by default",
        f"[tokens], {OLLAMA_CONTEXT} if left out",
        f"answered more than {MAX_ANSWER_BYTES} bytes",
        f"tells the model after the {ORDINALS[LIMIT]} call, ends before the {ORDINALS[LIMIT + 1]}",
    ],
    "perception.md": [
        f"{default(PerceptionSettings, 'segmenter_timeout_s'):g} s by default",
        f"(at most {vision_llm._MAX_PICTURE_BYTES // 1000} kB)",
        f"{http_endpoint.MAX_DETECTIONS} detections and {http_endpoint.MAX_ANSWER_BYTES // 2**20} MB",
        f"intersection over union above {queries.SAME_PLACE:g}",
    ],
}


@pytest.mark.parametrize(("document", "words"), [(name, one) for name, said in SAID.items() for one in said])
def test_a_document_says_the_figure_of_the_code(document: str, words: str) -> None:
    text = " ".join((DOCS / document).read_text(encoding="utf-8").split())
    assert words in text
