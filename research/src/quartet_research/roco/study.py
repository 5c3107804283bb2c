"""Study of RoCo: arms at one table that talk, and plan their motion together."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quartet_research.harness.study import Case, Record, Report, Study
from quartet_research.roco.options import HISTORY, SWITCH, Experiment, read_experiment
from quartet_research.roco.report import make_report
from quartet_research.roco.speakers import Speakers
from quartet_research.roco.trial import STEPS, STEPS_WITHOUT_FEEDBACK, Trial, play
from quartet_teams import Model
from quartet_teams.roco import Roco


class RocoStudy(Study):
    """Teams of RoCo at the table."""

    name = "roco"
    trial = Trial

    def read(self, options: Mapping[str, Any]) -> Experiment:
        """Return the experiment that the options name. Raises OptionError."""
        return read_experiment(options)

    def speakers(self, rate: float, case: Case) -> Model:
        """Return speakers that know only their own prompts."""
        return Speakers(rate, seed=case.instance["seed"])

    async def play(self, case: Case, model: Model, count: Callable[[str], int]) -> Trial:
        """Let the team of a case do its task."""
        setting = case.setting
        feedback = SWITCH[setting["feedback"]]
        team = Roco(setting["framework"], history=HISTORY[setting["history"]], feedback=feedback)
        most_steps = STEPS if feedback else STEPS_WITHOUT_FEEDBACK
        return await play(setting["task"], case.instance["seed"], team, model, most_steps=most_steps)

    def broken_off(self, case: Case, reason: str, calls: int, tokens: int) -> Trial:
        """Return a failed trial."""
        return Trial(False, 0, 0, calls, tokens, 0, 0, 0, reason, 0.0)

    def report(self, experiment: Experiment, records: Sequence[Record]) -> Report:
        """Return success, steps and attempts, with the published figures."""
        return make_report(experiment, records)


STUDY = RocoStudy()
