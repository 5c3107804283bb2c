"""The task of Inspect: each sample is one episode at the table that a team brings to its end."""

from dataclasses import asdict

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from quartet_research.harness.models import asker
from quartet_research.harness.run import MOST_TOKENS_OUT
from quartet_research.malmm.options import FEEDBACK, Experiment
from quartet_research.malmm.trial import play
from quartet_simulation.tabletop import TASKS, Tabletop

TRIAL = "trial"


@task
def malmm(
    framework: str = "malmm",
    tasks: list[str] | None = None,
    episodes: int = 25,
    seed: int = 0,
    feedback: str = "on",
    observation: str = "state",
    shard: str = "1/1",
) -> Task:
    """Return the episodes of a framework; a shard has every n-th.

    Args:
        framework: sa, ma or malmm.
        tasks: names of tasks; none: all nine.
        episodes: of each task.
        seed: of the first episode.
        feedback: on, or off.
        observation: state, or vision.
        shard: number and count of shards.

    Raises:
        OptionError: a name or number that there is not.
    """
    asked = Experiment((framework,), tuple(tasks or TASKS), episodes, seed, observation, (feedback,))
    samples = [
        Sample(
            id=f"{name}-{variation}-{at}",
            input=f"{name}, variation {variation}, seed {at}",
            metadata={"task": name, "variation": variation, "seed": at},
        )
        for name, variation, at in asked.part(shard)
    ]
    return Task(
        name=f"malmm-{framework}-{observation}-feedback-{feedback}",
        dataset=MemoryDataset(samples, name="tabletop"),
        solver=move(framework, FEEDBACK[feedback], observation),
        scorer=outcome(),
        config=GenerateConfig(temperature=0.0, max_tokens=MOST_TOKENS_OUT),
    )


@solver
def move(framework: str, feedback: bool, observation: str) -> Solver:
    """Let a team do the task of an episode; what came of it is kept for the scorer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        about = state.metadata
        world = Tabletop.generate(about["task"], about["variation"], about["seed"])
        trial = await play(
            world, framework, asker(state), feedback=feedback, observation=observation, seed=about["seed"]
        )
        state.store.set(TRIAL, asdict(trial))
        return state

    return solve


@scorer(metrics={"success": [mean(), stderr()], "false_success": [mean()], "calls": [mean()], "tokens": [mean()]})
def outcome() -> Scorer:
    """Score success by ground truth, a claim that is wrong, calls and tokens; the whole trial is in the metadata."""

    async def score(state: TaskState, target: Target) -> Score:
        trial = state.store.get(TRIAL) or {
            "succeeded": False, "ending": "limit of the run", "calls": 0, "tokens": 0, "executions": 0,
            "failed_executions": 0, "wall_s": 0.0,
        }  # fmt: skip
        claimed = trial["ending"] == "completed" and not trial["succeeded"]
        return Score(
            value={
                "success": int(trial["succeeded"]),
                "false_success": int(claimed),
                "calls": trial["calls"],
                "tokens": trial["tokens"],
            },
            explanation=trial["ending"],
            metadata={"trial": trial},
        )

    return score
