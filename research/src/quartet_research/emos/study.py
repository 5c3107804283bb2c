"""Study of EMOS: unlike robots share a task out by their resumes and act at the same time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quartet_research.emos.options import BASELINES, Experiment, read_experiment
from quartet_research.emos.report import make_report
from quartet_research.emos.speakers import Rates, Speakers
from quartet_research.emos.trial import Trial, play_baseline, play_team, seed_of
from quartet_research.harness.study import Case, Record, Report, Study
from quartet_teams import Model


class EmosStudy(Study):
    """Teams of EMOS in buildings, and baselines without a model."""

    name = "emos"
    trial = Trial

    def read(self, options: Mapping[str, Any]) -> Experiment:
        """Return the experiment that the options name. Raises OptionError."""
        return read_experiment(options)

    def speakers(self, rate: float, case: Case) -> Model:
        """Return speakers that know only their own prompts."""
        return Speakers(Rates.equal(rate), seed_of(case.instance["task"], case.instance["seed"]))

    async def play(self, case: Case, model: Model, count: Callable[[str], int]) -> Trial:
        """Play a case; a baseline asks no model. Raises OptionError if a body of the family is not installed."""
        framework, about = case.setting["framework"], case.instance
        if framework in BASELINES:
            return play_baseline(framework, about["task"], about["seed"], about.get("robot", ""))
        return await play_team(framework, about["task"], about["seed"], model)

    def broken_off(self, case: Case, reason: str, calls: int, tokens: int) -> Trial:
        """Return a failed trial."""
        return Trial(False, reason=reason, calls=calls, tokens=tokens)

    def report(self, experiment: Experiment, records: Sequence[Record]) -> Report:
        """Return the published tables, with the published figures."""
        return make_report(experiment, records)


STUDY = EmosStudy()
