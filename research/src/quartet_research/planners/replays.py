"""Draws trials again from their logs: a picture of each state, and all of them as an animation."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.extras import require_inspect
from quartet_benchmarks.result import BenchResult
from quartet_research.harness.experiment.command import LOG_FILES
from quartet_research.harness.experiment.kept import read_all_kept
from quartet_research.harness.speakers import speakers_name
from quartet_research.planners.grid_worlds import WORLDS, make, replay
from quartet_research.planners.options import HISTORY
from quartet_research.planners.study import entry_of
from quartet_research.planners.table import Entry
from quartet_teams import Plan

FRAME_MS, LAST_FRAME_MS = 900, 3000
FIELDS = {"framework": "team", "suite": "world", "robots": "robots", "seed": "seed", "history": "history"}
"""Field of a trial that an option chooses by."""


def draw_trials(
    folder: Path, options: Mapping[str, Any], out: Path | None, progress: Callable[[str], None]
) -> BenchResult:
    """Write `step-00.png` and following ones and `replay.gif` of each trial that the options choose.

    Args:
        folder: of a run, or one with its shards below.
        options: `framework`, `suite`, `robots`, `seed`, `history`, `model` and `p_fault`; what is not given is not
            chosen by.
        out: gets a folder for each trial; None: `replays` in the folder of the run.
        progress: is told each folder.

    Raises:
        OptionError: there is no such trial, or an option that is none of a replay.
    """
    chosen = _chooser(options)
    trials = [(entry, plans) for entry, plans in _read_plans(folder) if chosen(entry)]
    if not trials:
        raise OptionError(f"{folder} has no such trial; its trials.csv lists those that it has")
    rows: list[dict[str, Any]] = []
    for entry, plans in trials:
        name = f"{entry.world}-{entry.robots}-{entry.seed}-{entry.team}-{entry.history}-{entry.model}".replace("/", "_")
        into = (out or folder / "replays") / name
        into.mkdir(parents=True, exist_ok=True)
        frames = list(replay(make(entry.world, entry.robots, entry.seed), plans))
        for step, frame in enumerate(frames):
            frame.save(into / f"step-{step:02}.png")
        durations = [FRAME_MS] * len(plans) + [LAST_FRAME_MS]
        frames[0].save(
            into / "replay.gif", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True
        )
        progress(f"wrote {into}/replay.gif")
        rows.append(
            {
                "world": entry.world, "robots": entry.robots, "seed": entry.seed, "model": entry.model,
                "history": entry.history, "team": entry.team, "steps": entry.trial.steps,
                "failed for": entry.trial.reason, "replay": name,
            }
        )  # fmt: skip
    return BenchResult("planners", {"replay": str(folder)}, {"replays": len(rows)}, rows)


def _read_plans(folder: Path) -> list[tuple[Entry, list[Plan]]]:
    """Return the grid-world trials below a folder, in one order, with the plans that were executed.

    Raises OptionError if the folder has no trials.
    """
    found = read_all_kept([folder])
    if any(folder.rglob(LOG_FILES)):
        require_inspect("planners")
        from quartet_research.harness.experiment.inspect_logs import read_logs

        found.add(read_logs(folder))
    records = [record for record in found.records.values() if not record.broke_off]
    if not records:
        raise OptionError(f"{folder} has no trials of a run")
    in_grids = [
        (entry_of(record), list(record.trial.plans)) for record in records if record.case.setting["world"] in WORLDS
    ]
    return sorted(in_grids, key=lambda one: (*one[0].instance, one[0].team))


def _chooser(options: Mapping[str, Any]) -> Callable[[Entry], bool]:
    options = {name: value for name, value in options.items() if value not in (None, (), [])}
    if unknown := options.keys() - FIELDS.keys() - {"model", "p_fault"}:
        raise OptionError(f"{', '.join(sorted(unknown))}: a replay is chosen by {', '.join(FIELDS)}, model and p_fault")
    wanted = {FIELDS[name]: _listed(value) for name, value in options.items() if name in FIELDS}
    if unknown := [name for name in wanted.get("history", ()) if name not in HISTORY]:
        raise OptionError(f"there is no history '{unknown[0]}'; valid: {', '.join(HISTORY)}")
    if "history" in wanted:
        wanted["history"] = [HISTORY[name].value for name in wanted["history"]]
    models = [*_listed(options.get("model", ())), *map(speakers_name, _listed(options.get("p_fault", ())))]
    if models:
        wanted["model"] = models
    return lambda entry: all(getattr(entry, field) in values for field, values in wanted.items())


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
