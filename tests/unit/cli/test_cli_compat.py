"""`quartet compat`: how long its grants last, and what ends it before it serves."""

import asyncio
import inspect
import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import FastMCP

from quartet_cli.commands.compat import GRANT_S, _serve, renewed
from quartet_cli.main import main

RULES = Path(__file__).parents[3] / "deploy" / "compat" / "four-agent.yaml"


def test_a_grant_is_kept_for_half_of_its_life():
    now, signed = 0.0, []

    def sign() -> str:
        signed.append(now)
        return f"token {len(signed)}"

    token = renewed(sign, clock=lambda: now)
    found = []
    for now in range(0, 2 * GRANT_S, 60):
        found.append((now, token()))
        assert now - signed[-1] <= GRANT_S / 2
    assert len({text for _, text in found}) == 4
    assert [text for _, text in found] == sorted(text for _, text in found)


async def test_a_server_answers_at_its_secret_path_alone(capsys):
    class Rules:
        """Serves one server."""

        async def apps(self, path: str) -> dict[str, Any]:
            return {"theirs": FastMCP(name="theirs").http_app(path=path)}

    serving = asyncio.create_task(_serve(Rules()))  # pyright: ignore[reportArgumentType]
    printed = ""
    while not printed.rstrip().endswith("\n}"):
        assert not serving.done()
        await asyncio.sleep(0.01)
        printed += capsys.readouterr().out
    url = httpx2.URL(json.loads(printed)["mcpServers"]["theirs"]["url"])
    assert len(url.path) == len("//mcp") + 22, "16 random bytes"
    async with httpx2.AsyncClient(trust_env=False) as client:
        assert (await client.post(url)).status_code not in (401, 403, 404)
        for path in ("/mcp", "/", f"/{'A' * 22}/mcp"):
            assert (await client.post(url.copy_with(path=path))).status_code == 404
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [("servers: {}", "at least 1"), ("servers: [", "rules.yaml"), (None, "rules.yaml"), ("", "must hold fields")],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path, capsys, text, said):
    rules = tmp_path / "rules.yaml"
    if text is not None:
        rules.write_text(text)
    with pytest.raises(SystemExit) as end:
        main(["compat", str(rules), "--robot", "summit"])
    assert end.value.code == 2
    assert said in capsys.readouterr().err


def test_without_a_running_deployment_it_asks_for_the_key(monkeypatch, capsys):
    monkeypatch.setattr("quartet_cli.commands.access.running_stack", dict)
    with pytest.raises(SystemExit) as end:
        main(["compat", str(RULES), "--robot", "summit"])
    assert end.value.code == 2
    assert "--key is needed, because no `quartet up` runs here" in capsys.readouterr().err


def test_a_key_that_cannot_be_used_is_a_message(tmp_path, capsys):
    key = tmp_path / "key.pem"
    key.write_text("no key")
    with pytest.raises(SystemExit) as end:
        main(["compat", str(RULES), "--robot", "summit", "--key", str(key), "--fence", "1"])
    assert end.value.code == 2
    assert "the grant cannot be signed" in capsys.readouterr().err


def test_a_grant_is_renewed_by_the_clock_that_ends_it():
    """A monotonic clock may stand still while the machine sleeps."""
    assert inspect.signature(renewed).parameters["clock"].default is time.time
