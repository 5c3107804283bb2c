"""`quartet bench planners` with options: runs an experiment or a shard of it, or puts the shards together."""

from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import read_price
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.harness.run import Limits
from quartet_research.harness.shards import read_shard, shard_folder
from quartet_research.planners.experiment.logs import read_trials
from quartet_research.planners.experiment.replays import draw_trials
from quartet_research.planners.experiment.report import make_result, write
from quartet_research.planners.experiment.run import run_trials
from quartet_research.planners.options import read_experiment

FOLDER = Path("runs/planners")


def run(parameters: BenchParameters) -> BenchResult:
    """Run what the options name, as far as it has no log yet, and write the tables, or draw what was run.

    Raises OptionError.
    """
    options = {"trials": parameters.episodes, **parameters.options}
    given_out = options.pop("out", None)
    if run_folder := options.pop("replay", None):
        return draw_trials(Path(run_folder), options, given_out and Path(given_out), parameters.progress)
    out = Path(given_out or FOLDER)
    merged = [Path(path) for path in options.pop("merge", None) or ()]
    shard = options.pop("shard", None) or "1/1"
    _, count = read_shard(shard)
    limits = Limits(
        budget_usd=options.pop("budget_usd", None),
        price=read_price(options.pop("price", None)),
        token_limit=options.pop("token_limit", None),
        time_limit_s=options.pop("time_limit", None),
    )
    facts: dict[str, Any] = {"merged": ", ".join(map(str, merged))}
    folder = out
    if not merged:
        experiment = read_experiment(options)
        if count > experiment.most_shards:
            raise OptionError(f"shard {shard}: the instances of a world are enough for {experiment.most_shards} shards")
        folder = shard_folder(out, shard)
        facts = {"trials": experiment.trials, "seed": experiment.seed, "shard": shard}
        parameters.progress(f"{len(experiment.instances)} instances; logs and tables in {folder}")
        run_trials(experiment, folder, shard=shard, limits=limits, progress=parameters.progress)
    folder.mkdir(parents=True, exist_ok=True)
    entries, errors = read_trials(merged or [folder], whole=bool(merged))
    if not entries:
        raise OptionError(f"none of {len(errors)} trials was begun; the first: {next(iter(errors.values()), '')}")
    result = make_result(entries, errors, facts)
    for path in write(folder, result, entries):
        parameters.progress(f"wrote {path}")
    return result
