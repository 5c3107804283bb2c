"""Runs the tasks of an experiment as an eval set of Inspect, which resumes what was begun in the same folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inspect_ai import Task, eval_set
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import Model

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import Price
from quartet_research.harness.budget import Spending, use

LOGS, SPENT = "logs", "spent-usd.txt"
"""Parts of the folder of a run."""
MOST_TOKENS_OUT = 4096
"""Tokens of one answer; a plan of a hundred robots, or one with its programs, has about as many."""


@dataclass(frozen=True)
class Limits:
    """Limits of a run; None: no limit."""

    budget_usd: float | None = None
    """Of the whole run."""
    price: Price | None = None
    """Price of the models, where it is not known."""
    token_limit: int | None = None
    """Tokens of one trial."""
    time_limit_s: int | None = None
    """Seconds of one trial."""


def run_tasks(
    tasks: list[Task], models: list[Model], prices: Mapping[str, Price], folder: Path, limits: Limits
) -> None:
    """Run the samples of the tasks that have no log in `folder` yet.

    Args:
        tasks: those of the experiment.
        models: that answer.
        prices: of the models, by their names in Inspect.
        folder: of the logs and of what was spent.
        limits: of money, tokens and time.

    Raises:
        OptionError: the folder has another experiment.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    use(Spending(folder / SPENT, prices, limits.budget_usd, MOST_TOKENS_OUT))
    try:
        eval_set(
            tasks,
            log_dir=str(folder / LOGS),
            model=models,
            # A sample that fails does not end the others; the next run of the same folder repeats it.
            fail_on_error=True,
            continue_on_fail=True,
            retry_attempts=0,
            retry_immediate=False,
            # A run that is killed loses no finished sample.
            log_buffer=1,
            # A call costs half: the live view of samples that run would write each event to a database as well.
            log_realtime=False,
            token_limit=limits.token_limit,
            time_limit=limits.time_limit_s,
            display="none",
            log_level="error",
            ctl_server=False,
        )
    except PrerequisiteError as error:
        raise OptionError(f"{folder}: {error}; another experiment needs another --out") from error
