"""Keys never reach a log or an answer."""

import io
import logging

import pytest

from quartet_gateway.redact import RedactingFilter, Redactor

ENV = {
    "OPENAI_API_KEY": "opaque-value-1",
    "QUARTET_GATEWAY_KEY_PICK": "opaque-value-2",
    "AWS_SECRET_ACCESS_KEY": "opaque-value-3",
    "SHORT_API_KEY": "abc",
    "HOME": "/home/someone",
}


@pytest.mark.parametrize("value", ["opaque-value-1", "opaque-value-2", "opaque-value-3"])
def test_values_of_secret_variables(value):
    assert Redactor(ENV)(f"key={value}, at /home/someone, abc") == "key=***, at /home/someone, abc"


@pytest.mark.parametrize(
    "text", ["sk-proj-abc123456", "sk-ant-api03-xyz_abc", "Bearer eyJhbGciOi.x.y", "gsk_abcdef123456"]
)
def test_what_looks_like_a_key(text):
    assert Redactor({})(f"got {text} back") == "got *** back"


def test_plain_words_stay():
    text = "the task-list of disk-usage 12 and model hosted_vllm/scripted"
    assert Redactor({})(text) == text


def test_log_records_and_tracebacks():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RedactingFilter(Redactor(ENV)))
    logger = logging.getLogger("test_redact")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        raise ValueError("refused opaque-value-1")
    except ValueError:
        logger.exception("with %s", "opaque-value-2")
    assert "ValueError" in stream.getvalue()
    assert "opaque" not in stream.getvalue()
