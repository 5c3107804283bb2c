"""`quartet bench emos`: unlike robots share tasks in buildings out, as in the EMOS paper."""

from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.emos.study import STUDY
from quartet_research.harness import experiment

SHORT = {"framework": ("emos", "oracle", "all-to-one"), "tasks": ("mobility", "perception", "height"), "episodes": 1}


def run(parameters: BenchParameters) -> BenchResult:
    """Play the episodes that the options name, or merge shards. Raises OptionError, MissingExtraError."""
    options = dict(parameters.options)
    if "merge" not in options:
        options = {"seed": parameters.seed, "episodes": parameters.episodes, **options}
    if parameters.short:
        options = SHORT | {name: value for name, value in options.items() if value is not None}
    return experiment.run(STUDY, parameters, options)
