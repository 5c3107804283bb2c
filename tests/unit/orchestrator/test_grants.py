"""What the orchestrator signs is what the servers accept, and nothing else."""

import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from quartet_contracts import FENCE_SCOPE, Skill, granted_tools
from quartet_orchestrator.errors import SetupError
from quartet_orchestrator.grants import LEEWAY_S, GrantSigner
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process import InvalidTokenError
from quartet_tool_server import GrantVerifier


def pem(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def settings(**fields):
    return OrchestratorSettings(
        servers={"summit": {"nav2": "http://127.0.0.1:9/mcp"}}, robot_file="r.yaml", site_file="s.yaml", **fields
    )


@pytest.fixture
def key():
    return Ed25519PrivateKey.generate()


def sign(key, **fields):
    tools = granted_tools(Skill.PICK)
    whole = {
        "agent": "pick",
        "robot": "summit",
        "request_id": "r1",
        "fence": 7,
        "tools": tools,
        "deadline": time.time(),
    }
    return GrantSigner(key).sign(**{**whole, **fields})


def test_a_server_reads_the_grant_of_one_attempt(key):
    claims = GrantVerifier("summit", [key.public_key()]).check(sign(key))
    assert (claims.sub, claims.jti, claims.fence, claims.aud) == ("pick", "r1", 7, "robot:summit")
    assert claims.tools == granted_tools(Skill.PICK)
    assert claims.task == ""
    assert GrantVerifier("summit", [key.public_key()]).check(sign(key, task_id="t1")).task == "t1"
    assert claims.exp - time.time() == pytest.approx(LEEWAY_S, abs=3)


def test_a_fence_grant_does_nothing_else(key):
    token = GrantSigner(key).sign_fence(robot="summit", request_id="r1", fence=8)
    claims = GrantVerifier("summit", [key.public_key()]).check(token)
    assert (claims.sub, claims.tools, claims.fence) == ("orchestrator", [FENCE_SCOPE], 8)


@pytest.mark.parametrize("case", ["robot", "key", "expired"])
def test_a_grant_for_another_robot_of_another_key_or_of_yesterday_is_refused(key, case):
    verifier = GrantVerifier("second" if case == "robot" else "summit", [key.public_key()])
    signer = Ed25519PrivateKey.generate() if case == "key" else key
    token = sign(signer, deadline=time.time() - (LEEWAY_S + 10 if case == "expired" else 0))
    with pytest.raises(InvalidTokenError):
        verifier.check(token)


def test_the_key_comes_from_the_environment_or_a_file(key, tmp_path):
    file = tmp_path / "grant.pem"
    file.write_text(pem(key))
    one_line = pem(key).replace("\n", "\\n")
    for fields in ({"grant_private_key": pem(key)}, {"grant_private_key": one_line}, {"grant_private_key_file": file}):
        token = GrantSigner.from_settings(settings(**fields)).sign_fence(robot="summit", request_id="r1", fence=1)
        assert GrantVerifier("summit", [key.public_key()]).check(token).fence == 1


def test_a_key_that_cannot_sign_is_refused_with_the_reason(tmp_path):
    cases = [
        ({}, "openssl genpkey -algorithm ed25519"),
        ({"grant_private_key": "x"}, "QUARTET_GRANT_PRIVATE_KEY is not an unencrypted PEM"),
        ({"grant_private_key": pem(generate_private_key(SECP256R1()))}, "an Ed25519 key is needed"),
        ({"grant_private_key_file": tmp_path / "none.pem"}, "none.pem.* cannot be read: No such file"),
    ]
    for fields, words in cases:
        with pytest.raises(SetupError, match=words):
            GrantSigner.from_settings(settings(**fields))
