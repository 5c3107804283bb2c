"""The perception suite in the common form."""

import asyncio

from quartet_benchmarks import perception
from quartet_benchmarks._result import BenchParameters, BenchResult

EPISODES, SHORT_EPISODES = 20, 4


def run(parameters: BenchParameters) -> BenchResult:
    episodes = parameters.episodes or (SHORT_EPISODES if parameters.short else EPISODES)
    found = asyncio.run(perception.run(episodes, parameters.seed))
    return BenchResult("perception", found["parameters"], found["metrics"], found["rows"])
