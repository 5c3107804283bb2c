"""Trials of reference speakers in a file, a line for each, so that a run resumes and shards are merged."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_research.harness.experiment.trials import Trials
from quartet_research.harness.shards import read_shard
from quartet_research.harness.study import (
    Case,
    Experiment,
    Record,
    Study,
    load_study,
    options_of,
)

FILE = "trials.jsonl"
"""The first line names study, options and shard. Each following line is a trial."""


class KeptTrials:
    """File of the trials of a shard.

    Args:
        folder: of the run; made if it is missing.
        study: that is run.
        experiment: that is run.
        shard: number and count, such as `2/8`.

    Raises:
        OptionError: the folder cannot be written, or has another experiment.
    """

    def __init__(self, folder: Path, study: Study, experiment: Experiment, shard: str) -> None:
        self._file = folder / FILE
        self.records: dict[tuple[Any, ...], Record] = {}
        header = {"study": study.name, "options": options_of(experiment), "shard": shard}
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            whole = _whole_lines(self._file.read_bytes()) if self._file.exists() else b""
            if not whole:
                self._file.write_text(json.dumps(header) + "\n")
                return
            kept = read_kept(self._file)
            if (kept.study, kept.options, kept.shards) != (study.name, [header["options"]], [shard]):
                raise OptionError(f"{self._file} has another experiment, which needs another --out")
            os.truncate(self._file, len(whole))
        except OSError as error:
            raise OptionError(
                f"{self._file} cannot be written: {error.strerror}; give another folder with --out"
            ) from error
        self.records = {record.key: record for record in kept.records.values()}

    def add(self, record: Record) -> None:
        """Append a trial."""
        line = {
            "model": record.model,
            "setting": dict(record.case.setting),
            "instance": dict(record.case.instance),
            "trial": asdict(record.trial),
        }
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")


def read_kept(file: Path) -> Trials:
    """Return the trials of a file. Raises OptionError if the file has another content."""
    try:
        first, *lines = _whole_lines(file.read_bytes()).decode().splitlines()
        header = json.loads(first)
        study = load_study(header["study"])
        experiment = study.read(header["options"])
        records = [_record(study, json.loads(line)) for line in lines]
        shard = str(header["shard"])
        read_shard(shard)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise OptionError(f"{file} is no file of trials of this version ({error}); play that part again") from error
    found = {(record.model, record.case.name): record for record in records}
    return Trials(study.name, [options_of(experiment)], [shard], found)


def _whole_lines(content: bytes) -> bytes:
    """Return the content without the half line that a run leaves when it is killed."""
    return content[: content.rfind(b"\n") + 1]


def _record(study: Study, line: Mapping[str, Any]) -> Record:
    """Return the trial of a line. Raises KeyError, TypeError."""
    return Record(line["model"], Case(line["setting"], line["instance"]), study.trial_of(line["trial"]))


def read_all_kept(folders: Sequence[Path]) -> Trials:
    """Return the trials of all files below the folders. Raises OptionError.

    Files of several experiments and shards that occur twice are refused.
    """
    found, files = Trials(), sorted({file.resolve() for folder in folders for file in folder.rglob(FILE)})
    for file in files:
        found.add(read_kept(file))
    if any(options != found.options[0] for options in found.options):
        names = ", ".join(map(str, files))
        raise OptionError(f"{names}: these are parts of several experiments; merge those of one")
    if twice := sorted({shard for shard in found.shards if found.shards.count(shard) > 1}):
        names = ", ".join(map(str, files))
        raise OptionError(f"{names}: shard {', '.join(twice)} is there more than once; give the folder of one")
    return found
