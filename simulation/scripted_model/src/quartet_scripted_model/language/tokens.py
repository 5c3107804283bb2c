"""A sentence as a list of plain words."""

import re
import unicodedata
from collections.abc import Collection

from quartet_scripted_model.language.lexicon import PHRASES

_TOKEN = re.compile(r"\w(?:(?:[\w'-]|(?<=\d)\.(?=\d))*\w)?'?|\.|,|:|\S")
_SHORT = {r"\b(that|which|it|there|what)'s\b": r"\1 is", r"\b(you)'re\b": r"\1 are"}
_SHORT |= {r"\b(i)'d\b": r"\1 would", r"\b(let)'s\b": r"\1 us"}
_LONGEST = max(map(len, PHRASES))


def tokens(sentence: str) -> list[str]:
    """Return lower-case words, "," ":" and "."; any other character is a token of its own."""
    text = unicodedata.normalize("NFKC", sentence).lower().replace("’", "'")
    for short, full in _SHORT.items():
        text = re.sub(short, full, text)
    return [word for token in _TOKEN.findall(re.sub("[!?;]", ".", text)) for word in _plain(token)]


def merge(words: list[str], names: Collection[tuple[str, ...]]) -> list[str]:
    """Return the words with one word for each expression of the lexicon; names of several words are left alone."""
    longest = max(_LONGEST, *map(len, names))
    out: list[str] = []
    at = 0
    while at < len(words):
        for size in range(longest, 0, -1):
            said = tuple(words[at : at + size])
            if len(said) == size and (said in PHRASES or (size > 1 and said in names)):
                out += PHRASES[said].split() if said in PHRASES else said
                break
        else:
            size = 1
            out.append(words[at])
        at += size
    return out


def plain_words(name: str) -> tuple[str, ...]:
    """Return a name of the facts, or an answer that is one, as the words that a sentence has for it."""
    text = unicodedata.normalize("NFKC", name).lower().replace("’", "'").strip(" .!?")
    return tuple(word for token in _TOKEN.findall(text) for word in _plain(token))


def _plain(token: str) -> list[str]:
    return token.replace("'", "").replace("-", " ").replace("_", " ").split() if token[0].isalnum() else [token]
