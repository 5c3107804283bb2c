"""`quartet bench malmm`: one, two or three agents let an arm do the nine tasks of the MALMM paper at a table."""

from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.harness import experiment
from quartet_research.malmm.study import STUDY

SHORT = {"framework": ("malmm",), "episodes": 1}


def run(parameters: BenchParameters) -> BenchResult:
    """Play the episodes that the options name, or merge shards. Raises OptionError, MissingExtraError."""
    options = dict(parameters.options)
    if "merge" not in options:
        options = {"seed": parameters.seed, "episodes": parameters.episodes, **options}
    if parameters.short:
        options = SHORT | {name: value for name, value in options.items() if value is not None}
    return experiment.run(STUDY, parameters, options)
