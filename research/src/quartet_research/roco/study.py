"""Study of RoCo: arms at one table that talk, and plan their motion together."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quartet_research.harness.study import Case, Record, Report, Study
from quartet_research.roco.options import Experiment, read_experiment
from quartet_research.roco.part import Trial
from quartet_research.roco.parts import PART_OF
from quartet_research.roco.report import make_report
from quartet_teams import Model


class RocoStudy(Study):
    """Teams of RoCo at the table, and what else the paper measures."""

    name = "roco"
    trial = Trial

    def read(self, options: Mapping[str, Any]) -> Experiment:
        """Return the experiment that the options name. Raises OptionError."""
        return read_experiment(options)

    def speakers(self, rate: float, case: Case) -> Model:
        """Return speakers that know only their own prompts."""
        return PART_OF[case.setting["task"]].speakers(rate, case)

    async def play(self, case: Case, model: Model, count: Callable[[str], int]) -> Trial:
        """Play a case."""
        return await PART_OF[case.setting["task"]].play(case, model)

    def broken_off(self, case: Case, reason: str, calls: int, tokens: int) -> Trial:
        """Return a failed trial."""
        return Trial(False, calls=calls, tokens=tokens, reason=reason)

    def report(self, experiment: Experiment, records: Sequence[Record]) -> Report:
        """Return success, steps and attempts, with the published figures."""
        return make_report(experiment, records)


STUDY = RocoStudy()
