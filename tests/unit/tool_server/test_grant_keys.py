"""Public keys and tokens."""

import datetime
import time
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from quartet_process import InvalidTokenError, ProcessSettings, SecretError, TokenOutOfTimeError
from quartet_process.signatures import PublicKeys, read_keys
from quartet_tool_server import GrantVerifier
from quartet_tool_server._grants import caller


class Settings(ProcessSettings):
    """Those of a server, as far as they are about keys."""

    grant_public_key: str | None = None
    grant_public_key_file: Path | None = None


def keys(text: str | None = None, file: Path | None = None) -> PublicKeys:
    return read_keys(Settings(grant_public_key=text, grant_public_key_file=file))


def pem(private) -> str:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def token(private, **claims) -> str:
    now = int(time.time())
    content = {"iss": "quartet-orchestrator", "sub": "pick", "aud": "robot:summit", "iat": now, "exp": now + 60,
               "jti": "r-1", "fence": 3, "tools": ["nav2__spin_robot"]}  # fmt: skip
    return jwt.encode(content | claims, private, algorithm="EdDSA")


def test_one_key_from_text_or_file(tmp_path):
    private = Ed25519PrivateKey.generate()
    (tmp_path / "key.pem").write_text(pem(private))
    assert len(keys(pem(private))) == 1
    assert len(keys(pem(private).replace("\n", "\\n"))) == 1, "as one line of an .env file"
    verifier = GrantVerifier("summit", keys(file=tmp_path / "key.pem"))
    claims = verifier.check(token(private))
    assert claims.sub == "pick"
    assert claims.fence == 3


def test_old_and_new_key_hold_while_keys_are_rotated():
    old, new, other = (Ed25519PrivateKey.generate() for _ in range(3))
    verifier = GrantVerifier("summit", keys(pem(old) + pem(new)))
    assert verifier.check(token(old)).jti == verifier.check(token(new)).jti == "r-1"
    with pytest.raises(InvalidTokenError, match="Signature"):
        verifier.check(token(other))


def test_keys_are_rotated_while_the_server_runs(tmp_path, caplog):
    file = tmp_path / "grant_public_key"
    old, new = (Ed25519PrivateKey.generate() for _ in range(2))
    file.write_text(pem(old))
    verifier = GrantVerifier("summit", keys(file=file))

    def put(text: str) -> None:
        (tmp_path / "draft").write_text(text)
        (tmp_path / "draft").replace(file)

    put(pem(new) + pem(old))
    assert verifier.check(token(old)).jti == verifier.check(token(new)).jti
    put("-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----")
    assert verifier.check(token(new)), "what cannot be used changes nothing"
    assert "stay in use" in caplog.text
    put(pem(new))
    assert verifier.check(token(new))
    with pytest.raises(InvalidTokenError, match="Signature"):
        verifier.check(token(old))


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "robot:other"}, "InvalidAudience"),
        ({"iss": "me"}, "InvalidIssuer"),
        ({"exp": 1}, r"expired \d+ s ago by the clock of this machine.*synchronise"),
        ({"iat": 4e9, "exp": 5e9}, "valid only in .*synchronise"),
        ({"fence": -1}, "fence"),
        ({"tools": "all"}, "tools"),
        ({"sub": "Not A Name"}, "sub"),
    ],
)
def test_what_makes_a_token_invalid(claims, why):
    private = Ed25519PrivateKey.generate()
    with pytest.raises(InvalidTokenError, match=why):
        GrantVerifier("summit", keys(pem(private))).check(token(private, **claims))


class Clocks:
    """The clocks of a process, moved apart: `passed_s` on the one that counts through a suspend of the machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_s = self.passed_s = 0.0
        real, boot_time, clocks = time.time, time.clock_gettime, self

        class Shifted(datetime.datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.datetime.fromtimestamp(time.time(), tz)

        monkeypatch.setattr(time, "time", lambda: real() + clocks.wall_s)
        monkeypatch.setattr(time, "clock_gettime", lambda which: boot_time(which) + clocks.passed_s)
        monkeypatch.setattr("jwt.api_jwt.datetime", Shifted)


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
async def test_a_clock_that_is_set_voids_no_grant_in_use_and_lengthens_none(monkeypatch, jump_s):
    clocks, private = Clocks(monkeypatch), Ed25519PrivateKey.generate()
    verifier = GrantVerifier("summit", keys(pem(private)))
    granted, unused = token(private), token(private, jti="r-2")
    assert verifier.check(granted).jti == "r-1"
    clocks.wall_s = jump_s
    assert verifier.check(granted).jti == "r-1"
    access = await verifier.verify_token(granted)
    assert access is not None
    assert access.expires_at is None, "the mcp package would compare it with the clock that was set"
    with pytest.raises(TokenOutOfTimeError):
        verifier.check(unused)
    clocks.passed_s = 63.0
    with pytest.raises(TokenOutOfTimeError, match="'r-1' expired"):
        verifier.check(granted)


async def test_no_grant_outlives_a_suspend_of_the_machine(monkeypatch):
    clocks, private = Clocks(monkeypatch), Ed25519PrivateKey.generate()
    verifier = GrantVerifier("summit", keys(pem(private)))
    access = await verifier.verify_token(token(private))
    monkeypatch.setattr("quartet_tool_server._grants.get_access_token", lambda: access)
    granted = caller()
    assert granted is not None
    assert granted.jti == "r-1"
    clocks.passed_s = clocks.wall_s = 3600.0
    assert caller() is None
    assert await verifier.verify_token(token(private)) is not None
    with pytest.raises(TokenOutOfTimeError, match="'r-1' expired"):
        verifier.check(access.token)


async def test_the_verifier_says_no_without_an_exception():
    private = Ed25519PrivateKey.generate()
    verifier = GrantVerifier("summit", keys(pem(private)))
    assert await verifier.verify_token("nonsense") is None
    access = await verifier.verify_token(token(private))
    assert access is not None
    assert access.scopes == ["nav2__spin_robot"]


def test_missing_and_wrong_keys_name_the_setting(tmp_path):
    with pytest.raises(SecretError, match="QUARTET_GRANT_PUBLIC_KEY"):
        keys()
    with pytest.raises(SecretError, match="nowhere"):
        keys(file=tmp_path / "nowhere")
    with pytest.raises(SecretError, match="not an Ed25519"):
        keys(pem(ec.generate_private_key(ec.SECP256R1())))
    with pytest.raises(SecretError, match="not a PEM"):
        keys("-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----")
