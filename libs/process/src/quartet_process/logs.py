"""Logs: one JSON object a line in containers, plain text in a terminal."""

import json
import logging
import os
import time
from collections.abc import Sequence

from opentelemetry.trace import format_span_id, format_trace_id, get_current_span

from quartet_process.redact import RedactingFilter, remember_environment
from quartet_process.work import current_work

CHATTY = ("httpx", "httpx2", "httpcore", "httpcore2", "mcp", "client", "fastmcp", "uvicorn", "websockets")
"""Loggers of libraries that tell more than a person wants to know."""


def set_up_logging(
    process: str, style: str = "json", level: int | str = logging.INFO, *, filters: Sequence[logging.Filter] = ()
) -> None:
    """Log to stderr, in place of any handler there was; `style` is json or text, `process` the name in each line.

    What the environment holds under the name of a secret is hidden from here on.
    """
    remember_environment(os.environ)
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonLines(process)
        if style == "json"
        else logging.Formatter(f"%(asctime)s {process} %(levelname)s %(message)s", "%H:%M:%S")
    )
    for one in (RedactingFilter(), *filters):
        handler.addFilter(one)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in CHATTY:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(max(logging.WARNING, root.level))


class JsonLines(logging.Formatter):
    """Whatever a message holds, a line can be parsed.

    Keys: time (UTC), level, process, logger, message; of the work that it belongs to task_id, request_id, robot,
    agent, trace_id and span_id (W3C), each where there is one; exception.
    """

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{at}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "process": self._process,
            "logger": record.name,
            "message": record.getMessage(),
            **current_work(),
        }
        span = get_current_span().get_span_context()
        if span.is_valid:
            line |= {"trace_id": format_trace_id(span.trace_id), "span_id": format_span_id(span.span_id)}
        if record.exc_text or record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return json.dumps(line)
