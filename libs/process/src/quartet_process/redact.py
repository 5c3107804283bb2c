"""Keeps secrets out of whatever is written down: logs, journals, transcripts, error texts, traces.

Two nets: the values that this process was given (`remember`), and texts of the shape of a token, whoever made them.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

HIDDEN = "***"
LEAST = 8
"""Shorter values are part of ordinary words."""
SECRET_NAME = re.compile(
    r"(_APIKEY|_TOKEN|_SECRET|_PASSWORD|_ACCESS_KEY_ID|_KEY(_(?!(?:FILE|PATH|DIR)$)[A-Z]+)?)$", re.IGNORECASE
)
"""Names of variables and settings whose values are secrets."""

_PEM = r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\+[nr])*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
_JWT = r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
_PROVIDERS = ("sk", "pk", "rk", "xai", "gsk", "ghp")
_PROVIDER_KEY = (
    rf"\b(?:{'|'.join(_PROVIDERS)})[-_](?=[A-Za-z_\-.]*[0-9*])[A-Za-z0-9_\-*.]{{6,}}|\bAIza[A-Za-z0-9_-]{{30,}}"
)
_BEARER = r"\b([Bb]earer\s+|BEARER\s+)(?=[A-Za-z~+/=]*(?:[0-9_-]|\.[A-Za-z0-9]))[A-Za-z0-9._~+/=-]{6,}"
_URL_PASSWORD = r"\b([A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'\\]*):[^\s/@\"'\\]+@"
_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (("PRIVATE KEY",), re.compile(_PEM), HIDDEN),
    (("eyJ",), re.compile(_JWT), HIDDEN),
    ((*(f"{name}{sign}" for name in _PROVIDERS for sign in "-_"), "AIza"), re.compile(_PROVIDER_KEY), HIDDEN),
    (("earer", "BEARER"), re.compile(_BEARER), rf"\g<1>{HIDDEN}"),
    (("://",), re.compile(_URL_PASSWORD), rf"\g<1>:{HIDDEN}@"),
)
"""What gives a shape away, its pattern, and what stands in its place."""


class _Known:
    """The values that this process was given."""

    def __init__(self) -> None:
        self._values: tuple[str, ...] = ()

    def add(self, values: Iterable[str]) -> None:
        new = {form for value in values if len(value) >= LEAST for form in _forms(value)}.union(self._values)
        # The longest first, so that none is found inside another.
        self._values = tuple(sorted(new, key=len, reverse=True))

    def hide(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, HIDDEN)
        return text


def _forms(value: str) -> set[str]:
    """`value` as it is, and as JSON text says it with and without \\u escapes."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}


_known = _Known()


def remember(*values: str) -> None:
    """Hide these from now on. Of a PEM every line of its body is hidden, since a text may hold it in pieces."""
    for value in values:
        if value.startswith("-----BEGIN"):
            _known.add(line for line in value.splitlines() if not line.startswith("-----"))
        else:
            _known.add([value])


def remember_environment(environment: Mapping[str, str]) -> None:
    """Hide the values of the variables whose names say that they are secrets."""
    remember(*(value for name, value in environment.items() if SECRET_NAME.search(name)))


def redact(text: str) -> str:
    """`text` with *** in place of each secret. Of JSON text the result is JSON with the same structure."""
    text = _known.hide(text)
    # Every event of every task passes here: a pattern is tried only where a part of it that is quickly found is there.
    for marks, pattern, instead in _SHAPES:
        if any(mark in text for mark in marks):
            text = pattern.sub(instead, text)
    return text


def redact_bytes(data: bytes) -> bytes:
    """The same for UTF-8, and for what should be it."""
    text = data.decode("utf-8", "surrogateescape")
    safe = redact(text)
    return data if safe is text or safe == text else safe.encode("utf-8", "surrogateescape")


def redact_all(value: Any) -> Any:
    """The same for every text in lists and dictionaries, keys excepted; other values are returned as they are."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: redact_all(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [redact_all(one) for one in cast("list[Any]", value)]
    return value


def shown(name: str, value: object, most: int = 100) -> str:
    """`value` of the setting `name` as an error message may show it."""
    return HIDDEN if SECRET_NAME.search(f"_{name}") else redact(repr(value))[:most]


class RedactingFilter(logging.Filter):
    """Redacts every record that passes."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            said = record.getMessage()
        except Exception:
            # A format that does not fit its arguments must not stop the code that logs.
            said = f"{record.msg} {record.args!r}"
        record.msg, record.args = redact(said), None
        if record.exc_info:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        return True
