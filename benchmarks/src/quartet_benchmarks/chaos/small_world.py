"""The deployment of the chaos suite: the small world, with proxies on the ways between its processes."""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from quartet_benchmarks.chaos.clocks import Clocks
from quartet_benchmarks.chaos.job import asking_policy
from quartet_benchmarks.chaos.redis_proxy import RedisProxy
from quartet_benchmarks.chaos.tcp_proxy import TcpProxy
from quartet_deployment import AGENTS, SERVERS, Stack, StackOptions

WORLD = "studio"
START_S = 180.0
LINKS = ("bridge", "gateway", *SERVERS)
"""Listeners with a proxy before them, beside Redis: rosbridge, as the servers reach it, and gateway and MCP servers, as
the agents and the orchestrator reach them. The stop service reaches servers and guard without."""
CLOCKED = ("orchestrator", *AGENTS, *SERVERS, "gateway", "stop")
"""Processes that can have a wall clock of their own; further replicas of them share it."""


@dataclass(frozen=True)
class SmallWorld:
    """A running deployment, and what stands between its processes."""

    stack: Stack
    redis: RedisProxy
    links: dict[str, TcpProxy]
    """The proxy before each of LINKS."""
    clocks: Clocks
    """The wall clock of each of CLOCKED."""


@contextlib.contextmanager
def small_world(seed: int = 0, without: frozenset[str] = frozenset()) -> Iterator[SmallWorld]:
    """Start a deployment in the small world whose messages go through proxies.

    Its policy asks a person about every grasp. Raises StackError.
    """
    with contextlib.ExitStack() as open_now:
        folder = Path(open_now.enter_context(tempfile.TemporaryDirectory(prefix="quartet-bench-")))
        redis = open_now.enter_context(RedisProxy(seed))
        links = {name: open_now.enter_context(TcpProxy(name)) for name in LINKS}
        policy = folder / "policy.yaml"
        agents_env = {"QUARTET_REDIS_URL": redis.url, "QUARTET_GATEWAY_URL": f"http://{links['gateway'].address}"}
        servers_env = {"QUARTET_BRIDGE_URL": f"ws://{links['bridge'].address}"}
        clocks = Clocks(folder / "clocks")
        env_of = {name: clocks.env(name) for name in CLOCKED}
        for name in ("orchestrator", *AGENTS):
            env_of[name] |= agents_env
        for name in SERVERS:
            env_of[name] |= servers_env
        env_of["moveit"]["QUARTET_POLICY_FILE"] = str(policy)
        stack = Stack(
            StackOptions(
                state_dir=folder / "stack", world=WORLD, use_dotenv=False, start_timeout_s=START_S, without=without,
                env_of=env_of,
            )
        )  # fmt: skip
        policy.write_text(asking_policy(stack.site_dir))
        redis.forward_to(_port(stack.url_of("redis")))
        links["bridge"].forward_to(_port(stack.bridge_url))
        for name in ("gateway", *SERVERS):
            links[name].forward_to(_port(stack.url_of(name)))
        # Only the stack knows the name of its robot.
        servers = json.dumps({stack.robot: {name: f"http://{links[name].address}/mcp" for name in SERVERS}})
        for name in ("orchestrator", *AGENTS):
            env_of[name]["QUARTET_SERVERS"] = servers
        yield SmallWorld(open_now.enter_context(stack), redis, links, clocks)


def _port(url: str) -> int:
    return urlsplit(url).port or 0
