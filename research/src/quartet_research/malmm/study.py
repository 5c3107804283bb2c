"""Study of MALMM: one, two or three agents let an arm do nine tasks at a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quartet_research.harness.study import Case, Record, Report, Study
from quartet_research.malmm.options import FEEDBACK, Experiment, read_experiment
from quartet_research.malmm.report import make_result
from quartet_research.malmm.speakers import ReferenceModel
from quartet_research.malmm.table import Entry
from quartet_research.malmm.trial import Trial, play
from quartet_scripted_model.programs import Rates
from quartet_simulation.tabletop import Tabletop
from quartet_teams import Model


class Malmm(Study):
    """Teams that move an arm by programs of their own."""

    name = "malmm"
    trial = Trial

    def read(self, options: Mapping[str, Any]) -> Experiment:
        """Return the experiment that the options name; names may be separated by commas. Raises OptionError."""
        return read_experiment(options)

    def speakers(self, rate: float, case: Case) -> Model:
        """Return speakers that read task and state from the prompts."""
        return ReferenceModel(Rates.equal(rate), case.instance["seed"])

    async def play(self, case: Case, model: Model, count: Callable[[str], int]) -> Trial:
        """Let the team of a case do its task."""
        about = case.instance
        return await play(
            Tabletop.generate(about["task"], about["variation"], about["seed"]),
            case.setting["framework"],
            model,
            feedback=FEEDBACK[case.setting["feedback"]],
            observation=case.setting["observation"],
            seed=about["seed"],
        )

    def broken_off(self, case: Case, reason: str, calls: int, tokens: int) -> Trial:
        """Return a failed episode."""
        return Trial(False, reason.partition(":")[0], calls, tokens, 0, 0, 0.0)

    def report(self, experiment: Experiment, records: Sequence[Record]) -> Report:
        """Return success and false successes of each task, with the published figures."""
        return Report(make_result(experiment, [entry_of(record) for record in records]), {})


def entry_of(record: Record) -> Entry:
    """Return the row of an episode."""
    about, setting = record.case.instance, record.case.setting
    feedback = FEEDBACK[setting["feedback"]]
    return Entry(
        about["task"], about["variation"], about["seed"], record.model, setting["framework"], feedback, record.trial
    )


STUDY = Malmm()
