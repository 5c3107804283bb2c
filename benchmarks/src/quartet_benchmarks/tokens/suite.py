"""Runs the main job, keeps every request to the model, and counts their tokens."""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.main_job import MAIN_JOB, run_main_job
from quartet_benchmarks.prices import counts_as, tokenizer
from quartet_benchmarks.result import START_TIMEOUT_S, BenchParameters, BenchResult
from quartet_benchmarks.serving import served
from quartet_benchmarks.tokens.count import IMAGE_TOKENS, PARTS, count_request, picture_bytes
from quartet_deployment import Stack, StackOptions, state_folder
from quartet_scripted_model import AGENTS, Settings, agent_of, create_app

MODEL = "openai/gpt-4o"
"""Whose tokens are counted, unless --model names another."""
OTHER = "other"
"""Whose requests offer the report tool of no agent."""
Body = dict[str, Any]


class Requests:
    """Keeps the requests that a scripted model gets; none of its answers goes wrong."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []

    def draw(self, body: Body) -> None:
        """Keep a request. See quartet_scripted_model.app.Choice."""
        self.bodies.append(body)


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; one job. Raises OptionError, StackError, MeasurementError."""
    model = _one_model(parameters.options.get("model") or [MODEL])
    return summary(_requests_of_a_job(state_folder() / "bench-tokens", parameters.seed), model, parameters.seed)


def _one_model(names: Sequence[str]) -> str:
    if len(names) > 1:
        raise OptionError(f"model {', '.join(names)}: tokens are counted for one model at a time; give --model once")
    return names[0]


def _requests_of_a_job(folder: Path, seed: int) -> list[Body]:
    """Return all requests of the main job to the scripted model. Raises StackError, MeasurementError."""
    kept = Requests()
    with served(create_app(Settings(), kept)) as url:
        options = StackOptions(
            state_dir=folder,
            fresh=True,
            use_dotenv=False,
            # A self-hosted model that is configured to read images.
            env_of={
                "gateway": {
                    "QUARTET_MODEL": "hosted_vllm/scripted",
                    "QUARTET_MODEL_API_BASE": f"{url}/v1",
                    "QUARTET_MODEL_TAKES_IMAGES": "true",
                }
            },
            without=frozenset({"scripted_model"}),
            start_timeout_s=START_TIMEOUT_S,
        )
        with Stack(options) as stack:
            run_main_job(stack, seed)
    return kept.bodies


def summary(bodies: list[Body], model: str, seed: int) -> BenchResult:
    """Return the tokens of all requests of one job by agent and part, as `model` counts them."""
    tokens = tokenizer(model)
    sums: dict[str, defaultdict[str, int]] = {agent: defaultdict(int) for agent in (*AGENTS, OTHER)}
    details: list[dict[str, Any]] = []
    for body in bodies:
        agent, parts = agent_of(body.get("tools") or []) or OTHER, count_request(body, tokens)
        sums[agent]["calls"] += 1
        for part, count in parts.items():
            sums[agent][part] += count
        details.append({"agent": agent, **parts, "total": sum(parts.values())})
    rows = [_row(agent, sums[agent]) for agent in sums if sums[agent]["calls"]]
    whole = {part: sum(one[part] for one in sums.values()) for part in (*PARTS, "calls")}
    rows.append(_row("all", whole))
    total = sum(whole[part] for part in PARTS if part != "images")
    pictures = sum(map(picture_bytes, bodies))
    return BenchResult(
        "tokens",
        {"seed": seed, "counted": counts_as(model), "model": "scripted"},
        {
            "turns_multi": whole["calls"],
            "tokens_in_multi": total,
            "tokens_in_per_turn": total / max(1, whole["calls"]),
            "picture_bytes_multi": pictures,
            "picture_share": pictures / max(1, sum(len(json.dumps(body)) for body in bodies)),
            **{f"{part}_tokens": whole[part] for part in PARTS},
        },
        rows,
        details,
        [
            f"Tokens of all requests of one run of: {MAIN_JOB}. Counted offline {counts_as(model)}; "
            f"an image counts as {IMAGE_TOKENS}, which tokens_in_multi leaves out. picture_bytes, picture_share: what "
            "images take of all bytes sent, for a model that reads images. "
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
