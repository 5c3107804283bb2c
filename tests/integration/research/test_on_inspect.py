"""Experiments on Inspect, in an environment of its own (scripts/inspect-env), as they are run: by the command.

The tests of tests/unit/research/with_inspect run there, too.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from quartet_deployment import sign_grant
from quartet_gateway import Gateway, GatewayFile, Settings, TaskGrants, choose_models, create_app
from quartet_gateway.access import Access
from quartet_research.planners.speakers import Faults, Speakers
from support.http_server import serve_app

ROOT = Path(__file__).parents[3]
FOLDER = "tests/unit/research/with_inspect"
LONG_S = 300.0

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def bin_folder() -> Path:
    """The programs of the environment with Inspect."""
    made = subprocess.run([ROOT / "scripts" / "inspect-env"], capture_output=True, text=True, timeout=840)
    assert made.returncode == 0, made.stderr[-3000:]
    return ROOT / ".quartet" / "inspect" / "bin"


def plain(**more: str) -> dict[str, str]:
    """The environment without what would choose other tests or models."""
    return {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST_", "QUARTET_", "INSPECT_"))} | more


def test_the_tests_with_inspect_pass(bin_folder: Path) -> None:
    # Inspect leaves streams open, and calls what its own dependencies deprecate.
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "filterwarnings=ignore"]
    ended = subprocess.run(
        [bin_folder / "python", "-m", "pytest", *options, FOLDER],
        cwd=ROOT, env=plain(), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
    # That they ran: without Inspect none of them is collected.
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed is not None, ended.stdout[-2000:]
    assert int(passed[1]) >= 10


def trials_in(folder: Path) -> int:
    """Number of trials that the folder has: lines of the file but the first."""
    file = folder / "trials.jsonl"
    return max(0, file.read_text().count("\n") - 1) if file.exists() else 0


def test_a_run_that_is_killed_goes_on_and_gives_the_same_table(bin_folder: Path, tmp_path: Path) -> None:
    command = [
        bin_folder / "quartet", "bench", "planners", "--framework", "cmas", "--framework", "hmas2",
        "--suite", "boxnet2", "--robots", "8", "--robots", "16", "--trials", "6", "--p-fault", "0.2",
    ]  # fmt: skip
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, "--out", whole], env=plain(), check=True, capture_output=True, timeout=LONG_S)
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([*command, "--out", killed], env=plain(), stdout=log, stderr=log)
        end = time.monotonic() + LONG_S
        while trials_in(killed) == 0 and process.poll() is None:
            assert time.monotonic() < end, f"no trial within {LONG_S} s"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait(LONG_S) == -signal.SIGKILL, (tmp_path / "log").read_text()
    before = trials_in(killed)
    assert 0 < before < 24
    assert not (killed / "table.md").exists()
    merge = [*command[:3], "--merge", killed, "--out", tmp_path / "part"]
    subprocess.run(merge, env=plain(), check=True, capture_output=True, timeout=LONG_S)
    assert f"{24 - before} trials were not begun" in (tmp_path / "part" / "table.md").read_text()
    subprocess.run([*command, "--out", killed], env=plain(), check=True, capture_output=True, timeout=LONG_S)
    for name in ("table.md", "table.csv", "trials.csv", "success.png"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    one, other = (json.loads((folder / "result.json").read_text()) for folder in (whole, killed))
    assert one["rows"] == other["rows"]
    assert one["details"] == other["details"]


@pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")
async def test_a_model_behind_the_gateway_plays(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speakers, asked = Speakers(Faults(), seed=0), []

    async def chat(request: Request) -> JSONResponse:
        """Answers in OpenAI's format as the reference speakers do."""
        body: dict[str, Any] = await request.json()
        asked.append(body)
        content = body["messages"][-1]["content"]
        prompt = content if isinstance(content, str) else content[0]["text"]
        named = re.match(r"You are (?:the central (planner)|(.+?), one of)", prompt)
        assert named is not None
        answer = await speakers(named[1] or named[2], prompt)
        message = {"role": "assistant", "content": answer.text}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        common = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
        return JSONResponse(common | {"choices": [choice], "usage": usage})

    async with serve_app(Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])) as provider:
        entry = {"model": "openai/m", "api_base": f"{provider}/v1", "api_key_env": "PROVIDER_KEY"}
        environment = {"PROVIDER_KEY": "k"}
        monkeypatch.setenv("PROVIDER_KEY", "k")
        file = GatewayFile.model_validate({"models": {"m": entry}, "agents": {"orchestrator": {"model": "m"}}})
        gateway = Gateway(file, choose_models(file, Settings(_env_file=None), environment), environment=environment)
        key = Ed25519PrivateKey.generate()
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        async with serve_app(create_app(gateway, Access([]), TaskGrants([key.public_key()]))) as url:
            process = await asyncio.create_subprocess_exec(
                bin_folder / "quartet", "bench", "planners", "--framework", "hmas2", "--suite", "boxnet1",
                "--robots", "4", "--trials", "1", "--model", "gateway/orchestrator", "--price", "1,1",
                "--budget-usd", "1", "--out", tmp_path,
                env=plain(QUARTET_GATEWAY_URL=url, QUARTET_GATEWAY_GRANT=sign_grant(pem, None)),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            said, _ = await asyncio.wait_for(process.communicate(), LONG_S)
        await gateway.close()
    assert process.returncode == 0, said.decode()
    assert "estimated cost: about $" in said.decode()
    (trial,) = json.loads((tmp_path / "result.json").read_text())["details"]
    assert trial["model"] == "gateway/orchestrator"
    assert trial["succeeded"]
    assert trial["calls"] == len(asked) > 2
    assert trial["tokens"] == 1100 * len(asked)
    spent = sum(map(float, (tmp_path / "spent-usd.txt").read_text().split()))
    assert spent == pytest.approx(len(asked) * 0.0011)
