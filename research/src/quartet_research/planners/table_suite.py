"""`quartet bench armtable`: the four teams at a table with three and six arms."""

from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.harness import experiment
from quartet_research.planners.arm_table import ARM_COUNTS
from quartet_research.planners.study import ARM_TABLE

FAULT_RATES = (0.0, 0.2)


def run(parameters: BenchParameters) -> BenchResult:
    """Play every team and number of arms; with `short` three arms, one seed and no faults. Raises OptionError."""
    options = {"trials": parameters.episodes, **parameters.options}
    if not parameters.options:
        options["seed"] = parameters.seed
        options["p_fault"] = FAULT_RATES[:1] if parameters.short else FAULT_RATES
    if parameters.short:
        options = {"robots": ARM_COUNTS[:1], "trials": 1} | {k: v for k, v in options.items() if v is not None}
    return experiment.run(ARM_TABLE, parameters, options)
