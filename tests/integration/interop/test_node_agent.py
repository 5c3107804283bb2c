"""The agent in examples/pick-agent-node, which has none of our code, on a Redis with users: clocks that differ."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from quartet_bus import Bus, BusOptions, Credentials
from quartet_bus.access import ROLES, acl_file, digest
from quartet_contracts import PickArguments, Skill, SkillRequest
from quartet_process import Secret

AGENT = Path(__file__).parents[3] / "examples" / "pick-agent-node" / "agent.mjs"
AHEAD_S = 3600
CLOCK_AHEAD = f"const now = Date.now; Date.now = () => now() + {AHEAD_S}e3;"
NOWHERE = {"summit": dict.fromkeys(("perception", "moveit"), "http://127.0.0.1:9/mcp")}


@pytest.fixture
def guarded(make_redis, tmp_path):
    """A Redis that knows the roles and nobody else."""
    users = tmp_path / "users.acl"
    users.write_text(acl_file({role: [digest(f"the password of {role}".replace(" ", "-"))] for role in ROLES}))
    return make_redis(users=users)


@pytest.fixture
async def bus(guarded):
    credentials = Credentials("orchestrator", Secret.fixed("the-password-of-orchestrator"))
    async with await Bus.connect(guarded.url, BusOptions(), credentials=credentials) as opened:
        yield opened


@pytest.fixture
def node_agent(guarded, bus, tmp_path, free_port):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    (tmp_path / "redis_password").write_text("the-password-of-pick")
    known = {"QUARTET_REDIS_URL": guarded.url, "QUARTET_SERVERS": json.dumps(NOWHERE), "QUARTET_PORT": str(free_port)}
    (tmp_path / "clock.mjs").write_text(CLOCK_AHEAD)
    places = {"QUARTET_SECRETS_DIR": str(tmp_path), "NODE_OPTIONS": f"--import={tmp_path / 'clock.mjs'}"}
    process = subprocess.Popen(["node", str(AGENT)], env={**os.environ, **known, **places}, stdout=subprocess.DEVNULL)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize(("age_s", "late"), [(0.0, False), (61.0, True)])
async def test_what_counts_is_the_age_of_a_request_and_not_the_agents_clock(bus, node_agent, age_s, late):
    made_at = time.time()
    async with bus.replies() as replies:
        request = SkillRequest(
            request_id="r1",
            task_id="t1",
            robot="summit",
            skill=Skill.PICK,
            created_at=made_at,
            deadline=made_at + 60,
            age_s=age_s,
            arguments=PickArguments(object_name="red coke can"),
            grant="token",
            reply_to=replies.stream(Skill.PICK),
        )
        result = await replies.ask(bus.skills(Skill.PICK), request)
    assert not result.success, "it finds no server"
    assert ("its deadline had passed" in result.reason) == late, result.reason
