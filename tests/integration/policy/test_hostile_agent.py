"""An agent with a valid token that wants more than it may: all of it is refused at the servers, nothing is sent."""

import os
import time
from collections import Counter
from contextlib import AsyncExitStack

import httpx2
import jwt
import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

import quartet_moveit
import quartet_nav2
import quartet_ros
from quartet_benchmarks.hostile.attacks import FENCE, POLICY, REFUSALS, WRITES, Attacker
from quartet_site import PolicyFile, RosWrites
from quartet_tool_server import GrantVerifier, make_server

CASES = int(os.environ.get("QUARTET_HOSTILE_CASES", "100"))
SERVERS = {"nav2": quartet_nav2, "moveit": quartet_moveit, "ros": quartet_ros}
SCOPES: dict[str, list[str]] = {}
"""All tools of each server."""


@pytest.fixture
def keys(make_keys):
    return {"orchestrator": make_keys(), "stranger": make_keys()}


@pytest.fixture
async def urls(robot, site_file, tmp_path, keys, sent, over_http):
    """The three servers over HTTP."""
    found = {}
    SCOPES.clear()
    for name, package in SERVERS.items():
        server = make_server(
            package.SERVER,
            robot,
            site_file.model_copy(update={"ros_writes": RosWrites.model_validate(WRITES)}),
            tmp_path,
            GrantVerifier("summit", [keys["orchestrator"].private.public_key()]),
            policy=PolicyFile.model_validate(POLICY),
        )
        await server.safety.install_fence(FENCE)
        SCOPES[name] = [f"{name}__{tool.name}" for tool in await server.mcp.list_tools(run_middleware=False)]
        found[name] = await over_http(server)
    return found


class Callers:
    """Clients by token: most attacks come with the same good one."""

    def __init__(self, urls, keys, http, stack):
        self._urls, self._keys, self._http, self._stack = urls, keys, http, stack
        self._clients = {}

    async def call(self, server, tool, arguments, *, signed="orchestrator", **claims):
        """The code with which a call is refused, or what came of it."""
        url, token = self._urls[server], self._token(signed, {"tools": SCOPES[server]} | claims)
        # The client does not tell why it was turned away; the server does.
        knock = await self._http.post(url, headers={"Authorization": f"Bearer {token}"}, json={})
        if knock.status_code in {401, 403}:
            return f"HTTP {knock.status_code}"
        key = (server, repr(claims))
        if key not in self._clients:
            self._clients[key] = await self._stack.enter_async_context(Client(url, auth=BearerAuth(token)))
        result = await self._clients[key].call_tool(tool, arguments, raise_on_error=False)
        return result.structured_content["error_code"]

    def _token(self, signed, claims):
        if signed == "nobody":
            return jwt.encode({"aud": "robot:summit", "exp": time.time() + 60}, None, algorithm="none")
        claims = {"sub": "approach", "fence": FENCE} | claims
        return self._keys[signed].token(*claims.pop("tools"), **claims)


@pytest.fixture
async def callers(urls, keys):
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(trust_env=False))
        yield Callers(urls, keys, http, stack)


@pytest.mark.timeout(600)
async def test_every_attack_is_refused(callers, robot, site_file, sent, monkeypatch):
    published = []
    monkeypatch.setattr(robot.link, "publish", lambda *message: published.append(message))
    here = await robot.base_pose()
    policy = PolicyFile.model_validate(POLICY)
    attacker = Attacker(robot.file, site_file, policy, here=(here.x, here.y), fence=FENCE, seed=1)
    refused: Counter[str] = Counter()
    for attack in attacker.attacks(CASES):
        code = await callers.call(attack.server, attack.tool, attack.arguments, signed=attack.signed, **attack.claims)
        assert code in attack.refusals, (attack, code)
        assert not sent.goals, (attack, sent.goals)
        assert not published, (attack, published)
        refused[attack.kind] += 1
    assert set(refused) == set(REFUSALS), "every kind was tried"
    assert sum(refused.values()) == CASES


async def test_the_same_agent_may_do_what_it_may(callers, sent):
    """So that the refusals above are no server that refuses everything."""
    assert await callers.call("nav2", "navigate_to_pose", {"x": 0.5, "y": 0.2}) == "NAV2_NOT_ACTIVE"
    assert len(sent.goals) == 1
    await callers.call("moveit", "plan_and_execute", {"target": {"state_name": "look_down"}})
    assert len(sent.goals) == 2


def test_attacks_are_seeded(robot_file, site_file):
    def of(seed):
        policy = PolicyFile.model_validate(POLICY)
        attacker = Attacker(robot_file, site_file, policy, here=(0, 0), fence=FENCE, seed=seed)
        return [(a.kind, a.tool, repr(a.arguments), repr(a.claims)) for a in attacker.attacks(40)]

    assert of(1) == of(1)
    assert of(1) != of(2)
