"""One episode in one architecture, and the file of those that a run has played."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.home.outcome import Outcome
from quartet_benchmarks.result import commit
from quartet_contracts import JournalEvent
from quartet_contracts.journal import ModelTurn

FIGURES = ("wall_s", "model_turns", "tool_calls", "prompt_tokens", "completion_tokens", "cost_usd")
"""Figures of a task that are kept."""
FILE = "episodes.jsonl"
"""In the folder of a run: what it is of, and an episode in each further line."""


@dataclass(frozen=True)
class Played:
    """What became of one episode in one of VARIANTS."""

    variant: str
    number: int
    seed: int
    template: str
    sentence: str
    verdict: str
    right: bool
    false_success: bool
    broke_down: bool
    state: str
    codes: list[str]
    harm: dict[str, list[str]]
    """Sentences by kind."""
    summary: str
    sim_s: float | None
    """Simulated time [s]; None when it broke down."""
    figures: dict[str, float]
    """Those of FIGURES that are known: none when it broke down."""
    calls: list[str]
    """Names of all calls that models wanted, whichever model it was, in order."""
    prompt_sizes: list[int] | None
    """Tokens of each prompt; None where the model alone counts them."""
    commit: str
    """Of Quartet, when it was played."""

    @classmethod
    def of(cls, variant: str, outcome: Outcome, sizes: list[int] | None) -> Self:
        """Return an outcome as it is kept."""
        return cls(
            variant=variant,
            number=outcome.number,
            seed=outcome.seed,
            template=outcome.episode.template,
            sentence=outcome.episode.sentence,
            verdict=outcome.verdict,
            right=outcome.right,
            false_success=outcome.false_success,
            broke_down=outcome.broke_down,
            state=outcome.state.value,
            codes=outcome.codes,
            harm=outcome.harm.kinds,
            summary=outcome.summary,
            sim_s=round(outcome.sim_s, 2) if math.isfinite(outcome.sim_s) else None,
            figures={name: outcome.metrics[name] for name in FIGURES if name in outcome.metrics},
            calls=calls_of(outcome.journal),
            prompt_sizes=sizes,
            commit=commit(),
        )

    @property
    def harmed(self) -> bool:
        """Whether anything was harmed."""
        return any(self.harm.values())

    @property
    def tokens_in(self) -> int:
        """Tokens of all prompts."""
        return int(self.figures.get("prompt_tokens", 0)) if self.prompt_sizes is None else sum(self.prompt_sizes)


class PlayedFile:
    """Episodes of a run, each in the file before the next one begins.

    Args:
        folder: of the run.
        about: what the episodes have in common, such as model and seed.
        goes_on: whether episodes that the file has count; else it is begun anew, unless it is of another model.

    Raises:
        OptionError: the file is of another run, or cannot be read.
    """

    def __init__(self, folder: Path, about: dict[str, Any], *, goes_on: bool) -> None:
        self._path = folder / FILE
        self.episodes: list[Played] = []
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._path.exists() and (goes_on or not self._is_of(about["model"])):
            self.episodes = self._read(about)
        else:
            self._path.write_text(json.dumps(about) + "\n")

    def add(self, one: Played) -> None:
        """Keep an episode."""
        self.episodes.append(one)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(one)) + "\n")

    def count(self, variant: str) -> int:
        """Return how many episodes of a variant there are; they are the first ones."""
        return sum(one.variant == variant for one in self.episodes)

    def _is_of(self, model: str) -> bool:
        try:
            return json.loads(self._path.read_text().partition("\n")[0])["model"] == model
        except (ValueError, TypeError, KeyError):
            return False

    def _read(self, about: dict[str, Any]) -> list[Played]:
        # A process that was killed may have left half a line.
        *lines, torn = self._path.read_text().split("\n")
        try:
            header, *rest = map(json.loads, lines)
            episodes = [Played(**one) for one in rest]
        except (ValueError, TypeError) as error:
            raise OptionError(f"{self._path} cannot be read: {error}; give another --out, or remove it") from error
        if header != about:
            told = ", ".join(f"{name} {header.get(name)} and not {value}" for name, value in about.items())
            raise OptionError(f"{self._path} is of another run ({told}); give another --out")
        if torn:
            self._path.write_text("".join(f"{line}\n" for line in lines))
        return episodes


def calls_of(journal: Sequence[JournalEvent]) -> list[str]:
    """Return the names of all calls that models wanted, whichever model it was, in order."""
    return [call.tool for one in journal if isinstance(one.event, ModelTurn) for call in one.event.calls]
