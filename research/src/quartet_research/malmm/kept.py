"""Episodes of the reference speakers as files, so that parts of an experiment, each a process, come together again."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_research.harness.shards import require_whole, shard_folder
from quartet_research.malmm.options import Experiment
from quartet_research.malmm.table import Entry
from quartet_research.malmm.trial import Trial

FILE = "episodes.json"


def episodes_file(shard: str, out: Path) -> Path:
    """Return the file for the episodes of a shard, in its folder below `out`, which is made. Raises OptionError."""
    file = shard_folder(out, shard) / FILE
    with _writing(file):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch()
    return file


def keep_episodes(experiment: Experiment, shard: str, entries: Sequence[Entry], file: Path) -> None:
    """Write the episodes of a shard into their file. Raises OptionError."""
    content = {"experiment": asdict(experiment), "shard": shard, "episodes": [asdict(entry) for entry in entries]}
    with _writing(file):
        file.write_text(json.dumps(content, indent=1) + "\n")


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OptionError(f"{file} cannot be written: {error.strerror}; give another folder with --out") from error


def kept_files(folders: Sequence[Path]) -> list[Path]:
    """Return the files of episodes below the folders, each once."""
    return sorted({file.resolve() for folder in folders for file in folder.rglob(FILE)})


def read_kept(files: Sequence[Path]) -> tuple[Experiment, list[Entry]]:
    """Return experiment and episodes of the files of all shards.

    Raises:
        OptionError: a file that cannot be read, a shard that is missing or there twice, or several experiments.
    """
    experiments: list[Experiment] = []
    shards: list[str] = []
    entries: list[Entry] = []
    for file in files:
        try:
            content = json.loads(file.read_text())
            fields: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in content["experiment"].items()
            }
            experiments.append(Experiment(**fields))
            shards.append(content["shard"])
            entries += [Entry(**one | {"trial": Trial(**one["trial"])}) for one in content["episodes"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise OptionError(
                f"{file} is no file of episodes of this version ({error}); play that part again"
            ) from error
    told = ", ".join(map(str, files))
    if len(set(experiments)) > 1 or len({shard.partition("/")[2] for shard in shards}) > 1:
        raise OptionError(f"{told}: these are parts of several experiments; merge those of one")
    if twice := sorted({shard for shard in shards if shards.count(shard) > 1}):
        raise OptionError(f"{told}: shard {', '.join(twice)} is there more than once; give the folder of one")
    require_whole(shards)
    order = {instance: at for at, instance in enumerate(experiments[0].instances)}
    kinds = list(dict.fromkeys(entry.kind for entry in entries))
    return experiments[0], sorted(
        entries, key=lambda one: (kinds.index(one.kind), order[one.task, one.variation, one.seed])
    )
