"""What is in each image, and how large it is."""

import json
import sys
from pathlib import Path

import pytest

from .deployment import AGENTS, BASE, IMAGE_PREFIX, PROCESSES, SERVERS, TAG, inspect, run

MB = 1e6
LIMITS_MB = {
    **dict.fromkeys(AGENTS, 110),
    **dict.fromkeys(SERVERS, 110),
    # NumPy, which programs may use.
    "executor": 200,
    "orchestrator": 110,
    "stop": 110,
    "gateway": 330,
}
"""Above the base image."""

pytestmark = pytest.mark.usefixtures("images")


def name_of(service: str) -> str:
    return f"{IMAGE_PREFIX}{service}:{TAG}"


def in_image(service: str, *argv: str) -> str:
    return run("docker", "run", "--rm", "--network", "none", "--entrypoint", argv[0], name_of(service), *argv[1:])


@pytest.mark.parametrize("service", LIMITS_MB)
def test_it_is_no_larger_than_it_must_be(service: str, measured: dict[str, float]) -> None:
    base, own = inspect(BASE, name_of(service), kind="image")
    above = (own["Size"] - base["Size"]) / MB
    measured[f"image {service} above its base [MB]"] = above
    assert above <= LIMITS_MB[service]


@pytest.mark.parametrize("service", [*PROCESSES, "cli"])
def test_it_holds_its_own_code_compiled_and_nobody_elses(service: str) -> None:
    script = """
import importlib.util, json, os, pathlib, sys
found = {name: importlib.util.find_spec(name) is not None for name in
         ("litellm", "mujoco", "scipy", "redis", "torch", "pytest", "uv", "quartet_gateway", "quartet_simulation")}
files = list(pathlib.Path("/opt/quartet").rglob("*.py"))
bare = [str(f) for f in files if not list((f.parent / "__pycache__").glob(f"{f.stem}.cpython-*.pyc"))]
print(json.dumps({"found": found, "files": len(files), "bare": bare, "uid": os.getuid()}))
"""
    told = json.loads(in_image(service, "python", "-c", script))
    assert told["uid"] == 10001
    assert told["files"] > 100
    assert told["bare"] == []
    own = {
        "litellm": service == "gateway",
        "quartet_gateway": service == "gateway",
        "mujoco": service == "simulation",
        "quartet_simulation": service == "simulation",
        # The command line estimates the mountings of the cameras with it.
        "scipy": service in ("perception", "simulation", "cli"),
        "redis": service in (*AGENTS, "orchestrator", "cli"),
        "torch": False,
        "pytest": False,
        "uv": False,
    }
    assert told["found"] == own


IMPORT_ALL_AND_SERVE = """
import asyncio, importlib, io, pkgutil, sys
from fastmcp.server.auth import AccessToken, TokenVerifier
import numpy, uvicorn
from PIL import Image

OPTIONAL = ("open_vocabulary.models", ".otlp", "__main__")
missing = []
for package in (sys.argv[1], "quartet_tool_server", "quartet_robot_link", "quartet_site", "quartet_contracts"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not any(part in module.name for part in OPTIONAL):
            try:
                importlib.import_module(module.name)
            except ImportError as error:
                missing.append(f"{module.name}: {error}")
print(missing)

for kind, pixels in (("JPEG", numpy.zeros((4, 4, 3), numpy.uint8)), ("PNG", numpy.zeros((4, 4), numpy.uint16))):
    Image.fromarray(pixels).save(file := io.BytesIO(), kind)
    Image.open(io.BytesIO(file.getvalue())).load()

from quartet_tool_server._server import StatelessMCP
from quartet_tool_server.upstream._connection import Connection, over_http

class Everybody(TokenVerifier):
    async def verify_token(self, token):
        return AccessToken(token=token, client_id="somebody", scopes=[])

server = StatelessMCP("probe", auth=Everybody())

@server.tool
def add(a: int, b: int) -> int:
    "Adds."
    return a + b

async def main():
    running = uvicorn.Server(uvicorn.Config(server.http_app(path="/mcp"), port=8123, log_level="error"))
    task = asyncio.create_task(running.serve())
    while not running.started:
        await asyncio.sleep(0.05)
    link = await Connection.open(over_http("http://127.0.0.1:8123/mcp", {"Authorization": "Bearer mine"}))
    tools = (await link.ask(lambda client: client.list_tools())).tools
    answer = await link.ask(lambda client: client.call_tool("add", {"a": 1, "b": 2}))
    print([tool.name for tool in tools], answer.structured_content["result"])
    await link.close()
    running.should_exit = True
    await task

asyncio.run(main())
"""


@pytest.mark.parametrize("server", SERVERS)
def test_nothing_that_a_server_needs_was_left_out(server: str) -> None:
    """fastmcp, numpy, scipy and Pillow lack what no server loads: not for a caller with a token, nor for upstreams."""
    told = in_image(server, "python", "-c", IMPORT_ALL_AND_SERVE, f"quartet_{server}")
    assert told.splitlines() == ["[]", "['add'] 3"]


USES_OF_NDIMAGE = (Path(__file__).parent / "uses_of_ndimage.py").read_text(encoding="utf-8")


def test_what_perception_uses_of_scipy_does_in_its_image_what_it_does_outside() -> None:
    """The image has scipy.ndimage alone, without the modules and the BLAS that its other parts need."""
    inside = json.loads(in_image("perception", "python", "-c", USES_OF_NDIMAGE))
    assert len(inside) > 5
    assert inside == json.loads(run(sys.executable, "-c", USES_OF_NDIMAGE))


@pytest.mark.parametrize("service", [*PROCESSES, "cli"])
def test_no_secret_is_baked_in(service: str) -> None:
    (image,) = inspect(name_of(service), kind="image")
    names = {entry.partition("=")[0] for entry in image["Config"]["Env"]}
    assert not [name for name in names if name.endswith(("_KEY", "_TOKEN", "_PASSWORD", "_SECRET"))]
    pattern = "( -name *private*.pem -o -name .env -o -path /secrets/* -o -name *_token )"
    command = ["docker", "run", "--rm", "--user", "0", "--network", "none", "--entrypoint", "find", name_of(service)]
    assert run(*command, "/", "-xdev", *pattern.split()).strip() == ""
