"""`quartet bench roco`: arms that talk do the tasks of the RoCo paper."""

from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.harness import experiment
from quartet_research.roco.study import STUDY


def run(parameters: BenchParameters) -> BenchResult:
    """Play the trials that the options name, or merge shards. Raises OptionError, MissingExtraError."""
    options = dict(parameters.options)
    if "merge" not in options:
        options = {"seed": parameters.seed, "trials": parameters.episodes, **options}
    if parameters.short:
        options = {"trials": 1} | {name: value for name, value in options.items() if value is not None}
    return experiment.run(STUDY, parameters, options)
