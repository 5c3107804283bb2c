"""Runs the main job, keeps every request to the model, and counts their tokens."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.faults.endpoint import served
from quartet_benchmarks.harness.prices import tokenizer
from quartet_benchmarks.home.world import World
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_benchmarks.timing.suite import MAIN_JOB, START_TIMEOUT_S, TASK_TIMEOUT_S
from quartet_benchmarks.tokens.count import PARTS, count_request
from quartet_contracts import State, TaskSubmission
from quartet_deployment import Stack, StackOptions, state_folder
from quartet_scripted_model import Settings, create_app

MODEL = "openai/gpt-4o"
"""Whose tokens are counted, unless --model names another."""
AGENTS = ("orchestrator", "approach", "pick", "place")
REPORT = re.compile(r"report_(\w+)_result")
Body = dict[str, Any]


class Requests:
    """Keeps the requests that a scripted model gets; none of its answers goes wrong."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []

    def draw(self, body: Body) -> None:
        """Keep a request. See quartet_scripted_model.app.Choice."""
        self.bodies.append(body)


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; one job. Raises StackError, MeasurementError."""
    names = parameters.options.get("model") or [MODEL]
    bodies = requests_of_a_job(state_folder() / "bench-tokens", parameters.seed)
    return summary(bodies, names[0], parameters.seed)


def requests_of_a_job(folder: Path, seed: int) -> list[Body]:
    """Return all requests of the main job to the scripted model. Raises StackError, MeasurementError."""
    kept = Requests()
    with served(create_app(Settings(), kept)) as url:
        options = StackOptions(
            state_dir=folder,
            fresh=True,
            use_dotenv=False,
            env_of={"gateway": {"QUARTET_SCRIPTED_MODEL_URL": url}},
            without=frozenset({"scripted_model"}),
            start_timeout_s=START_TIMEOUT_S,
        )
        with Stack(options) as stack:
            world = World(stack.scoring_url)
            try:
                world.reset(seed)
            finally:
                world.close()
            with stack.api() as api:
                task_id = api.submit(TaskSubmission(sentence=MAIN_JOB, timeout_s=TASK_TIMEOUT_S)).task.task_id
                for _ in api.events(task_id):
                    pass
                status = api.task(task_id)
    if status.state is not State.SUCCEEDED:
        why = status.report.summary if status.report else ""
        raise MeasurementError(f"the job ended as {status.state}, so its tokens are not those of a job: {why}")
    return kept.bodies


def agent_of(body: Body) -> str:
    """Return the agent that sent a request, by the tool with which it reports."""
    for tool in body.get("tools") or []:
        if found := REPORT.fullmatch(tool["function"]["name"]):
            return found[1] if found[1] in AGENTS else AGENTS[0]
    return AGENTS[0]


def summary(bodies: list[Body], model: str, seed: int) -> BenchResult:
    """Return the tokens of all requests of one job by agent and part, as `model` counts them."""
    tokens = tokenizer(model)
    sums: dict[str, defaultdict[str, int]] = {agent: defaultdict(int) for agent in AGENTS}
    details: list[dict[str, Any]] = []
    for body in bodies:
        agent, parts = agent_of(body), count_request(body, tokens)
        sums[agent]["calls"] += 1
        for part, count in parts.items():
            sums[agent][part] += count
        details.append({"agent": agent, **parts, "total": sum(parts.values())})
    rows = [_row(agent, sums[agent]) for agent in AGENTS if sums[agent]["calls"]]
    whole = {part: sum(one[part] for one in sums.values()) for part in (*PARTS, "calls")}
    rows.append(_row("all", whole))
    total = sum(whole[part] for part in PARTS)
    return BenchResult(
        "tokens",
        {"seed": seed, "tokenizer": model, "model": "scripted"},
        {
            "input_tokens": total,
            "model_calls": whole["calls"],
            "input_tokens_per_call": total / max(1, whole["calls"]),
            **{f"{part}_tokens": whole[part] for part in PARTS},
        },
        rows,
        details,
        [
            f"Tokens of all requests of one run of: {MAIN_JOB}. Counted offline with LiteLLM's tokenizer for "
            f"{model}; an image counts as 765. The scripted model takes no images, one that does gets them besides. "
            "schemas: of the tools. prompt, facts: the system message. history: what the model said and called before. "
            "results: of its calls. A provider's prompt cache makes repeated parts cheaper, not fewer.",
        ],
    )


def _row(agent: str, sums: dict[str, int]) -> dict[str, Any]:
    total = sum(sums[part] for part in PARTS)
    return {
        "agent": agent,
        "calls": sums["calls"],
        **{part: sums[part] for part in PARTS},
        "total": total,
        "per call": round(total / max(1, sums["calls"])),
    }
