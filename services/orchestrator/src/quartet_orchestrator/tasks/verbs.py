"""Requests in a sentence, read from its verbs, in some languages that many people write.

In any other language nothing is known, and only the plan that the model stated counts.
"""

import re
import unicodedata
from dataclasses import dataclass

_PUT = re.compile(r"\b(put|place|bring|drop|deliver|carry|move|throw|leave|return|onto|into)\b")
_PUT_IT = re.compile(r"^\W*(?:please )?(?:put|place|bring|drop|set|lay|carry|return) (?:it|this|that|them)\b")
_HANDLE = re.compile(r"\b(put|bring|deliver|carry|throw|pick|grab|grasp|fetch|clean|clear|tidy)\b")
_MAY_HANDLE = re.compile(r"\b(move|take(?! a look)|return|leave|get(?! to))\b")
_DRIVE = re.compile(
    r"""\b(
    go|goes|drive|navigate|head|walk|travel|proceed|come|roll|visit|return|move|patrol
    |geh|gehe|gehen|fahr|fahre|fahren|komm|komme|va|vas|allez|aller|ve|anda|ir|vai|vada|andare|ga|rijd
    )\b""",
    re.VERBOSE,
)
_LOOK = re.compile(
    r"\b(look|see|check|inspect|find|tell|whether|if|what|is|are|schau\w*|sieh|regarde\w*|mira|guarda)\b"
)
_START = re.compile(
    r"\b(from|von|vom|depuis|desde)\b[^,.;]*?(?=\b(to|towards|through|via|and|then|in|ins|into|nach|zu\w?)\b|[,.;]|$)"
)
_KEPT_OUT = re.compile(
    r"\b(not|never|don.?t|avoid|without|instead of|except|nicht|ne|no|non|niet)\b[^,.;]*?(?=\b(but|sondern)\b|[,.;]|$)"
)
_REFERENCE = re.compile(
    r"\b(next to|near|close to|beside|behind|in front of|(left|right) of|neben|hinter)\b"
    r"[^,.;]*?(?=\b(on|onto|in|into|from|to|and|then|but|auf|und)\b|[,.;]|$)"
)
_PUT_DOWN = re.compile(
    r"\b(?:(?:put|place|drop)\b|(?:bring|carry|deliver|move|take)\b(?=[^,.;]*?\b(?:to|into|onto)\b))"
    r"((?:(?!\b(?:and|then|put|place|drop)\b)[^,.;])*)"
)
_REORDERED = re.compile(r"\b(before|after|bevor|nachdem|avant|apres|antes|despues)\b")
_PUT_ELSEWHERE = re.compile(
    r"""\b(
    lege|legt|legen|leg\ (das|die|den|es|sie|ihn)|stell(e|t|en)?|setze|setzt|setzen|bringe|bringt|bringen
    |wirf|werft|werfen|trag(e|t|en)?|schaffe|schafft|schaffen|platzier(e|t|en)?
    |mets|mettez|mettre|pose[rz]?\ (le|la|les|l)|depose[rz]?|apporte[rz]?|jette|jeter|jetez|ranger|rangez|deplace[rz]?
    |pon|ponlo|ponla|poner|coloca|colocar|deja\ (el|la|los|las)|dejar|lleva|llevar|trae|traer|tira|tirar|mete|meter
    |metti|mettere|posa|appoggia|porta|portare|getta|butta|lascia|sposta
    |coloque|ponha|leve|jogue|deixe|traga|mova
    |leg\ (het|de)|zet|gooi|breng|plaats
    )\b""",
    re.VERBOSE,
)
"""German, French, Spanish, Italian, Portuguese and Dutch; without words that English has as well."""
_TAKE_ELSEWHERE = re.compile(
    r"""\b(
    nimm|nehmt|nehmen|hebe|hebt|heben|greif(e|t|en)?|hol|holt|holen|hole\ (das|die|den|mir|es|sie|ihn)
    |prends|prenez|prendre|attrape[rz]?|ramasse[rz]?|saisis|saisir
    |coge|coger|toma|tomar|agarra|agarrar|recoge|recoger|levanta|levantar
    |prendi|prendere|afferra|raccogli|solleva
    |pegue|pega|apanhe
    |neem|grijp
    )\b""",
    re.VERBOSE,
)


def asks_to_put(sentence: str) -> bool:
    """Return whether a thing is to be somewhere in the end, and not in the gripper."""
    plain = _plain(sentence)
    return any(verbs.search(plain) for verbs in (_PUT, _PUT_ELSEWHERE))


def asks_to_put_it(sentence: str) -> bool:
    """Return whether a sentence asks to put something away that it does not name: what the gripper should hold."""
    return _PUT_IT.search(_plain(sentence)) is not None


@dataclass(frozen=True)
class Drives:
    """Drives that a sentence asks for.

    Attributes:
        text: The sentence without the places to start from or to keep out of.
        in_order: It names the others in the order in which to drive.
        looks: It also asks what is to be seen, so that a place in it need not be driven to.
    """

    text: str
    in_order: bool
    looks: bool


def read_drives(sentence: str) -> Drives | None:
    """Return the drives of a sentence that asks the robot to go somewhere and to move nothing, None for any other."""
    plain = _plain(sentence)
    if asks_to_handle(sentence) or not _DRIVE.search(plain):
        return None
    text = _KEPT_OUT.sub(" ", _START.sub(" ", plain))
    return Drives(text, _REORDERED.search(plain) is None, _LOOK.search(plain) is not None)


def without_references(sentence: str) -> str:
    """Return the sentence in lower case, without what it only refers to ("next to the box") or keeps out of."""
    return _KEPT_OUT.sub(" ", _REFERENCE.sub(" ", sentence.replace("’", "'").lower()))


def puts_in(sentence: str) -> list[str]:
    """Return the parts of a sentence whose last place is where a thing is to be put."""
    return _PUT_DOWN.findall(_START.sub(" ", without_references(sentence)))


def asks_to_handle(sentence: str) -> bool:
    """Return whether a thing is to be in the gripper, in the end or on the way there."""
    plain = _plain(sentence)
    return any(verbs.search(plain) for verbs in (_HANDLE, _PUT_ELSEWHERE, _TAKE_ELSEWHERE))


def may_ask_to_handle(sentence: str) -> bool:
    """Return whether a sentence that names an object asks to move it, by verbs that may also mean a drive."""
    return _MAY_HANDLE.search(_plain(sentence)) is not None


def _plain(sentence: str) -> str:
    """Return the sentence without case and accents, with one blank for each gap."""
    text = unicodedata.normalize("NFKD", sentence).casefold()
    return " ".join("".join(one for one in text if not unicodedata.combining(one)).split())
