"""Secrets come from the environment or from files, and files may change while the process runs."""

import os
from pathlib import Path

import pytest

from quartet_process import ProcessSettings, Secret, SecretError, bearer_token, is_loopback, redact, require_credential


def write(file: Path, text: str) -> Path:
    """As a careful writer does: the file is replaced in one step."""
    draft = file.with_name("draft")
    draft.write_text(text)
    os.replace(draft, file)
    return file


class Settings(ProcessSettings):
    model_config = {"env_prefix": "QUARTET_", "extra": "ignore"}


def test_the_variable_wins_over_the_file_and_the_file_over_the_folder(tmp_path, monkeypatch):
    folder = tmp_path / "secrets"
    folder.mkdir()
    write(folder / "metrics_token", "from-the-folder")
    monkeypatch.setenv("QUARTET_SECRETS_DIR", str(folder))
    assert Settings().secret("metrics_token").first == "from-the-folder"
    assert Settings().secret("stop_token") is None
    monkeypatch.setenv("QUARTET_METRICS_TOKEN_FILE", str(write(tmp_path / "file", "from-the-file\n")))
    assert Settings().secret("metrics_token").first == "from-the-file"
    monkeypatch.setenv("QUARTET_METRICS_TOKEN", "from-the-variable")
    assert Settings().secret("metrics_token").first == "from-the-variable"


def test_a_file_holds_several_with_their_owners_and_is_read_again(tmp_path):
    file = write(tmp_path / "tokens", "the-newest-token anna\n\n  the-older-token\n")
    secret = Secret("QUARTET_X", file)
    assert secret.first == "the-newest-token"
    assert secret.owner_of("the-newest-token") == "anna"
    assert secret.owner_of("the-older-token") == ""
    assert secret.owner_of("another") is None
    write(file, "brand-new-token")
    assert secret.accepts("brand-new-token")
    assert not secret.accepts("the-newest-token")
    assert not secret.accepts("")


def test_a_variable_holds_one_value_whatever_is_in_it():
    secret = Secret("QUARTET_X", None, " a token with spaces\n")
    assert [value.text for value in secret.values] == ["a token with spaces"]
    assert not secret.accepts("a")


def test_a_file_that_becomes_unusable_changes_nothing_until_it_is_good_again(tmp_path):
    file = write(tmp_path / "tokens", "the-first-token")
    secret = Secret("QUARTET_X", file)
    write(file, "")
    assert secret.accepts("the-first-token")
    file.unlink()
    assert secret.accepts("the-first-token")
    write(file, "the-second-token")
    assert not secret.accepts("the-first-token")
    assert secret.accepts("the-second-token")


def test_a_file_that_was_not_readable_is_read_when_its_rights_change(tmp_path, monkeypatch):
    file = write(tmp_path / "tokens", "the-first-token")
    secret = Secret("QUARTET_X", file)
    write(file, "the-second-token")
    with monkeypatch.context() as closed:
        # As root everything can be read.
        closed.setattr(Path, "read_text", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
        assert secret.accepts("the-first-token")
    before = file.stat()
    while file.stat().st_ctime_ns == before.st_ctime_ns:
        file.chmod(0o600)
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert secret.accepts("the-second-token")


def test_a_folder_that_cannot_be_looked_into_is_named(tmp_path):
    # The name is too long for a folder: this holds for root too, who may enter every folder.
    folder = tmp_path / ("x" * 300)
    with pytest.raises(SecretError, match=r"QUARTET_SECRETS_DIR \(.*x{300}\) cannot be looked into: .*may enter"):
        Settings(secrets_dir=folder).secret("stop_token")


def test_pem_blocks_are_values_of_their_own():
    block = "-----BEGIN PUBLIC KEY-----\\nAAAA\\n-----END PUBLIC KEY-----"
    secret = Secret.fixed(f"{block}\\n{block.replace('AAAA', 'BBBB')}")
    assert [value.text.splitlines()[1] for value in secret.values] == ["AAAA", "BBBB"]


@pytest.mark.parametrize(
    ("text", "said"), [("", "is empty"), ("short", "holds 5 characters; valid: at least 16"), (None, "cannot be read")]
)
def test_what_cannot_be_used_is_told_without_its_value(tmp_path, text, said):
    file = tmp_path / "token"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SecretError, match=said) as problem:
        Secret(f"QUARTET_X_FILE ({file})", file, least=16)
    assert "QUARTET_X_FILE" in str(problem.value)
    assert "short" not in str(problem.value)


def test_a_bad_line_is_ignored_and_told_without_its_content(tmp_path, caplog):
    """Where name and token are swapped, the token is the owner."""
    file = write(
        tmp_path / "tokens",
        "a-token-that-is-fine anna\nshort ben\nbob the-token-of-bob-itself\nits-role-is-a-bad-one king",
    )
    secret = Secret("QUARTET_X", file, least=16, fault_of=lambda owner: "has a bad role" if owner == "king" else "")
    assert [value.owner for value in secret.values] == ["anna"]
    fewer = "characters; valid: at least 16"
    assert secret.ignored == (f"line 2 holds 5 {fewer}", f"line 3 holds 3 {fewer}", "line 4 has a bad role")
    assert "QUARTET_X: line 4 has a bad role; the line is ignored" in caplog.text
    assert "bob" not in caplog.text
    write(file, "a-token-that-is-fine anna")
    assert (len(secret.values), secret.ignored) == (1, ())


def test_a_secret_that_is_needed_and_missing_names_every_way_to_give_it():
    with pytest.raises(
        SecretError, match=r"QUARTET_STOP_TOKEN is not set, nor QUARTET_STOP_TOKEN_FILE.*stop_token.*do it"
    ):
        Settings().needed_secret("stop_token", "do it")


def test_what_was_read_is_hidden_from_then_on():
    Secret.fixed("a-value-nobody-may-see")
    assert redact("it is a-value-nobody-may-see!") == "it is ***!"


@pytest.mark.parametrize(
    ("header", "token"), [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", ""), ("", ""), (None, "")]
)
def test_bearer(header, token):
    assert bearer_token(header) == token


HERE = ("127.0.0.1", "127.8.0.1", "::1", "localhost")
ELSEWHERE = ("0.0.0.0", "::", "10.0.0.4", "robot")


@pytest.mark.parametrize(("host", "here"), [*((h, True) for h in HERE), *((h, False) for h in ELSEWHERE)])
def test_loopback(host, here):
    assert is_loopback(host) is here


def test_nothing_is_open_to_others_without_a_credential():
    require_credential("0.0.0.0", Secret.fixed("a-token"), "api_token", what="the API")
    require_credential("127.0.0.1", None, "api_token", what="the API")
    with pytest.raises(SecretError, match=r"QUARTET_API_TOKEN is not set.*not served at 0\.0\.0\.0"):
        require_credential("0.0.0.0", None, "api_token", what="the API")
    with pytest.raises(SecretError, match="QUARTET_ALLOW_ANONYMOUS=true serves the API on this machine"):
        require_credential("127.0.0.1", None, "api_token", what="the API", anonymous=False)
