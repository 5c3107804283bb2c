"""A line of the log can be parsed whatever it tells, and shows no key."""

import json
import logging

from quartet_process import JsonFormatter, RedactingFilter, register_environment_secrets


def test_a_line_is_one_object_also_with_quotes_lines_and_a_traceback():
    try:
        raise ValueError('bad "key"\nsecret-value')
    except ValueError as error:
        record = logging.LogRecord(
            "gateway", logging.ERROR, "f", 1, 'said "%s"\n', ("secret-value",), (ValueError, error, error.__traceback__)
        )
    register_environment_secrets({"OPENAI_API_KEY": "secret-value"})
    assert RedactingFilter().filter(record)
    text = JsonFormatter("gateway").format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["level"], line["logger"], line["message"]) == ("ERROR", "gateway", 'said "***"\n')
    assert 'ValueError: bad "key"' in line["exception"]
    assert "secret-value" not in text
