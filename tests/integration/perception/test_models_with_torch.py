"""The open-vocabulary segmenter where torch is: in an environment of its own, since the locked one has none.

The tests of tests/unit/perception/with_torch run there, and a server process that the other processes reach as usual.
"""

import asyncio
import json
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

ROOT = Path(__file__).parents[3]
FOLDER = "tests/unit/perception/with_torch"
STUDIO = ROOT / "deploy" / "sites" / "studio"
LONG_S = 300.0

# Downloading torch may take minutes on a slow line.
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of the environment with torch."""
    made = subprocess.run([ROOT / "scripts" / "segmenter-env"], capture_output=True, text=True, timeout=840)
    if made.returncode == 3 and not os.environ.get("QUARTET_TEST_ALL"):
        pytest.skip(made.stderr.strip()[-500:])
    assert made.returncode == 0, made.stderr[-3000:]
    return ROOT / ".quartet" / "segmenter" / "bin" / "python"


@pytest.fixture(scope="module")
def plain() -> dict[str, str]:
    """The environment without what would choose other tests or models. One thread: torch's own wait for each other
    spinning, which is slow where other tests run."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST_", "QUARTET_", "HF_"))}
    return kept | {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tests with torch leave the models that they make."""
    return tmp_path_factory.mktemp("weights")


@pytest.fixture(scope="module")
def ended(python: Path, plain: dict[str, str], weights: Path) -> subprocess.CompletedProcess[str]:
    """The tests with torch, run."""
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", FOLDER],
        cwd=ROOT, env=plain | {"QUARTET_TEST_WEIGHTS": str(weights)}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def test_the_models_load_and_find(ended: subprocess.CompletedProcess[str]) -> None:
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
    # That they ran: without torch none of them is collected.
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed is not None, ended.stdout[-2000:]
    assert int(passed[1]) >= 40


@pytest.fixture
def server(
    ended: object, python: Path, plain: dict[str, str], weights: Path, studio: Any, make_keys: Any, tmp_path: Path
) -> Iterator[tuple[str, str]]:
    """A perception server with tiny models: its URL, and a grant for segment_objects."""
    ready, keys = tmp_path / "ready.json", make_keys()
    environment = plain | {
        "QUARTET_ROBOT_FILE": str(STUDIO / "robot.yaml"),
        "QUARTET_SITE_FILE": str(STUDIO / "site.yaml"),
        "QUARTET_BRIDGE_URL": studio.url,
        "QUARTET_STATE_DIR": str(tmp_path / "state"),
        "QUARTET_GRANT_PUBLIC_KEY": keys.public_pem,
        "QUARTET_READY_FILE": str(ready),
        "QUARTET_SEGMENTER": "open_vocabulary",
        "QUARTET_SEGMENTER_MODEL": str(weights / "grounding-dino"),
        "QUARTET_SEGMENTER_MASK_MODEL": str(weights / "sam2"),
        "QUARTET_SEGMENTER_DEVICE": "cpu",
        "QUARTET_SEGMENTER_THRESHOLD": "0.001",
        "QUARTET_SEGMENTER_TIMEOUT_S": "100",
    }
    log = (tmp_path / "log").open("w")
    process = subprocess.Popen([python, "-m", "quartet_perception"], env=environment, stderr=log)
    try:
        wait_for(lambda: ready.exists() or process.poll() is not None)
        assert process.poll() is None, (tmp_path / "log").read_text()
        yield json.loads(ready.read_text())["url"], keys.token("perception__segment_objects")
    finally:
        process.terminate()
        process.wait(LONG_S)
        log.close()


def wait_for(condition: Any) -> None:
    end = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < end, f"not true within {LONG_S} s"
        time.sleep(0.02)


def health(url: str) -> list[dict[str, str]]:
    with urllib.request.urlopen(f"{url}/health", timeout=LONG_S) as answer:
        return json.load(answer)["segmenter"]


async def test_a_server_answers_while_its_weights_load_and_uses_them_then(server: tuple[str, str]) -> None:
    url, token = server
    # It listens before torch is even imported.
    assert health(url) in ([{"state": "loading"}], [{"state": "ready"}])
    await asyncio.to_thread(wait_for, lambda: health(url) != [{"state": "loading"}])
    assert health(url) == [{"state": "ready"}]
    async with Client(f"{url}/mcp", auth=BearerAuth(token)) as client:
        answer = await client.call_tool("segment_objects", {"prompt": "a blue kite", "camera": "front", "timeout": 110})
    result = answer.structured_content
    assert result["ok"], result
    assert {output["label"] for output in result["outputs"]} <= {"blue kite"}
