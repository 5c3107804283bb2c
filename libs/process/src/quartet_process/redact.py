"""Redaction of secrets in everything that is written: logs, journals, transcripts, error texts, traces.

Two nets: values that this process was given (`register_secret`), and any text that has the shape of a token.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

HIDDEN = "***"
MIN_SECRET_LENGTH = 8
"""Shorter values may be parts of ordinary words, so they are not hidden."""
SECRET_NAME = re.compile(
    r"(_APIKEY|_TOKEN|_SECRET|_PASSWORD|_ACCESS_KEY_ID|_KEY(_(?!(?:FILE|PATH|DIR)$)[A-Z]+)?)$", re.IGNORECASE
)
"""Matches names of variables and settings whose values are secrets."""

_PEM = r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\+[nr])*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
_JWT = r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
_PROVIDERS = ("sk", "pk", "rk", "xai", "gsk", "ghp")
_PROVIDER_KEY = (
    rf"\b(?:{'|'.join(_PROVIDERS)})[-_](?=[A-Za-z_\-.]*[0-9*])[A-Za-z0-9_\-*.]{{6,}}|\bAIza[A-Za-z0-9_-]{{30,}}"
)
_BEARER = r"\b([Bb]earer\s+|BEARER\s+)(?=[A-Za-z~+/=]*(?:[0-9_-]|\.[A-Za-z0-9]))[A-Za-z0-9._~+/=-]{6,}"
_URL_PASSWORD = r"\b([A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'\\]*):[^\s/@\"'\\]+@"
_PARAMETER = re.compile(r"([?&]([^=&#]*)=)[^&#]*")
_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (("PRIVATE KEY",), re.compile(_PEM), HIDDEN),
    (("eyJ",), re.compile(_JWT), HIDDEN),
    ((*(f"{name}{sign}" for name in _PROVIDERS for sign in "-_"), "AIza"), re.compile(_PROVIDER_KEY), HIDDEN),
    (("earer", "BEARER"), re.compile(_BEARER), rf"\g<1>{HIDDEN}"),
    (("://",), re.compile(_URL_PASSWORD), rf"\g<1>:{HIDDEN}@"),
)
"""For each shape of a secret: texts that hint at it, its pattern, its replacement."""


_QUOTED = frozenset("bfnrtu/")
"""Characters behind the backslash of an escape in JSON text, except quotation mark and backslash."""
_ALWAYS_AS_IS = re.compile(r"[A-Za-z0-9 !#$%()*+,\-.:;=?@\[\]^_`{|}~]+")
"""Matches characters that no JSON writer escapes."""


class _Known:
    """The secrets that this process was given."""

    def __init__(self) -> None:
        self._values: tuple[str, ...] = ()
        self._patterns: tuple[tuple[str, re.Pattern[str]], ...] = ()

    def add(self, values: Iterable[str]) -> None:
        # What the ends of a JSON text's string look like is left outside, so that the string keeps its ends.
        cores = {value.strip('"\\ \t\r\n') for value in values}
        # The longest first, so that none is found inside another.
        longest = sorted(
            {*self._values, *(core for core in cores if len(core) >= MIN_SECRET_LENGTH)}, key=len, reverse=True
        )
        if len(longest) > len(self._values):
            self._values = tuple(longest)
            self._patterns = tuple((_longest_as_is(value), _pattern(value)) for value in longest)

    def hide(self, text: str) -> str:
        for part, pattern in self._patterns:
            if part in text:
                text = pattern.sub(HIDDEN, text)
        return text


def _longest_as_is(value: str) -> str:
    """Return a part of `value` that every text with `value` contains unchanged."""
    return max(_ALWAYS_AS_IS.findall(value), key=len, default="")


def _pattern(value: str) -> re.Pattern[str]:
    """Return a pattern that finds `value` also where it is JSON text inside JSON text.

    `value` has no quotation mark or backslash at its ends.

    Each JSON text around another doubles the backslashes and puts one before each quotation mark, so that between the
    characters that stay there may be any number of them; a character may be escaped by its number in any of them.
    """
    said: list[str] = []
    for part in re.findall(r"\\+|[^\\]", value):
        if part[0] == "\\":
            said.append(r"\\+")
        elif part == '"':
            said.append(r"\\*" + part)
        elif part == "/":
            said.append(r"\\*/")
        elif _ALWAYS_AS_IS.fullmatch(part):
            said.append(re.escape(part))
        else:
            numbers = json.dumps(part)[1:-1] if ord(part) > 0xFFFF else f"\\u{ord(part):04x}"
            names = {json.dumps(part)[1:-1], numbers} - {part}
            ways = [rf"(?i:{re.escape(name)})".replace(r"\\", r"\\+") for name in sorted(names)]
            said.append(f"(?:{'|'.join([re.escape(part), *ways])})")
    # The backslash of an escape goes with the character that it belongs to.
    before = r"(?<!\\)\\*" if value[0] in _QUOTED else ""
    return re.compile(before + "".join(said))


_known = _Known()


def register_secret(*values: str) -> None:
    """Hide these values from now on; of a PEM every line of its body, since a text may contain parts of it."""
    for value in values:
        if value.startswith("-----BEGIN"):
            _known.add(line for line in value.splitlines() if not line.startswith("-----"))
        else:
            _known.add([value])


def register_environment_secrets(environment: Mapping[str, str]) -> None:
    """Hide the values of all variables whose names match SECRET_NAME."""
    register_secret(*(value for name, value in environment.items() if SECRET_NAME.search(name)))


def redact(text: str) -> str:
    """Return `text` with *** in place of each secret; JSON text stays JSON of the same structure."""
    text = _known.hide(text)
    # Every event of every task passes here: a pattern is tried only where a part of it that is quickly found is there.
    for marks, pattern, instead in _SHAPES:
        if any(mark in text for mark in marks):
            text = pattern.sub(instead, text)
    return text


def without_password(url: str) -> str:
    """Return `url` with *** in place of its password and of parameters that are secrets, for messages and logs."""
    start, mark, rest = url.partition("://")
    parts = re.fullmatch(r"([^/?#]*)(.*)", rest, re.DOTALL)
    if not mark or parts is None:
        return url
    authority, path = parts.groups()
    login, at, host = authority.rpartition("@")
    user, colon, _ = login.partition(":")
    path = _PARAMETER.sub(lambda found: f"{found[1]}{HIDDEN}" if SECRET_NAME.search(f"_{found[2]}") else found[0], path)
    return f"{start}://{user}{colon}{HIDDEN if colon else ''}{at}{host}{path}"


def redact_bytes(data: bytes) -> bytes:
    """Redact UTF-8 text; bytes that are not UTF-8 are kept."""
    text = data.decode("utf-8", "surrogateescape")
    safe = redact(text)
    return data if safe is text or safe == text else safe.encode("utf-8", "surrogateescape")


def redact_all(value: Any) -> Any:
    """Redact every text in lists and dictionaries, except keys; return other values unchanged."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: redact_all(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [redact_all(one) for one in cast("list[Any]", value)]
    return value


def displayed_value(name: str, value: object, most: int = 100) -> str:
    """Return `value` of the setting `name` as an error message may show it, at most `most` characters."""
    return HIDDEN if SECRET_NAME.search(f"_{name}") else redact(repr(value))[:most]


class RedactingFilter(logging.Filter):
    """Redacts every log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact message and exception of `record`, and let it pass."""
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
