"""Runs the attacks of the hostile suite against the servers and a bridge proxy of a stack of their own."""

import asyncio
import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import jwt
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from quartet_agent_runtime import Toolbox, ignore_progress
from quartet_benchmarks.chaos import small_world
from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.hostile.attacks import FENCE, POLICY, WRITES, Attack, Attacker
from quartet_benchmarks.hostile.forgeries import Forgery, forgeries, forgery_rows
from quartet_benchmarks.hostile.frames import Approach, FrameAttacker
from quartet_benchmarks.mutations.watch import StackWatch
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_contracts import ALGORITHM, FENCE_SCOPE, ISSUER, GrantClaims, audience, control_url
from quartet_deployment import AGENTS, Stack, StackOptions, project_root
from quartet_robot_link import BridgeLink
from quartet_site import PolicyFile, load_robot, load_site

WORLD = "studio"
CASES, SHORT_CASES = 600, 100
"""Attacks on the servers, and as many on the bridge."""
FORGERIES, SHORT_FORGERIES = 40, 2
"""Jobs with an agent that forges."""
TIMEOUT_S = 60.0
PROBE: dict[str, Any] = {"op": "call_service", "id": "probe", "service": "/rosapi/get_time"}
MOVING_TOOLS = {
    "nav2": (
        "navigate_to_pose",
        "follow_waypoints",
        "dock_robot",
        "drive_on_heading",
        "backup_robot",
        "approach_target",
    ),
    "moveit": ("plan_and_execute", "plan_cartesian_path"),
    "ros": ("send_action_goal", "publish_once", "publish_for_durations", "call_service", "set_parameter"),
}


@dataclass
class Tally:
    """What became of the attacks, by kind."""

    tried: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    passed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Attacks that were not refused."""

    def add(self, kind: str, told: str | None, attack: object) -> None:
        """Count an attack; `told` is what came back where it was not refused, None where it was."""
        self.tried[kind] += 1
        if told is None:
            self.refused[kind] += 1
        else:
            self.passed.append({"kind": kind, "told": told, "attack": repr(attack)[:500]})


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of attacks on the servers and on the bridge. Raises StackError."""
    cases = parameters.episodes or (SHORT_CASES if parameters.short else CASES)
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as name:
        folder = Path(name)
        options = StackOptions(
            state_dir=folder / "stack",
            world=WORLD,
            site_dir=_site(folder / "site"),
            seed=parameters.seed,
            # Velocities move the robot only where the time of the world goes on by itself.
            realtime=True,
            without=frozenset({"redis", "gateway", "scripted_model", "orchestrator", "perception", *AGENTS}),
        )
        with Stack(options) as stack:
            tally, watch = Tally(), StackWatch(stack)
            asyncio.run(_attack_servers(stack, list(_attacks(stack, cases, parameters.seed)), tally))
            watch.check(cases)
            parameters.progress(f"servers: {tally.refused.total()} of {cases} refused")
            with _proxy(stack, folder) as (url, token):
                asyncio.run(_attack_bridge(stack, url, token, cases, parameters.seed, tally))
            watch.check(2 * cases)
            parameters.progress(f"with the bridge: {tally.refused.total()} of {2 * cases} refused")
            motions, crashes = list(watch.motions), list(watch.crashes)
            asyncio.run(_require_motion(stack, watch, parameters.seed))
    forged = _forge(parameters)
    played = [one for one in forged if one.happened]
    liars = [one for one in played if one.kind == "liar"]
    attackers = [one for one in played if one.kind == "attacker"]
    return BenchResult(
        "hostile",
        {"cases": cases, "jobs with a forger": len(forged), "seed": parameters.seed},
        {
            "cases": tally.tried.total(),
            "refused_rate": Rate(tally.refused.total(), tally.tried.total()),
            "unauthorised_motions": len(motions),
            "processes_ended": len(crashes) + sum(len(one.ended) for one in played),
            "forged_successes": Rate(sum(one.score.false_success for one in liars), len(liars)),
            "tasks_ended_by_others": Rate(sum(one.ended_by_others for one in attackers), len(attackers)),
            "forged_commands_done": Rate(
                sum(one.commands - one.refused for one in attackers), sum(one.commands for one in attackers)
            ),
        },
        [{"attack": kind, "n": n, "refused": tally.refused[kind]} for kind, n in tally.tried.items()]
        + forgery_rows(forged),
        details=[
            *tally.passed,
            *({"motion": one} for one in motions),
            *({"ended": one} for one in crashes),
            *(one.row() for one in forged),
        ],
        notes=[
            "Calls of an agent that has a grant at nav2, moveit and ros, with a policy and ros_writes of the suite's "
            "own; and frames at a bridge proxy in front of the simulated robot, by a client with the "
            "servers' token, without it, and by a web page. A motion is a change of base, joint, gripper or object in "
            "the simulation's truth; at the end a frame past the proxy has to show as one. "
            "forged_successes: jobs that SUCCEEDED undelivered, with an agent that only reports (liar). "
            "tasks_ended_by_others: jobs, or processes, that ended because an agent without work in them sent commands "
            "to Redis as its own user (attacker); forged_commands_done of these Redis did, most on its own stream."
        ],
    )


def _forge(parameters: BenchParameters) -> list[Forgery]:
    """Run jobs with agents that forge, on a stack of their own."""
    count = SHORT_FORGERIES if parameters.short else FORGERIES
    done: list[Forgery] = []
    with small_world(parameters.seed, frozenset({"ros"})) as world:
        for one in forgeries(world.stack, count, parameters.seed):
            done.append(one)
            parameters.progress(", ".join(f"{key} {value}" for key, value in one.row().items()))
    return done


def _site(folder: Path) -> Path:
    """Return a site like the world's with the policy and the listed writes of the suite."""
    shutil.copytree(project_root() / "deploy" / "sites" / WORLD, folder)
    site = yaml.safe_load((folder / "site.yaml").read_text())
    (folder / "site.yaml").write_text(yaml.safe_dump({**site, "ros_writes": WRITES}))
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    return folder


def _attacks(stack: Stack, cases: int, seed: int) -> Iterator[Attack]:
    """Yield attacks on the servers, at each of which FENCE is in force."""
    robot, site = load_robot(stack.site_dir / "robot.yaml"), load_site(stack.site_dir / "site.yaml")
    for url in map(stack.servers().get, MOVING_TOOLS):
        assert url is not None
        grant = {"Authorization": f"Bearer {stack.grant([FENCE_SCOPE], fence=FENCE)}"}
        httpx.post(control_url(url, "fence"), headers=grant, timeout=TIMEOUT_S, trust_env=False).raise_for_status()
    truth = httpx.get(f"{stack.scoring_url}/truth", timeout=TIMEOUT_S, trust_env=False).raise_for_status().json()
    x, y = truth["robot"]["pose"][:2]
    attacker = Attacker(robot, site, PolicyFile.model_validate(POLICY), here=(x, y), fence=FENCE, seed=seed)
    yield from attacker.attacks(cases)


async def _attack_servers(stack: Stack, attacks: Iterable[Attack], tally: Tally) -> None:
    servers = {name: url for name, url in stack.servers().items() if name in MOVING_TOOLS}
    tools = [f"{name}__{tool}" for name, some in MOVING_TOOLS.items() for tool in some]
    keys = {
        "orchestrator": stack.secrets.path("orchestrator", "grant_private_key").read_text(),
        "stranger": Ed25519PrivateKey.generate(),
    }
    async with AsyncExitStack() as opened, httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as http:
        sessions: dict[str, Toolbox] = {}
        for attack in attacks:
            token = _token(attack, keys, stack.robot, tools)
            knock = await http.post(servers[attack.server], headers={"Authorization": f"Bearer {token}"}, json={})
            if knock.status_code in {401, 403}:
                code = f"HTTP {knock.status_code}"
            else:
                key = repr(attack.claims)
                if key not in sessions:
                    sessions[key] = await opened.enter_async_context(Toolbox(servers, token, (), TIMEOUT_S))
                outcome = await sessions[key].call(f"{attack.server}__{attack.tool}", attack.arguments, ignore_progress)
                code = outcome.error_code
            tally.add(attack.kind, None if code in attack.refusals else code, attack)


def _token(attack: Attack, keys: dict[str, Any], robot: str, tools: list[str]) -> str:
    now = int(time.time())
    claims = (
        GrantClaims(
            sub="approach",
            aud=audience(robot),
            iat=now,
            exp=now + 600,
            jti="hostile",
            fence=FENCE,
            tools=tools,
            iss=ISSUER,
        ).model_dump()
        | attack.claims
    )
    if attack.signed == "nobody":
        return jwt.encode(claims, "", algorithm="none")
    return jwt.encode(claims, keys[attack.signed], algorithm=ALGORITHM)


@contextmanager
def _proxy(stack: Stack, folder: Path) -> Iterator[tuple[str, str]]:
    """Run a bridge proxy in front of the simulated robot; yield its address and token."""
    ready, token = folder / "proxy.json", secrets.token_urlsafe(24)
    env = {
        "QUARTET_ROBOT_FILE": str(stack.site_dir / "robot.yaml"),
        # Without the writes that the servers may make: what the client sends is not what a site lists.
        "QUARTET_SITE_FILE": str(project_root() / "deploy" / "sites" / WORLD / "site.yaml"),
        "QUARTET_ROSBRIDGE_URL": stack.bridge_url,
        "QUARTET_BRIDGE_TOKEN": token,
        "QUARTET_READY_FILE": str(ready),
    }
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "quartet_bridge_proxy"], env=env, stdout=log, stderr=log)
    try:
        until = time.monotonic() + TIMEOUT_S
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > until:
                raise MeasurementError(f"the bridge proxy did not start: {(folder / 'proxy.log').read_text()[-500:]}")
            time.sleep(0.02)
        yield json.loads(ready.read_text())["url"].replace("http://", "ws://"), token
        if process.poll() is not None:
            raise MeasurementError(f"the bridge proxy ended: {(folder / 'proxy.log').read_text()[-500:]}")
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)


async def _attack_bridge(stack: Stack, url: str, token: str, cases: int, seed: int, tally: Tally) -> None:
    attacker = FrameAttacker(load_robot(stack.site_dir / "robot.yaml"), seed)
    for approach in attacker.approaches(cases):
        tally.add(f"frame: {approach.kind}", await not_refused(approach, url, token), approach)


async def not_refused(approach: Approach, url: str, token: str) -> str | None:
    """Send the frames; return what came back where one was not refused, None where all were."""
    bearer = {"right": {"Authorization": f"Bearer {token}"}, "wrong": {"Authorization": "Bearer x"}, "none": {}}
    try:
        async with asyncio.timeout(TIMEOUT_S):
            async with connect(
                url, additional_headers={**bearer[approach.token], **approach.headers}, proxy=None
            ) as socket:
                if not approach.admitted:
                    return "the client was admitted"
                for frame in approach.frames:
                    await socket.send(frame)
                await socket.send(json.dumps(PROBE))
                refusals, answer = 0, json.loads(await socket.recv())
                while answer.get("id") != PROBE["id"]:
                    refusals += answer.get("level") == "error" or answer.get("result") is False
                    answer = json.loads(await socket.recv())
                return None if refusals == len(approach.frames) else f"{refusals} of {len(approach.frames)} refused"
    except InvalidStatus as refused:
        status = refused.response.status_code
        return None if not approach.admitted and status in {401, 403} else f"HTTP {status}"


async def _require_motion(stack: Stack, watch: StackWatch, seed: int) -> None:
    """Drive past the proxy. Raises MeasurementError if that shows as no motion: then zero would mean nothing."""
    attacker = FrameAttacker(load_robot(stack.site_dir / "robot.yaml"), seed)
    link = await BridgeLink.open(stack.bridge_url, wait_s=5.0)
    try:
        until = time.monotonic() + TIMEOUT_S
        while not watch.motions:
            if time.monotonic() > until:
                raise MeasurementError("a velocity past the proxy moved nothing: motions are not noticed here")
            frame = attacker.drive()
            await link.publish(frame["topic"], frame["type"], frame["msg"])
            await asyncio.sleep(0.05)
            watch.check(0)
    finally:
        await link.close()
