"""Whether a sentence is nothing but an order to stop at once, in one of many languages."""

import re
import unicodedata
from collections.abc import Collection


def _words(text: str) -> list[str]:
    """Return the words without case, accents and punctuation."""
    text = unicodedata.normalize("NFKD", text).casefold()
    return re.findall(r"[^\W_]+", "".join(one for one in text if not unicodedata.combining(one)))


_STOP = frozenset(
    _words(
        """
    stop stopp halt freeze abort estop anhalten stehenbleiben aufhoren arrete arretez arreter stoppe stoppez
    alto para pare paren parar detente detengase detener fermo ferma fermati fermatevi stanna pysahdy stopper stoppen
    zatrzymaj stoj стоп стой стойте стои стоите 停 停止 停下 停車 止まれ 止めて ストップ 멈춰 정지 dur رک قف توقف
    """
    )
)
_BESIDE = frozenset(
    _words(
        """
    please now immediately at once right away instantly it this that everything all moving robot robots the a an your
    hold there hey emergency e no ok okay must and
    bitte sofort jetzt alles roboter der an
    por favor ya ahora todo el inmediatamente robot
    s il vous plait te maintenant tout de suite tous le la immediatement
    subito adesso tutto per favore agora tudo ja o
    """
    )
)
_PHRASES = frozenset(
    {"hold it", "hold still", "stand still", "do not move", "don t move", "bleib stehen", "no te muevas"}
)


def is_stop_order(sentence: str, robots: Collection[str] = ()) -> bool:
    """Return whether the sentence orders to stop and says nothing else; names of `robots` may stand in it."""
    named = {word for robot in robots for word in _words(robot)}
    said = [word for word in _words(sentence) if word not in named]
    if " ".join(said) in _PHRASES:
        return True
    return any(word in _STOP for word in said) and all(word in _STOP or word in _BESIDE for word in said)
