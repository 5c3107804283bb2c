"""What was read off the world or said by another agent: it is not passed on as words of one's own.

Marked data (outside.py) keeps a text from being taken for an instruction by the model that reads it. This keeps it from
reaching a further agent: runs of words that only the outside has said are found again where a model uses them.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, cast

from quartet_agent_runtime.outside import clean
from quartet_site import SiteFile

RUN = 3
"""Words in a row that make a quotation; one or two are what any name may share with a label."""
STRUCK = "[words of a label]"
MAX_HEARD = 8_000
"""Characters of one text; what is said later in it is of no use as an instruction in a term or a reason."""
NAMING = frozenset({"label", "description", "object_name", "target_name", "attached_object"})
"""Fields of tool results in which a camera, a segmenter, a driver or a third-party server calls things by a name."""
PLAIN = (
    "the a an of on in at to from with for and or by near is not seen shows front arm wrist camera m away "
    "neither nor both nothing"
)
"""Words of our own servers and of any name, which say nothing about where a text is from."""
_WORD = re.compile(r"[^\W_]+")


def site_names(site: SiteFile) -> list[str]:
    """Everything that a site file calls by a name."""
    things = [*site.areas, *site.surfaces, *site.containers, *site.objects]
    landmarks = [landmark for area in site.areas for landmark in area.landmarks]
    return [*(name for thing in things for name in (thing.name, *thing.aliases)), *landmarks]


class Overheard:
    """Texts from outside, against the words of a person and of the site."""

    def __init__(self, own: Iterable[str]) -> None:
        self._own: set[str] = set(_words(PLAIN))
        self._runs: set[tuple[str, ...]] = set()
        self._terms: set[tuple[str, ...]] = set()
        for text in own:
            self.trust(text)

    def trust(self, text: str) -> None:
        """These are words of a person, or of the site."""
        self._own.update(_words(text))

    def allow(self, term: str) -> None:
        """One of our models calls a thing so: these words in a row are no quotation, in other company they may be."""
        self._terms.add(tuple(self.unsaid(term)))

    def hear(self, text: str) -> None:
        """This was said outside."""
        words = _words(text[:MAX_HEARD])
        self._runs.update(tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1))

    def hear_names(self, content: Any) -> None:
        """Hear what a tool's result calls things."""
        if isinstance(content, dict):
            for key, value in cast("dict[str, Any]", content).items():
                if key in NAMING and isinstance(value, str):
                    self.hear(value)
                else:
                    self.hear_names(value)
        elif isinstance(content, list):
            for value in cast("list[Any]", content):
                self.hear_names(value)

    def unsaid(self, text: str) -> list[str]:
        """The words of `text` that neither a person nor the site has said."""
        return [word for word in _words(text) if not self._is_own(word)]

    def quoted(self, text: str) -> str:
        """The first words of `text` that only the outside has said in a row, '' when there are none."""
        spans = self._quotations(text)
        return text[spans[0][0] : spans[0][1]] if spans else ""

    def strike(self, text: str) -> str:
        """`text` without what it quotes from outside."""
        text = _composed(text)
        for start, end in reversed(self._quotations(text)):
            text = f"{text[:start]}{STRUCK}{text[end:]}"
        return text

    def _is_ours(self, run: tuple[str, ...]) -> bool:
        unsaid = tuple(word for word in run if not self._is_own(word))
        size = len(unsaid)
        return not unsaid or any(unsaid == term[i : i + size] for term in self._terms for i in range(len(term)))

    def _is_own(self, word: str) -> bool:
        return word in self._own or word.isnumeric()

    def _quotations(self, text: str) -> list[tuple[int, int]]:
        """Where `text` quotes; runs that overlap are one."""
        found = list(_WORD.finditer(text))
        words = [_plain(match[0]) for match in found]
        spans: list[tuple[int, int]] = []
        for i in range(len(words) - RUN + 1):
            run = tuple(words[i : i + RUN])
            if run not in self._runs or self._is_ours(run):
                continue
            start, end = found[i].start(), found[i + RUN - 1].end()
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        return spans


def _words(text: str) -> list[str]:
    return [_plain(match[0]) for match in _WORD.finditer(_composed(text))]


def _composed(text: str) -> str:
    """Clean, and with each accent in its letter: one that stands alone would split the word."""
    return unicodedata.normalize("NFC", clean(text))


def _plain(word: str) -> str:
    """However it is written: full width, upper case, with a ligature."""
    return unicodedata.normalize("NFKC", word).casefold()
