"""A sentence as a list of plain words."""

import re

from quartet_scripted_model.language.lexicon import AFTER_MODAL, MODAL_SUBJECTS, MODALS, NOT_BEFORE_MODAL, PHRASES

_WORD = re.compile(r"[a-z0-9']+|[.;!?]|[,:()&]")
_IS = re.compile(r"\b(that|which|it|there|here|where|what|who)'?s\b")
_LONGEST = max(len(p.split()) for p in PHRASES)


def tokens(sentence: str) -> list[str]:
    """Lower-case words without apostrophes; "." ends a sentence, "," joins; fixed expressions are one word."""
    text = sentence.lower().replace("’", "'").replace("->", " to ").replace("→", " to ")
    text = text.replace("_", " ").replace("-", " ").replace("/", " , ")
    text = _IS.sub(r"\1 is", text).replace("you're", "you are").replace("youre", "you are")
    found = _WORD.findall(text)
    return _modals(_verbs_of_waste(_phrases([_plain(t) for t in found])))


def plain_words(name: str) -> tuple[str, ...]:
    """A name of the facts as the tokens that a sentence would have for it."""
    text = name.lower().replace("’", "'").replace("_", " ").replace("-", " ")
    return tuple(_plain(t) for t in re.findall(r"[a-z0-9']+", text))


def singular(word: str) -> str:
    """The word without a plural ending, where it looks like one."""
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses", "oes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _plain(token: str) -> str:
    if token in ".;!?":
        return "."
    if token in {",", ":", "(", ")", "&"}:
        return ","
    return token.replace("'", "")


def _phrases(words: list[str]) -> list[str]:
    out: list[str] = []
    i = 0
    while i < len(words):
        for n in range(min(_LONGEST, len(words) - i), 1, -1):
            replacement = PHRASES.get(" ".join(words[i : i + n]))
            if replacement is not None:
                out += replacement.split()
                i += n
                break
        else:
            out.append(words[i])
            i += 1
    return [w for w in out if w]


def _verbs_of_waste(words: list[str]) -> list[str]:
    """Turn the verbs of "trash the can" and "bin it" into "discard", since both words also name a container."""
    out: list[str] = []
    for i, word in enumerate(words):
        begins = not out or out[-1] in {".", ",", "then", "and", "please", "to"}
        following = words[i + 1] if i + 1 < len(words) else ""
        order = word in {"trash", "bin", "recycle"} and begins and following in {"the", "that", "this", "it", "them"}
        out.append("discard" if order else word)
    return out


def _modals(words: list[str]) -> list[str]:
    """Without "can you" and the like; "the can you see" keeps its can, and in "the cup can go" it is a "should"."""
    out: list[str] = []
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else ""
        before = out[-1] if out else "."
        question = before in {
            ".",
            ",",
            "then",
            "and",
            "please",
            "hey",
            "hi",
            "hello",
            "robot",
            "so",
            "ok",
            "okay",
            "if",
        }
        if word in MODALS and (following in MODAL_SUBJECTS or (following == "the" and word != "can")) and question:
            continue
        if word in {"can", "could"} and before in {"you", "we"}:
            continue
        allows = word in MODALS and following in AFTER_MODAL and before not in NOT_BEFORE_MODAL
        out.append("should" if allows else word)
    return out
