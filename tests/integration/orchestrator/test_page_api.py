"""What the web page stands on: the session's cookie, told events, the robot's pose and pictures, the page's headers."""

import asyncio
import base64
import contextlib
import json
import re
import time
from pathlib import Path

import httpx2
import pytest
from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from mcp_types import ImageContent

from quartet_contracts.story import Narrator
from quartet_orchestrator.api.views import outline
from quartet_site import RobotFiles, RobotSetup, SiteFile, load_resume, load_robot, load_site
from support.http_server import serve_app

TOKEN = "the-token-of-somebody-with-a-page"
SAME = {"Sec-Fetch-Site": "same-origin"}
HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
BODY = {"sentence": "put the red coke can on the sofa table"}


@pytest.fixture
async def browser(start, agents, tmp_path):
    """Somebody without a header of their own, at an orchestrator whose token lies in a file."""
    agents.start()
    file = tmp_path / "api_token"
    file.write_text(f"{TOKEN} anna\n")
    async with (
        start(api_token=None, api_token_file=file, page_stop_url=":8010") as client,
        httpx2.AsyncClient(base_url=str(client.http.base_url), timeout=60) as http,
    ):
        yield http


async def sign_in(http, token=TOKEN):
    return await http.post("/session", headers={"Authorization": f"Bearer {token}"})


async def test_a_token_is_exchanged_for_a_cookie_that_scripts_cannot_read(browser):
    assert (await browser.get("/session")).json() == {"signed_in": False, "needed": True}
    assert (await sign_in(browser, "another-token-of-that-length")).status_code == 401
    answer = await sign_in(browser)
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert (await browser.get("/session")).json()["signed_in"] is True
    assert (await browser.get("/tasks")).status_code == 200


async def test_a_session_ends_in_the_browser(browser):
    await sign_in(browser)
    assert (await browser.delete("/session", headers=SAME)).status_code == 204
    assert (await browser.get("/tasks")).status_code == 401


async def test_a_cookie_that_was_copied_ends_with_the_session(browser):
    """Signing out ends the session itself, not only this browser's copy of the cookie."""
    await sign_in(browser)
    copied = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    assert (await browser.get("/tasks", headers=copied)).status_code == 200
    assert (await browser.delete("/session", headers={"Sec-Fetch-Site": "cross-site"})).status_code == 204
    browser.cookies.clear()
    assert (await browser.get("/tasks", headers=copied)).status_code == 200, "a foreign page ends nobody's session"
    assert (await browser.delete("/session", headers=SAME | copied)).status_code == 204
    assert (await browser.get("/tasks", headers=copied)).status_code == 401
    assert (await browser.get("/session", headers=copied)).json()["signed_in"] is False
    await sign_in(browser)
    assert (await browser.get("/tasks")).status_code == 200, "the next session is another one"


async def test_a_cookie_goes_over_tls_only_where_the_browser_uses_it(browser):
    """A proxy ends TLS before the orchestrator, which sees http; the browser's Origin says what it uses."""
    plain = await browser.post(
        "/session", headers={"Authorization": f"Bearer {TOKEN}", "Origin": "http://robots.example"}
    )
    assert "Secure" not in plain.headers["set-cookie"]
    behind = await browser.post(
        "/session", headers={"Authorization": f"Bearer {TOKEN}", "Origin": "https://robots.example"}
    )
    assert "Secure" in behind.headers["set-cookie"]


async def test_another_sites_page_cannot_give_tasks_with_the_cookie(browser):
    await sign_in(browser)
    foreign = [
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {},
    ]
    for headers in foreign:
        answer = await browser.post("/tasks", json=BODY, headers=headers)
        assert (answer.status_code, answer.json()["title"]) == (403, "Other origin"), headers
    assert (await browser.get("/tasks")).json()["tasks"] == []
    # A browser of before Sec-Fetch-Site says its origin.
    for headers in (SAME, {"Origin": str(browser.base_url).rstrip("/")}):
        assert (await browser.post("/tasks", json=BODY, headers=headers)).status_code == 202, headers


async def test_a_cookie_of_odd_digits_is_none(browser):
    """Python takes a superscript two for a digit and not for a number."""
    name = f"quartet_session_{browser.base_url.port}"
    answer = await browser.get("/tasks", headers={"Cookie": name.encode() + b"=\xb2.nonce.mac"})
    assert answer.status_code == 401, answer.text


async def test_a_cookie_that_was_tampered_with_is_none(browser):
    await sign_in(browser)
    ((name, value),) = browser.cookies.items()
    browser.cookies.clear()
    end, nonce, mac = value.split(".")
    for other in (f"{int(end) + 9}.{nonce}.{mac}", f"{end}.{nonce}.{'0' * len(mac)}", "nonsense", "9" * 5000):
        answer = await browser.get("/tasks", headers={"Cookie": f"{name}={other}"})
        assert answer.status_code == 401, other
    assert (await browser.get("/tasks", headers={"Cookie": f"{name}={value}"})).status_code == 200


async def test_a_session_ends_with_its_time_and_with_its_token(start, agents, tmp_path, eventually):
    agents.start()
    file = tmp_path / "api_token"
    file.write_text(f"{TOKEN}\n")
    async with (
        start(api_token=None, api_token_file=file, session_s=2.0) as client,
        httpx2.AsyncClient(base_url=str(client.http.base_url), timeout=60) as http,
    ):

        async def status():
            return (await http.get("/tasks", headers={"Cookie": cookie})).status_code

        cookie = (await sign_in(http)).headers["set-cookie"].split(";")[0]
        http.cookies.clear()

        async def over():
            return await status() == 401

        await eventually(over)
    async with (
        start(api_token=None, api_token_file=file) as client,
        httpx2.AsyncClient(base_url=str(client.http.base_url), timeout=60) as http,
    ):
        cookie = (await sign_in(http)).headers["set-cookie"].split(";")[0]
        http.cookies.clear()
        assert await status() == 200
        (tmp_path / "draft").write_text("the-next-token-of-somebody-else\n")
        (tmp_path / "draft").replace(file)
        assert await status() == 401


async def test_events_are_told_also_behind_a_position(client, model, do):
    """Words of a call that came before the position are still there for its result."""
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered))
    task_id = await client.submit()
    plain = await client.events(task_id)
    narrator = Narrator()
    expected = [narrator.tell(event).model_dump(mode="json") for event in plain]
    assert any(told["lines"] for told in expected)

    async def told(after="", **query):
        headers = {"Last-Event-ID": after} if after else {}
        answer = await client.http.get(f"/tasks/{task_id}/events", params={"told": "true", **query}, headers=headers)
        return [json.loads(line[6:])["told"] for line in answer.text.splitlines() if line.startswith("data: ")]

    assert await told() == expected
    assert await told(follow="false") == expected
    for index in range(0, len(plain), 3):
        assert await told(plain[index].position) == expected[index + 1 :]


class Robot:
    """A perception and a nav2 server with one tool each, which counts."""

    def __init__(self):
        self.calls = 0
        self.broken = False
        self.yaw = 0.5
        self.media_type = "image/jpeg"
        self.go = asyncio.Event()
        self.go.set()
        self.perception, self.nav2 = FastMCP("perception"), FastMCP("nav2")
        self.perception.tool(self.look)
        self.nav2.tool(self.get_robot_pose)

    async def look(self, camera: str = "both") -> ToolResult:
        """Pictures."""
        if self.broken:
            fault = {"ok": False, "error_code": "CAMERA_UNAVAILABLE", "message": f"no pictures of {camera}"}
            return ToolResult(structured_content=fault)
        data = base64.b64encode(f"jpeg of {camera}".encode()).decode()
        picture = ImageContent(type="image", data=data, mime_type=self.media_type)
        return ToolResult(content=[picture], structured_content={"ok": True, "cameras": [camera]})

    async def get_robot_pose(self) -> ToolResult:
        """Where it is."""
        self.calls += 1
        await self.go.wait()
        if self.broken:
            fault = {"ok": False, "error_code": "TRANSFORM_UNAVAILABLE", "message": "no frame 'map'"}
            return ToolResult(structured_content=fault)
        pose = {"x": 1.5, "y": -2.0, "yaw": self.yaw, "frame_id": "map"}
        return ToolResult(structured_content={"ok": True, "pose": pose, "area": "kitchen"})


@pytest.fixture
def robot():
    return Robot()


@pytest.fixture
async def watching(start, settings, agents, robot):
    agents.start()
    async with contextlib.AsyncExitStack() as stack:
        urls = [
            await stack.enter_async_context(serve_app(mcp.http_app(path="/mcp"), lifespan="on"))
            for mcp in (robot.perception, robot.nav2)
        ]
        servers = {**settings.servers["summit"], "perception": f"{urls[0]}/mcp", "nav2": f"{urls[1]}/mcp"}
        yield await stack.enter_async_context(start(servers={"summit": servers}))


async def test_all_who_watch_share_one_look_at_the_robot(watching, robot, eventually, monkeypatch):
    # So that it does not matter when the requests come.
    monkeypatch.setattr("quartet_orchestrator.observation.monitor.POSE_FRESH_S", 600.0)
    robot.go.clear()
    asked = [asyncio.create_task(watching.http.get("/robots/summit/pose")) for _ in range(5)]
    await eventually(lambda: robot.calls)
    robot.go.set()
    for answer in await asyncio.gather(*asked):
        found = answer.json()
        assert {**found, "at": 0} == {"x": 1.5, "y": -2.0, "yaw": 0.5, "area": "kitchen", "at": 0}
    assert robot.calls == 1
    picture = await watching.http.get("/robots/summit/cameras/front")
    assert (picture.content, picture.headers["content-type"]) == (b"jpeg of front", "image/jpeg")
    assert picture.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
async def test_a_clock_that_is_set_neither_ages_what_was_seen_nor_keeps_it_young(watching, robot, monkeypatch, jump_s):
    monkeypatch.setattr("quartet_orchestrator.observation.monitor.POSE_FRESH_S", 600.0)
    assert (await watching.http.get("/robots/summit/pose")).status_code == 200
    real = time.time
    monkeypatch.setattr("quartet_orchestrator.observation.monitor.time.time", lambda: real() + jump_s)
    assert (await watching.http.get("/robots/summit/pose")).status_code == 200
    assert robot.calls == 1
    monkeypatch.setattr("quartet_orchestrator.observation.monitor.POSE_FRESH_S", 0.0)
    assert (await watching.http.get("/robots/summit/pose")).status_code == 200
    assert robot.calls == 2


async def test_where_the_robots_of_one_site_are_and_one_that_is_slow_or_gone_holds_up_none(
    start, settings, agents, robot, tmp_path, monkeypatch, eventually
):
    monkeypatch.setattr("quartet_orchestrator.observation.monitor.POSES_WAIT_S", 600.0)
    monkeypatch.setattr("quartet_orchestrator.observation.monitor.POSE_FRESH_S", 0.0)
    agents.start()
    slow, elsewhere = Robot(), Robot()
    other_site = tmp_path / "site.yaml"
    other_site.write_bytes(settings.site_file.read_bytes())
    robots = {}
    for name in ("anna", "ben", "carl"):
        file = tmp_path / f"{name}.yaml"
        file.write_text(re.sub(r"(?m)^name:.*$", f"name: {name}", settings.robot_file.read_text(), count=1))
        site = other_site if name == "carl" else settings.site_file
        robots[name] = RobotFiles(robot_file=file, site_file=site)
    async with contextlib.AsyncExitStack() as stack:
        urls = {
            name: await stack.enter_async_context(serve_app(one.nav2.http_app(path="/mcp"), lifespan="on"))
            for name, one in (("anna", robot), ("ben", slow), ("carl", elsewhere))
        }
        servers = {name: {**settings.servers["summit"], "nav2": f"{url}/mcp"} for name, url in urls.items()}
        client = await stack.enter_async_context(start(servers=servers, robots=robots))

        async def poses(of="anna"):
            answer = await client.http.get(f"/robots/{of}/poses")
            assert answer.status_code == 200
            return {row["name"]: row for row in answer.json()["robots"]}

        place = {"pose": {"x": 1.5, "y": -2.0, "yaw": 0.5}, "area": "kitchen", "why": ""}
        found = await poses()
        assert {name: row | {"age_s": 0} for name, row in found.items()} == {
            name: {"name": name, "age_s": 0, **place} for name in ("anna", "ben")
        }
        for rest_s, asked_anew in ((600.0, True), (0.0, False)):
            monkeypatch.setattr("quartet_orchestrator.observation.monitor.REST_S", rest_s)
            monkeypatch.setattr("quartet_orchestrator.observation.monitor.REST_FRESH_S", 600.0)
            before = robot.calls, slow.calls
            await poses()
            assert robot.calls == before[0] + 1, "the one that is watched is asked each time"
            assert slow.calls == before[1] + asked_anew, "another one seldom, once it rests"
        monkeypatch.setattr("quartet_orchestrator.observation.monitor.REST_S", 600.0)
        assert list(await poses("carl")) == ["carl"], "what another site's robot says is not drawn on this map"
        # From now on nobody waits for the one that is slow: it is where it was last seen.
        monkeypatch.setattr("quartet_orchestrator.observation.monitor.POSES_WAIT_S", 0.0)
        slow.go.clear()
        asked = slow.calls
        assert (await poses())["ben"]["pose"] == place["pose"]
        robot.broken = True

        async def lost():
            found = await poses()
            assert found["ben"]["pose"] == place["pose"]
            return (found["anna"]["pose"], found["anna"]["why"]) == (None, "TRANSFORM_UNAVAILABLE: no frame 'map'")

        await eventually(lost)
        assert slow.calls - asked <= 1, "who is asked already is not asked once more"
        slow.go.set()
        # One whose server says something else spoils nothing for the others.
        robot.broken, robot.yaw = False, "north"

        async def strange():
            found = await poses()
            return (found["anna"]["pose"], found["anna"]["why"]) == (None, "the server's answer does not have it")

        await eventually(strange)
        assert (await client.http.get("/robots/anna/pose")).status_code == 503
        answer = await client.http.get("/robots/dora/poses")
        assert (answer.status_code, answer.json()["detail"]) == (
            404, "there is no robot 'dora'; valid: anna, ben, carl"
        )  # fmt: skip


async def test_a_picture_that_is_a_page_is_not_served(watching, robot, agents, monkeypatch):
    """On the origin of the session its scripts would have the cookie."""
    monkeypatch.setattr("quartet_orchestrator.observation.monitor.PICTURE_FRESH_S", 0.0)
    for media_type in ("text/html", "image/svg+xml", "image/jpeg; charset=utf-8"):
        robot.media_type = media_type
        reference = await agents.bus.images.put("t1", media_type.encode() + b"<script>", media_type)
        for path in (f"/tasks/t1/images/{reference}", "/robots/summit/cameras/front"):
            answer = await watching.http.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json"), path
            assert "valid: image/jpeg, image/png" in answer.json()["detail"]
    robot.media_type = "image/png"
    reference = await agents.bus.images.put("t1", b"<script>", "image/png")
    for path in (f"/tasks/t1/images/{reference}", "/robots/summit/cameras/arm"):
        answer = await watching.http.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png"), path
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


async def test_what_is_around_a_robot_and_one_that_has_none_of_it(watching, robot, monkeypatch):
    monkeypatch.setattr("quartet_orchestrator.observation.monitor.POSE_FRESH_S", 0.0)
    monkeypatch.setattr("quartet_orchestrator.observation.monitor.MAP_FRESH_S", 0.0)

    async def seen(what):
        answer = await watching.http.get(f"/robots/summit/{what}")
        assert answer.status_code == 200
        return answer.json()

    nothing = {"battery": None, "laser": [], "path": [], "gripper": "EMPTY"}
    assert await seen("surroundings") == nothing, "its perception server is third-party and has no such tool"
    assert (await seen("map"))["map"] is None
    around = {"battery": 0.5, "laser": [[1.0, 2.0]], "path": [[0.0, 0.0], [1.0, 0.0]]}
    grid = {"cell_m": 0.1, "columns": 3, "rows": 2, "origin": [0.0, 1.0], "yaw": 0.0, "occupied": [[1, 0, 3]]}

    async def get_surroundings() -> ToolResult:
        return ToolResult(structured_content={"ok": True, **around})

    async def get_map() -> ToolResult:
        return ToolResult(structured_content={"ok": True, "map": grid})

    robot.perception.tool(get_surroundings)
    robot.perception.tool(get_map)
    assert await seen("surroundings") == {**around, "gripper": "EMPTY"}
    assert (await seen("map"))["map"] == grid
    around["laser"] = "everywhere"
    grid["occupied"] = [["a"]]
    assert await seen("surroundings") == nothing, "what is not as documented is not passed on"
    assert (await seen("map"))["map"] is None
    for what in ("surroundings", "map"):
        assert (await watching.http.get(f"/robots/tiago/{what}")).status_code == 404


async def test_what_cannot_be_seen_says_why(watching, robot):
    robot.broken = True
    asked = {
        "/robots/summit/pose": (503, "TRANSFORM_UNAVAILABLE: no frame 'map'"),
        "/robots/summit/cameras/arm": (503, "CAMERA_UNAVAILABLE: no pictures of arm"),
        "/robots/tiago/pose": (404, "there is no robot 'tiago'; valid: summit"),
        "/robots/tiago/site": (404, "there is no robot 'tiago'; valid: summit"),
        "/robots/tiago/cameras/front": (404, "there is no robot 'tiago'; valid: summit"),
        "/robots/summit/cameras/rear": (404, "there is no camera 'rear'; valid: arm, front"),
    }
    for path, expected in asked.items():
        answer = await watching.http.get(path)
        assert (answer.status_code, answer.json()["detail"]) == expected, path


async def test_the_site_is_outlined_for_a_map(client):
    site = (await client.http.get("/robots/summit/site")).json()
    assert {area["name"] for area in site["areas"]} >= {"kitchen", "living room"}
    assert all(len(area["outline"]) >= 3 for area in site["areas"])
    assert {"name", "area", "kind", "approach", "no_pick", "no_put"} == set(site["places"][0])


def test_the_outline_says_why_a_robot_cannot_use_a_place():
    site = load_site(HOME / "site.yaml").model_dump()
    site["areas"][0]["step_m"] = 0.1
    site["surfaces"][-1]["appearance"]["size_m"] = (1.0, 0.4, 1.9)
    rover = HOME.parents[1] / "robots" / "rover"
    setup = RobotSetup(
        load_robot(rover / "robot.yaml"), SiteFile.model_validate(site), resume=load_resume(rover / "resume.json")
    )
    places = {one["name"]: (one["no_pick"], one["no_put"]) for one in outline(setup)["places"]}
    behind = [one["name"] for one in (*site["surfaces"], *site["containers"]) if one["area"] == "living room"]
    for name in behind:
        assert places[name] == (("the way into the living room has a step of 0.10 m, and rover climbs 0.00 m",) * 2)
    picked, put = places[site["surfaces"][-1]["name"]]
    assert "what is picked up from it needs the finger tips at 1.92 m" in picked
    assert "what is put on it needs the finger tips at" in put
    assert places["kitchen counter"] == places["kitchen bin"] == ("", "")
    # Without a resume nothing is known that speaks against it.
    unknown = outline(RobotSetup(setup.robot, setup.site))["places"]
    assert {(one["no_pick"], one["no_put"]) for one in unknown} == {("", "")}


async def test_the_page_lets_a_browser_load_and_reach_nothing_foreign(browser):
    hosts = {
        "robots.example:8000": "http://robots.example:8010",
        "[::1]:8000": "http://[::1]:8010",
        "x; script-src *": None,
    }
    for host, reachable in hosts.items():
        answer = await browser.get("/", headers={"Host": host})
        assert answer.status_code == 200
        rules = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == "'self'"
        assert rules["connect-src"] == ("'self'" if reachable is None else f"'self' {reachable}")
        assert rules["frame-ancestors"] == "'none'"
        assert (await browser.get("/page", headers={"Host": host})).json() == {"stop_url": reachable}


async def test_the_pages_files_are_open_and_nothing_beside_them(browser):
    page = (await browser.get("/")).text
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    script = await browser.get("/page/main.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["x-content-type-options"] == "nosniff"
    for path in ("/page/../settings.py", "/page/%2e%2e/settings.py", "/page/nothing.js"):
        answer = await browser.get(path)
        assert answer.status_code in {401, 404}, path
