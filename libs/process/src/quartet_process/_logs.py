"""Logs: one JSON object a line in containers, plain text in a terminal."""

import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from typing import Literal

from opentelemetry.trace import format_span_id, format_trace_id, get_current_span

from quartet_process._correlation import current_ids
from quartet_process.redact import RedactingFilter, register_environment_secrets

VERBOSE_LOGGERS = ("httpx", "httpx2", "httpcore", "httpcore2", "mcp", "client", "fastmcp", "uvicorn", "websockets")
"""Loggers of libraries that are limited to warnings."""


LogFormat = Literal["auto", "json", "text"]


def set_up_logging(
    process: str, style: LogFormat = "json", level: int | str = logging.INFO, *, filters: Sequence[logging.Filter] = ()
) -> None:
    """Log to stderr in place of all other handlers, and hide the secrets of the environment from here on.

    Args:
        process: Name in each line.
        style: auto is text where stderr is a terminal and json elsewhere.
        level: Of the root logger; libraries of VERBOSE_LOGGERS log warnings at least.
        filters: Further filters of the handler.
    """
    register_environment_secrets(os.environ)
    handler = logging.StreamHandler()
    if style == "auto":
        style = "text" if sys.stderr.isatty() else "json"
    handler.setFormatter(
        JsonFormatter(process)
        if style == "json"
        else logging.Formatter(f"%(asctime)s {process} %(levelname)s %(message)s", "%H:%M:%S")
    )
    for one in (RedactingFilter(), *filters):
        handler.addFilter(one)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in VERBOSE_LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(max(logging.WARNING, root.level))


class JsonFormatter(logging.Formatter):
    """Formats each record as one line of JSON.

    Keys: time (UTC), level, process, logger, message; task_id, request_id, robot and agent, trace_id and span_id (W3C),
    exception, each where there is one.
    """

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{at}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "process": self._process,
            "logger": record.name,
            "message": record.getMessage(),
            **current_ids(),
        }
        span = get_current_span().get_span_context()
        if span.is_valid:
            line |= {"trace_id": format_trace_id(span.trace_id), "span_id": format_span_id(span.span_id)}
        if record.exc_text or record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return json.dumps(line)
