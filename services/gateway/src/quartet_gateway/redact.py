"""Keeps keys out of answers and logs."""

import logging
import re
from collections.abc import Mapping

_SECRET_NAME = re.compile(r"(_API_KEY|_TOKEN|_SECRET|_SECRET_KEY|_ACCESS_KEY|_ACCESS_KEY_ID|_PASSWORD|_KEY(_[A-Z]+)?)$")
_LOOKS_SECRET = re.compile(r"\b(?:sk|pk|rk|xai|gsk|AIza)[-_][A-Za-z0-9_\-*.]{6,}|Bearer\s+[A-Za-z0-9._\-]{6,}")
_MINIMUM = 6


class Redactor:
    """Replaces the values of secret variables, and what looks like a key, by ***."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        values = {v for k, v in environment.items() if _SECRET_NAME.search(k) and len(v) >= _MINIMUM}
        self._values = sorted(values, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """`text` without keys."""
        for value in self._values:
            text = text.replace(value, "***")
        return _LOOKS_SECRET.sub("***", text)


class RedactingFilter(logging.Filter):
    """Redacts every record that passes."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._redact(record.getMessage()), None
        if record.exc_info:
            record.exc_text = self._redact(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        return True
