"""Report of an experiment with MALMM's teams, with the published figures."""

from quartet_benchmarks.result import BenchResult
from quartet_research.malmm.options import Experiment
from quartet_research.malmm.table import Entry, detail, headline, rate_lines, stack_rows, task_rows

NOTES = [
    "Success is by ground truth; a false success is a team that claims to be done when it is not. 'calls' are of the "
    "model, 'programs' those that were run.",
    "Panda with published kinematics, geometry of our own; published extents and success volumes, layouts within the "
    "arm's reach. GPT-4 in the paper: gpt-4-turbo on RLBench's own scenes.",
]
VISION_NOTE = (
    "The state comes from the wrist's and the front camera with the errors of 'typical' sensors (docs/perception.md), "
    "through the perception server's own code; names, colours and sizes of what may stand there are given to it."
)


def make_result(experiment: Experiment, entries: list[Entry]) -> BenchResult:
    """Return the tables of the episodes."""
    return BenchResult(
        suite="malmm",
        parameters={
            "seed": experiment.seed,
            "episodes": experiment.episodes,
            "observation": experiment.observation,
            "feedback": ", ".join(experiment.feedback),
        },
        metrics=headline(entries, experiment.observation),
        rows=[*task_rows(entries, experiment.observation), *stack_rows(entries)],
        details=[detail(entry) for entry in entries],
        notes=[
            *NOTES,
            *([VISION_NOTE] if experiment.observation == "vision" else []),
            *rate_lines(entries),
        ],
    )
