"""`quartet resume` of a body, and its summaries by a model at the gateway."""

import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from quartet_cli.commands.resume import summaries_by
from quartet_cli.errors import UsageError
from quartet_cli.main import main
from quartet_site import Mobility, Resume
from quartet_site.resume import Manipulation, Perception, ResumeBody, Summary
from support.http_server import serve_app

FLYER = '<mujoco><worldbody><body name="flyer"><geom type="box" size=".2 .2 .05"/></body></worldbody></mujoco>'
BODY = """name: flyer
model: flyer.xml
cameras: {down: {link: LINK, tilt_rad: 0.785, hfov_deg: 90}}
mobility: {kind: rotors, footprint_radius_m: 0.3, speed_m_s: 1, flying_height_m: 1.5}
"""
RESUME = Resume(
    robot_id="flyer",
    robot_type="Drone",
    mobility=Summary(),
    perception=Perception(),
    manipulation=Manipulation(),
    body=ResumeBody(tree="flyer", mobility=Mobility(kind="rotors", footprint_radius_m=0.3, speed_m_s=1)),
)
WORDS = {"mobility": "It flies.", "perception": "It sees nothing.", "manipulation": "It has no hand."}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "flyer.xml").write_text(FLYER)
    (tmp_path / "body.yaml").write_text(BODY.replace("LINK", "flyer"))
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["resume", *arguments])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_a_folder_with_a_body_is_shown(folder, capsys):
    status, out, _ = call(capsys, str(folder), "--format", "json")
    assert not status
    shown = json.loads(out)
    assert shown["perception"]["cameras_info"] == {"down": {"height": 1.5, "hfov": 90.0, "type": "fixed"}}
    assert shown["mobility"]["summary"] == "The robot flies over stairs and obstacles."


def test_a_body_does_not_control_the_terminal(folder, capsys):
    (folder / "body.yaml").write_text(BODY.replace("LINK", "flyer") + 'type: "\\x1b[2JDrone"\n')
    for format in ("text", "markdown", "xml"):
        _, out, _ = call(capsys, str(folder), "--format", format)
        assert "\x1b" not in out
        assert "<U+001B>[2JDrone" in out.replace("&lt;", "<").replace("&gt;", ">")


def test_a_body_that_cannot_be_used_is_a_usage_error(folder, capsys):
    (folder / "body.yaml").write_text(BODY.replace("LINK", "wing"))
    status, out, err = call(capsys, str(folder))
    assert (status, out) == (2, "")
    assert "body.yaml:3: cameras.down.link: the model has no link 'wing' for the camera; valid: flyer" in err


def test_an_unknown_name_lists_robots(capsys):
    status, _, err = call(capsys, "rovr", "--format", "text")
    assert status == 2
    assert "there is no robot 'rovr'; valid: drone, fetch, lifter" in err


async def gateway(monkeypatch: pytest.MonkeyPatch, text: str) -> Any:
    asked: list[Any] = []

    async def answer(request: Request) -> JSONResponse:
        asked.append(await request.json())
        return JSONResponse({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"]), Route("/health", health)])
    async with serve_app(app) as url:
        monkeypatch.setenv("QUARTET_GATEWAY_URL", url)
        return await summaries_by(RESUME, "gateway/orchestrator"), asked


async def test_a_model_writes_the_summaries_in_one_call(monkeypatch):
    found, asked = await gateway(monkeypatch, f"Here they are:\n```json\n{json.dumps(WORDS)}\n```")
    assert found.model_dump() == WORDS
    (request,) = asked
    assert request["model"] == "orchestrator"
    assert "The robot flyer consists of these links" in request["messages"][0]["content"]


async def test_other_words_of_a_model_are_refused(monkeypatch):
    with pytest.raises(UsageError, match="wrote no summaries: 'I cannot'; valid: a JSON object with mobility"):
        await gateway(monkeypatch, "I cannot")


async def test_a_model_elsewhere_is_refused():
    with pytest.raises(UsageError, match="valid: gateway/AGENT"):
        await summaries_by(RESUME, "openai/gpt-4o")
