"""Secrets never reach what is written down."""

import io
import json
import logging

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from quartet_process import (
    RedactingFilter,
    displayed_value,
    redact,
    redact_all,
    register_environment_secrets,
    register_secret,
    without_password,
)
from quartet_process.redact import HIDDEN, MIN_SECRET_LENGTH, SECRET_NAME, _Known

ENV = {
    "OPENAI_API_KEY": "opaque-value-1",
    "QUARTET_GATEWAY_KEY_PICK": "opaque-value-2",
    "AWS_SECRET_ACCESS_KEY": "opaque-value-3",
    "SHORT_API_KEY": "abc",
    "HOME": "/home/someone",
}
JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJwaWNrIn0.c2lnbmF0dXJlLW9mLXRoaXM"


@pytest.fixture(autouse=True)
def known() -> None:
    register_environment_secrets(ENV)


@pytest.fixture
def pem() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize("value", ["opaque-value-1", "opaque-value-2", "opaque-value-3"])
def test_values_of_secret_variables(value):
    assert redact(f"key={value}, at /home/someone, abc") == "key=***, at /home/someone, abc"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("sk-proj-abc123456", "***"),
        ("sk-ant-api03-xyz_abc", "***"),
        ("gsk_abcdef123456", "***"),
        ("AIzaSyA-abcdefghijklmnopqrstuvwxyz01234", "***"),
        ("Bearer eyJhbGciOi.x.y1", "Bearer ***"),
        ("Bearer abc.def.ghi", "Bearer ***"),
        (JWT, "***"),
        ("redis://pick:s3cret@10.0.0.1:6379/0", "redis://pick:***@10.0.0.1:6379/0"),
        ("redis://:s3cret@10.0.0.1:6379/0", "redis://:***@10.0.0.1:6379/0"),
    ],
)
def test_what_looks_like_a_secret(text, left):
    assert redact(f"got {text} back") == f"got {left} back"


def test_a_private_key_also_in_pieces_and_inside_json(pem):
    assert redact(f"before {pem}after") == "before ***\nafter"
    text = json.dumps({"key": pem, "then": "x"})
    assert json.loads(redact(text))["then"] == "x"
    assert pem.splitlines()[1] not in redact(text)
    inside = json.dumps({"text": json.dumps({"key": pem[:60]}), "then": 'a "quoted" word'})
    assert json.loads(json.loads(redact(inside))["text"]), "JSON inside JSON stays whole, also when the key was cut off"
    body = pem.splitlines()[1]
    register_secret(pem)
    assert redact(f"only {body} of it") == "only *** of it"


def test_plain_words_stay():
    text = "the task-list of disk-usage 12, model hosted_vllm/scripted, http://127.0.0.1:8000/tasks, a bearer of news"
    assert redact(text) == text


def test_every_text_in_a_structure():
    value = {"call": ["opaque-value-1", 3, None], "opaque-value-2": {"note": "x"}}
    assert redact_all(value) == {"call": ["***", 3, None], "opaque-value-2": {"note": "x"}}


def test_settings_that_are_secrets_are_not_shown_in_errors():
    assert displayed_value("stop_token", "short") == "***"
    assert displayed_value("gateway_key_pick", "short") == "***"
    assert displayed_value("port", "eighty") == "'eighty'"
    assert "opaque" not in displayed_value("port", f"{'x' * 90}opaque-value-1"), "what is cut off is redacted before"


@pytest.mark.parametrize(
    "name", ["AZURE_OPENAI_KEY", "OPENAI_APIKEY", "AWS_ACCESS_KEY_ID", "QUARTET_GATEWAY_KEY_PICK", "quartet_api_token"]
)
def test_names_of_secrets(name):
    assert SECRET_NAME.search(name)


@pytest.mark.parametrize(
    "name", ["SSL_KEY_FILE", "SSH_KEY_PATH", "HOST_KEY_DIR", "QUARTET_GRANT_PUBLIC_KEY_FILE", "KEYS"]
)
def test_where_a_secret_lies_is_none(name):
    assert not SECRET_NAME.search(name)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_known_value_inside_json(ascii_only):
    register_secret('pass"wörd\\1')
    text = json.dumps({"said": 'it is pass"wörd\\1!'}, ensure_ascii=ascii_only)
    assert json.loads(redact(text)) == {"said": "it is ***!"}
    assert redact('it is pass"wörd\\1!') == "it is ***!"


AWKWARD = st.sampled_from('"\\\\/<>&\n\x01\u00e4\u65e5\U0001f916nu0')


@given(
    secret=st.text(st.one_of(AWKWARD, st.characters()), min_size=8, max_size=20),
    around=st.tuples(st.text(AWKWARD, max_size=4), st.text(AWKWARD, max_size=4)),
    levels=st.lists(st.booleans(), max_size=4),
)
@settings(max_examples=150)
def test_a_known_value_in_json_in_json_at_any_depth(secret, around, levels):
    """However each writer escapes; the JSON texts stay whole, and what stands behind the value stays as it is."""
    core = secret.strip('"\\ \t\r\n')
    assume(len(core) >= MIN_SECRET_LENGTH and "*" not in core and core not in "then0 kept0")
    known = _Known()
    known.add([secret])
    text = around[0] + secret + around[1]
    for ascii_only in levels:
        text = json.dumps({"said": text, "then": "kept"}, ensure_ascii=ascii_only)
    hidden = known.hide(text)
    for _ in levels:
        assert core not in hidden
        outer = json.loads(hidden)
        assert outer["then"] == "kept"
        hidden = outer["said"]
    assert core not in hidden
    assert HIDDEN in hidden


def test_a_value_as_other_writers_of_json_escape_it():
    known = _Known()
    known.add(["a/b<c>d&e'f+g"])
    for said in (r"a\/b<c>d&e'f+g", r"a/b\u003cc\u003ed\u0026e\u0027f+g", r"a\\/b\\u003Cc\\u003Ed\\u0026e'f+g"):
        assert known.hide(f'["{said}"]') == '["***"]'


def test_backslashes_without_end_cost_no_time():
    """A text of them is as quickly looked through as any: no pattern tries each of them as a beginning."""
    known = _Known()
    known.add(["nothing/to-be-seen"])
    text = "\\" * 60_000 + "to-be-seen"
    assert known.hide(text) == text


def test_log_records_and_tracebacks():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RedactingFilter())
    logger = logging.getLogger("test_redact")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        raise ValueError("refused opaque-value-1")
    except ValueError:
        logger.exception("with %s", "opaque-value-2")
    assert "ValueError" in stream.getvalue()
    assert "opaque" not in stream.getvalue()


def test_a_log_call_whose_format_does_not_fit_its_arguments_is_logged_as_it_is():
    record = logging.LogRecord("x", logging.INFO, "here", 1, "%d of %d with %s", ("opaque-value-1",), None)
    assert RedactingFilter().filter(record)
    assert record.getMessage() == "%d of %d with %s ('***',)"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        ("redis://:pw@h:1/0", "redis://:***@h:1/0"),
        ("rediss://me:pw@h:1/0", "rediss://me:***@h:1/0"),
        ("unix:///tmp/r.sock", "unix:///tmp/r.sock"),
        ("ws://bob:secret@127.0.0.1:9099/", "ws://bob:***@127.0.0.1:9099/"),
        ("ws://bob:se:c'r@t@[::1]:9099", "ws://bob:***@[::1]:9099"),
        ("wss://robot/bridge?token=abc&id=7#x", "wss://robot/bridge?token=***&id=7#x"),
        ("wss://robot/at@home?q=a@b", "wss://robot/at@home?q=a@b"),
        ("", ""),
    ],
)
def test_a_url_is_shown_without_its_secrets(url, shown):
    assert without_password(url) == shown
