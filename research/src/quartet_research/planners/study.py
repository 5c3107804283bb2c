"""Studies of Chen et al. (ICRA 2024): teams that plan for many robots in grid worlds, and for arms at a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_research.harness.options import names_in
from quartet_research.harness.study import Case, Record, Report, Study
from quartet_research.planners.options import HISTORY, Experiment, read_experiment
from quartet_research.planners.own_teams import load_team
from quartet_research.planners.report import make_report
from quartet_research.planners.speakers import Faults, Speakers
from quartet_research.planners.table import Entry
from quartet_research.planners.trial import Trial, play
from quartet_research.planners.worlds import TABLE, make, reference_steps
from quartet_teams import Model, Window


class Planners(Study):
    """Teams in the worlds of the planners.

    Args:
        name: of the suite.
        world: the only one that can be played; empty: any.
    """

    trial = Trial

    def __init__(self, name: str, world: str = "") -> None:
        self.name = name
        self._world = world

    def read(self, options: Mapping[str, Any]) -> Experiment:
        """Return the experiment that the options name; a suite may be a YAML file. Raises OptionError."""
        if not self._world:
            return read_experiment(options)
        if names_in(options.get("suite", self._world)) != (self._world,):
            raise OptionError(f"suite: '{self.name}' is one world; use `quartet bench planners` for others")
        return read_experiment({**options, "suite": (self._world,)})

    def speakers(self, rate: float, case: Case) -> Model:
        """Return speakers that read the world from its text."""
        return Speakers(Faults.equal(rate), seed=case.instance["seed"])

    async def play(self, case: Case, model: Model, count: Callable[[str], int]) -> Trial:
        """Let the team of a case act in its world."""
        setting, instance = case.setting, case.instance
        window = Window(HISTORY[setting["history"]], count=count)
        world = make(setting["world"], instance["robots"], instance["seed"])
        return await play(world, load_team(setting["framework"], setting["world"]), model, window)

    def broken_off(self, case: Case, reason: str, calls: int, tokens: int) -> Trial:
        """Return a failed trial."""
        return Trial(succeeded=False, steps=0, calls=calls, tokens=tokens, reason=reason, harness_s=0.0)

    def report(self, experiment: Experiment, records: Sequence[Record]) -> Report:
        """Return success, steps, calls and tokens, with the published figures."""
        return make_report(self.name, experiment, [entry_of(record) for record in records])


def entry_of(record: Record) -> Entry:
    """Return the row of a trial."""
    setting, instance = record.case.setting, record.case.instance
    steps = reference_steps(setting["world"], instance["robots"], instance["seed"])
    history = HISTORY[setting["history"]].value
    return Entry(
        setting["world"],
        instance["robots"],
        instance["seed"],
        record.model,
        history,
        setting["framework"],
        steps,
        record.trial,
    )


STUDY = Planners("planners")
ARM_TABLE = Planners("armtable", TABLE)
