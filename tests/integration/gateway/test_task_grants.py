"""What a model costs is charged to the task of the caller's grant, and to no task that it only names."""

import time

import pytest

from quartet_contracts import OUT_OF_TIME
from quartet_contracts.approvals import approval_audience
from quartet_gateway import TaskGrants
from quartet_gateway.errors import GrantOutOfTimeError, NotAuthenticatedError
from quartet_process import boot_time
from quartet_process.signatures import read_token
from support.grants import Keys

CALLER, OTHER = "own-task", "other-task"


@pytest.fixture(scope="module")
def keys() -> Keys:
    return Keys()


@pytest.fixture
def caller(gateway, provider, keys):
    models = {"double": {"model": "hosted_vllm/double", "api_base": provider.url}}
    agents = {"pick": {"model": "double"}}
    return gateway({"models": models, "agents": agents}, grant_keys=[keys.private.public_key()])


async def spent(caller, task: str) -> dict:
    return (await caller.http.get("/v1/usage", params={"task": task})).json()["agents"]


@pytest.mark.parametrize("headers", [{}, {"X-Quartet-Task": CALLER}])
async def test_a_request_is_charged_to_the_task_of_its_grant(caller, keys, headers):
    grant = keys.token("nav2__navigate_to_pose", task=CALLER)
    assert (await caller.ask(headers={**headers, "X-Quartet-Grant": grant})).status_code == 200
    assert (await spent(caller, CALLER))["pick"]["requests"] == 1


async def test_the_orchestrators_own_token_is_for_the_gateway(caller, keys):
    own = keys.token(task=CALLER, aud="gateway", sub="orchestrator")
    assert (await caller.ask(headers={"X-Quartet-Grant": own})).status_code == 200
    assert (await spent(caller, CALLER))["pick"]["requests"] == 1


async def test_no_caller_names_the_task_of_another(caller, keys, provider):
    headers = {"X-Quartet-Grant": keys.token(task=CALLER), "X-Quartet-Task": OTHER}
    response = await caller.ask(headers=headers)
    assert response.status_code == 403
    assert f"the grant is for task '{CALLER}', not for '{OTHER}'" in response.json()["error"]["message"]
    assert not provider.requests
    assert not await spent(caller, OTHER)


@pytest.mark.parametrize(
    ("grant", "says"),
    [
        (None, "wants the header 'X-Quartet-Grant'"),
        (lambda _: "nonsense", "no valid grant"),
        (lambda _: Keys().token(task=OTHER), "Signature"),
        (lambda keys: keys.token(task=OTHER, exp=int(time.time()) - 60), "expired 6"),
        (lambda keys: keys.token(task=OTHER, iss="quartet-stop"), "InvalidIssuer"),
        (lambda keys: keys.token(task=OTHER, aud=approval_audience("summit")), "is no grant"),
        (lambda keys: keys.token(task=OTHER, tools="all"), "tools"),
    ],
)
async def test_what_is_no_grant_asks_no_model(caller, keys, provider, grant, says):
    headers = {"X-Quartet-Task": OTHER} | ({} if grant is None else {"X-Quartet-Grant": grant(keys)})
    response = await caller.ask(headers=headers)
    assert response.status_code == 401
    assert says in response.json()["error"]["message"]
    assert (response.json()["error"]["code"] == OUT_OF_TIME) == ("expired" in says)
    assert not provider.requests
    assert not await spent(caller, OTHER)


@pytest.fixture
def checked(monkeypatch) -> list[str]:
    """The tokens whose signatures were checked, in order."""
    tokens: list[str] = []

    def read(token, *more):
        tokens.append(token)
        return read_token(token, *more)

    monkeypatch.setattr("quartet_process.signatures.read_token", read)
    return tokens


def test_a_signature_is_checked_once_until_the_grant_expires_or_the_keys_change(keys, checked, monkeypatch):
    known = [keys.private.public_key()]
    grants = TaskGrants(known)
    ends = int(time.time()) + 600
    headers = {"X-Quartet-Grant": keys.token(task=CALLER, exp=ends)}
    for _ in range(3):
        assert grants.read(headers)[0] == CALLER
    assert len(checked) == 1
    known[:] = [Keys().private.public_key()]
    with pytest.raises(NotAuthenticatedError, match="Signature"):
        grants.read(headers)
    known[:] = [keys.private.public_key()]
    grants.read(headers)
    assert len(checked) == 3
    over = boot_time() + 603.0
    monkeypatch.setattr(time, "clock_gettime", lambda _: over)
    with pytest.raises(GrantOutOfTimeError, match="expired"):
        grants.read(headers)


def test_only_so_many_grants_are_remembered(keys, checked, monkeypatch):
    monkeypatch.setattr("quartet_process.signatures.MOST_KEPT", 2)
    grants = TaskGrants([keys.private.public_key()])
    tokens = [keys.token(task=f"t-{number}") for number in range(3)]
    for token in (*tokens, tokens[0]):
        grants.read({"X-Quartet-Grant": token})
    assert len(checked) == 4
