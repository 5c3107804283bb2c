"""Keeps secrets out of whatever is written down: logs, journals, transcripts, error texts, traces.

Two nets: the values that this process was given (`remember`), and texts of the shape of a token, whoever made them.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

HIDDEN = "***"
LEAST = 8
"""Shorter values are part of ordinary words."""
SECRET_NAME = re.compile(
    r"(_API_KEY|_TOKEN|_SECRET|_SECRET_KEY|_ACCESS_KEY|_ACCESS_KEY_ID|_PASSWORD|_KEY(_[A-Z]+)?)$", re.IGNORECASE
)
"""Names of variables and settings whose values are secrets."""

_PEM = r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\+[nr])*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
_JWT = r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
_PROVIDER_KEY = r"\b(?:sk|pk|rk|xai|gsk|ghp|AIza)[-_](?=[A-Za-z_\-.]*[0-9*])[A-Za-z0-9_\-*.]{6,}"
_WHOLE = re.compile(f"{_PEM}|{_JWT}|{_PROVIDER_KEY}")
_BEARER = re.compile(r"\b(Bearer\s+)(?=[A-Za-z~+/=]*(?:[0-9_-]|\.[A-Za-z0-9]))[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'\\]*):[^\s/@\"'\\]+@", re.IGNORECASE)


class _Known:
    """The values that this process was given."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, values: Iterable[str]) -> None:
        new = {value for value in values if len(value) >= LEAST} - self._values
        if new:
            self._values |= new
            # The longest first, so that none is found inside another.
            ordered = sorted(self._values, key=len, reverse=True)
            self._pattern = re.compile("|".join(re.escape(value) for value in ordered))

    def hide(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)


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
    text = _WHOLE.sub(HIDDEN, _known.hide(text))
    text = _BEARER.sub(rf"\g<1>{HIDDEN}", text)
    return _URL_PASSWORD.sub(rf"\g<1>:{HIDDEN}@", text)


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
    return HIDDEN if SECRET_NAME.search(f"_{name}") else redact(repr(value)[:most])


class RedactingFilter(logging.Filter):
    """Redacts every record that passes."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), None
        if record.exc_info:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        return True
