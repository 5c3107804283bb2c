"""The task of Inspect: each sample is one instance of a world that a team brings to its end."""

import functools
from dataclasses import asdict

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from quartet_benchmarks.prices import tokenizer
from quartet_research.harness.models import asker
from quartet_research.harness.run import MOST_TOKENS_OUT
from quartet_research.harness.shards import read_shard
from quartet_research.planners.grid_worlds import make, reference
from quartet_research.planners.options import HISTORY, Experiment
from quartet_research.planners.trial import play
from quartet_teams import Window, make_team

SCORER, TRIAL = "outcome", "trial"


@task
def planners(
    framework: str = "hmas2",
    world: str = "boxnet1",
    robots: list[int] | None = None,
    trials: int = 10,
    seed: int = 0,
    history: str = "pairs",
    shard: str = "1/1",
) -> Task:
    """Return the trials of a framework in a world; a shard has every n-th instance.

    Args:
        framework: cmas, dmas, hmas1 or hmas2.
        world: boxnet1, boxnet2, warehouse or boxlift.
        robots: numbers of robots; none: the published ones.
        trials: instances of each number.
        seed: of the first instance.
        history: what a prompt tells of the past: none, pairs (states and plans) or all (the discussions, too).
        shard: number and count of shards.

    Raises:
        OptionError: a name or number that there is not.
    """
    asked = Experiment((framework,), (world,), tuple(robots or ()), trials, seed, history=(history,))
    number, count = read_shard(shard)
    samples = [
        Sample(
            id=f"{world}-{size}-{at}",
            input=f"{world} with {size} robots, seed {at}",
            metadata={"world": world, "robots": size, "seed": at},
        )
        for world, size, at in asked.instances[number - 1 :: count]
    ]
    return Task(
        name=f"{world}-{framework}-{history}",
        dataset=MemoryDataset(samples, name=world),
        solver=agree(framework, history),
        scorer=outcome(),
        config=GenerateConfig(temperature=0.0, max_tokens=MOST_TOKENS_OUT),
    )


@solver
def agree(framework: str, history: str) -> Solver:
    """Let a team play the instance; what came of it is kept for the scorer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        world, robots, seed = state.metadata["world"], state.metadata["robots"], state.metadata["seed"]
        window = Window(HISTORY[history], count=tokenizer(str(get_model())))
        trial = await play(make(world, robots, seed), make_team(framework, world), asker(state), window)
        state.store.set(TRIAL, asdict(trial))
        return state

    return solve


@scorer(
    metrics={
        "success": [mean(), stderr()],
        "steps": [mean()],
        "calls": [mean()],
        "tokens": [mean()],
    }
)
def outcome() -> Scorer:
    """Score success, steps, calls and tokens; the explanation says why a trial failed."""

    async def score(state: TaskState, target: Target) -> Score:
        trial = state.store.get(TRIAL) or {
            "succeeded": False, "steps": 0, "calls": 0, "tokens": 0, "reason": "limit of the run", "harness_s": 0.0
        }  # fmt: skip
        about = state.metadata
        return Score(
            value={"success": int(trial["succeeded"]), **{name: trial[name] for name in ("steps", "calls", "tokens")}},
            explanation=trial["reason"],
            metadata={
                "harness_s": trial["harness_s"],
                "reference_steps": reference_steps(about["world"], about["robots"], about["seed"]),
            },
        )

    return score


@functools.cache
def reference_steps(world: str, robots: int, seed: int) -> int:
    """Return the steps that the reference solution of an instance takes."""
    return reference(make(world, robots, seed)).steps
