"""`quartet bench` of a study: runs an experiment or a shard of it, or merges shards."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.extras import require_inspect
from quartet_benchmarks.prices import SPEAKERS, read_price
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.harness.experiment.kept import FILE, KeptTrials, read_all_kept
from quartet_research.harness.experiment.report import write_report
from quartet_research.harness.experiment.trials import Trials, merged_options
from quartet_research.harness.shards import BROKE_OFF, require_whole, shard_folder
from quartet_research.harness.study import (
    Case,
    Experiment,
    Record,
    Report,
    Study,
    cases_of,
    language_models_of,
    names_of,
    speakers_of,
)
from quartet_teams import count_tokens

WHOLE = "1/1"
COSTS = ("price", "budget_usd", "token_limit", "time_limit")
"""Options of what language models may cost."""
LOG_FILES = "*.eval"
"""Logs of Inspect."""
RUNNING = (*COSTS, "out", "shard")
"""Options of how an experiment is run."""
SPEAKERS_NOTE = f"{SPEAKERS} are rules with faults at the given rate, not language models."
LONGEST_REASON = 300
"""Characters of a reason in a note."""


def run(study: Study, parameters: BenchParameters, options: Mapping[str, Any]) -> BenchResult:
    """Run the experiment that the options name, as far as it was not run yet, or merge shards.

    Tables are written to `out`. Without it they are written to `runs/STUDY`, if there is a shard or a language model.

    Raises:
        OptionError, MissingExtraError.
    """
    given = {name: value for name, value in options.items() if value not in (None, (), [])}
    if merged := given.pop("merge", None):
        return _merge(study, [Path(folder) for folder in merged], given, parameters.progress)
    running = {name: given.pop(name) for name in RUNNING if name in given}
    experiment = study.read(given)
    shard = running.get("shard") or WHOLE
    models = language_models_of(experiment)
    if not models and (costs := [name for name in COSTS if name in running]):
        raise OptionError(f"{', '.join(costs)}: the reference speakers need no such option; give a --model")
    cases_of(experiment, shard)
    folder = shard_folder(Path(running.get("out") or Path("runs") / study.name), shard) if running or models else None
    found = Trials(study.name)
    if models:
        assert folder is not None
        found.add(_ask_models(study, experiment, folder, shard, running, parameters.progress))
    for record in play(study, experiment, shard, folder, parameters.progress):
        found.records[record.model, record.case.name] = record
    report = _report(study, experiment, found, shard)
    if folder is not None:
        if shard != WHOLE:
            report.result.parameters["shard"] = shard
        _write(folder, report, parameters.progress)
    return report.result


def play(
    study: Study, experiment: Experiment, shard: str, folder: Path | None, progress: Callable[[str], None]
) -> list[Record]:
    """Return the trials of the reference speakers of a shard; with a folder, those that it has are not played again.

    Raises OptionError: the folder cannot be written, or has another experiment.
    """
    rates = speakers_of(experiment)
    kept = KeptTrials(folder, study, experiment, shard) if folder is not None and rates else None
    records: list[Record] = []
    for model, rate in rates.items():
        for _, cases in cases_of(experiment, shard):
            own = [_play_one(study, model, rate, case, kept) for case in cases]
            records += own
            setting = ", ".join(map(str, cases[0].setting.values()))
            progress(f"{model}, {setting}: {sum(record.trial.succeeded for record in own)} of {len(own)}")
    return records


def _play_one(study: Study, model: str, rate: float, case: Case, kept: KeptTrials | None) -> Record:
    known = kept.records.get((*case.key, model)) if kept else None
    if known is not None:
        return known
    try:
        trial = asyncio.run(study.play(case, study.speakers(rate, case), count_tokens))
    except OptionError:
        raise  # no other trial could be played either
    except Exception as error:
        # A team of someone's own may raise anything. The trial counts as failed, and the next run repeats it.
        reason = f"{type(error).__name__}: {error}"
        return Record(model, case, study.broken_off(case, f"{BROKE_OFF}: {reason}", 0, 0), broke_off=reason)
    record = Record(model, case, trial)
    if kept:
        kept.add(record)
    return record


def _ask_models(
    study: Study,
    experiment: Experiment,
    folder: Path,
    shard: str,
    running: Mapping[str, Any],
    progress: Callable[[str], None],
) -> Trials:
    """Return the trials of the language models of a shard."""
    require_inspect(study.name)
    from quartet_research.harness.experiment.inspect_logs import read_logs
    from quartet_research.harness.experiment.inspect_run import run_on_inspect
    from quartet_research.harness.experiment.tasks import LOGS, Limits

    limits = Limits(
        budget_usd=running.get("budget_usd"),
        price=read_price(running.get("price")),
        token_limit=running.get("token_limit"),
        time_limit_s=running.get("time_limit"),
    )
    run_on_inspect(study, experiment, folder, shard=shard, limits=limits, progress=progress)
    # Not of the folders of other shards below.
    return read_logs(folder / LOGS)


def _merge(
    study: Study, folders: Sequence[Path], others: Mapping[str, Any], progress: Callable[[str], None]
) -> BenchResult:
    """Return the tables of all trials below the folders of the shards of an experiment."""
    out = others.get("out")
    if wrong := [name for name in others if name != "out"]:
        raise OptionError(f"{', '.join(wrong)}: --merge puts shards together; it takes no other option than --out")
    found = Trials(study.name)
    for folder in folders:
        if any(folder.rglob(LOG_FILES)):
            require_inspect(study.name)
            from quartet_research.harness.experiment.inspect_logs import read_logs

            found.add(read_logs(folder))
        elif not any(folder.rglob(FILE)):
            raise OptionError(f"{folder} has no trials of a run")
    found.add(read_all_kept(folders))
    experiment = study.read(merged_options(found.options))
    require_whole(found.shards)
    report = _report(study, experiment, found, WHOLE)
    if out:
        _write(Path(out), report, progress)
    return report.result


def _report(study: Study, experiment: Experiment, found: Trials, shard: str) -> Report:
    """Return the tables of a shard, and notes on missing and broken trials. Raises OptionError if there are none."""
    asked = names_of(experiment, shard)
    missing = found.missing(asked)
    records = [found.records[name] for name in asked if name in found.records]
    if not records:
        first = next(iter(missing.values()), "")
        raise OptionError(f"none of {len(missing)} trials was begun; the first: {first[:LONGEST_REASON]}")
    report = study.report(experiment, records)
    notes = report.result.notes
    if any(record.model.startswith(SPEAKERS) for record in records):
        notes.append(SPEAKERS_NOTE)
    if missing:
        first = next(iter(missing.values()))
        notes.append(
            f"{len(missing)} trials were not begun and are in no figure; run it again. The first: "
            f"{first[:LONGEST_REASON]}"
        )
    if broken := [record.broke_off for record in records if record.broke_off]:
        notes.append(
            f"{len(broken)} trials broke off and count as failed; run it again to complete them. The first: "
            f"{broken[0][:LONGEST_REASON]}"
        )
    return report


def _write(folder: Path, report: Report, progress: Callable[[str], None]) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in write_report(folder, report):
            progress(f"wrote {path}")
    except OSError as error:
        raise OptionError(f"{folder} cannot be written: {error.strerror}; give another folder with --out") from error
