"""Log records as one JSON object a line."""

import json
import logging


class JsonLines(logging.Formatter):
    """Whatever a message holds, a line can be parsed."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_text or record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return json.dumps(line)
