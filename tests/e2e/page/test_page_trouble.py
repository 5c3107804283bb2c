"""The page in a real browser when things go wrong at a moment of the test's choice: its files are the real ones, what
the orchestrator and the stop service answer is the test's.
"""

import json
import re
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from quartet_orchestrator.api.views import outline
from quartet_site import RobotSetup, SiteFile, load_resume, load_robot, load_site
from support.page_answers import (
    CORS,
    FILES,
    OLD,
    PAGE,
    RIGHT,
    SITE,
    STOP,
    Deployment,
    event,
    problem,
    seen,
    task,
    until,
)

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

DEPLOY = Path(__file__).parents[3] / "deploy"
HOME = DEPLOY / "sites" / "home" / "site.yaml"


def setup_of(robot: str, site: SiteFile) -> RobotSetup:
    """A robot of a folder of deploy/robots at a site."""
    folder = DEPLOY / "robots" / robot
    return RobotSetup(load_robot(folder / "robot.yaml"), site, resume=load_resume(folder / "resume.json"))


def stop_token(page: Page) -> str:
    return page.evaluate("localStorage.getItem('quartet.stop')")


def test_a_foreign_link_does_not_take_the_stop_token_away(page: Page, deployment: Deployment) -> None:
    page.goto(f"{PAGE}/#stop={RIGHT}")
    expect(page.locator("#map svg")).to_be_visible()
    assert stop_token(page) == RIGHT, "there was none"
    for link in ("#stop=foreign", "#token=foreign&stop=foreign"):
        deployment.answers["POST /session"] = lambda route: problem(route, 401, "not an API token")
        entered = deployment.count("GET", f"{PAGE}/session")
        page.evaluate("link => (location.hash = link)", link)
        until(page, lambda entered=entered: deployment.count("GET", f"{PAGE}/session") > entered)
        assert stop_token(page) == RIGHT, link


def test_a_stop_token_that_works_replaces_one_of_before(page: Page, deployment: Deployment) -> None:
    page.goto(f"{PAGE}/#stop={OLD}")
    until(page, lambda: deployment.count("GET", f"{STOP}/state"))
    page.evaluate("link => (location.hash = link)", f"#stop={RIGHT}")
    page.wait_for_function("token => localStorage.getItem('quartet.stop') === token", arg=RIGHT)
    deployment.answers["POST /session"] = lambda route: route.fulfill(status=204)
    page.evaluate("link => (location.hash = link)", "#token=mine&stop=that-of-the-own-link")
    page.wait_for_function("localStorage.getItem('quartet.stop') === 'that-of-the-own-link'")


def test_all_are_stopped_while_the_stop_of_one_is_tried_on(page: Page, deployment: Deployment) -> None:
    page.goto(f"{PAGE}/#stop={RIGHT}")
    expect(page.locator("#pose-words")).to_contain_text("where anna is")

    def only_all(route: Route) -> None:
        if (route.request.post_data_json or {}).get("robot"):
            route.abort("connectionrefused")
        else:
            deployment.stop_service(route, "/stop")

    deployment.answers["POST /stop"] = only_all
    page.get_by_role("button", name="Stop this one").click()
    told = page.locator("#stop-state")
    expect(told).to_contain_text("anna was not stopped: The stop service is out of reach.")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(told).to_contain_text("ben is stopped and stands still")
    expect(told).to_contain_text("anna is stopped and stands still")
    expect(page.locator("#stop-words")).to_have_text("Stopped")
    expect(told).not_to_contain_text("not stopped")


def test_a_press_that_failed_is_told_until_one_works(page: Page, deployment: Deployment) -> None:
    page.goto(f"{PAGE}/#stop={RIGHT}")
    expect(page.locator("#pose-words")).to_contain_text("where anna is")
    deployment.answers["POST /stop"] = lambda route: problem(route, 500, "a fault")
    page.get_by_role("button", name="Stop", exact=True).click()
    told = page.locator("#stop-state")
    expect(told).to_contain_text("Not stopped: The stop service refused: a fault")
    looks = deployment.count("GET", f"{STOP}/state")
    until(page, lambda: deployment.count("GET", f"{STOP}/state") >= looks + 3)
    expect(told).to_contain_text("Not stopped: The stop service refused: a fault")
    del deployment.answers["POST /stop"]
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(told).to_contain_text("anna is stopped and stands still")
    expect(told).not_to_contain_text("Not stopped")


def test_stopped_stays_on_the_page_when_an_answer_breaks_off(page: Page, deployment: Deployment) -> None:
    page.goto(f"{PAGE}/#stop={RIGHT}")
    expect(page.locator("#pose-words")).to_contain_text("where anna is")
    page.get_by_role("button", name="Stop", exact=True).click()
    told = page.locator("#stop-state")
    expect(told).to_contain_text("anna is stopped and stands still")
    broken = ['{"robots": {"anna"', "null", "{}", '{"robots": {}}', '{"robots": {"anna": null, "ben": 7}}']
    for body in broken:
        deployment.answers["GET /state"] = lambda route, body=body: route.fulfill(
            body=body, content_type="application/json", headers=CORS
        )
        looks = deployment.count("GET", f"{STOP}/state")
        until(page, lambda looks=looks: deployment.count("GET", f"{STOP}/state") >= looks + 2)
        expect(told).to_contain_text("When last heard of: anna is stopped and stands still")
    expect(page.locator("#stop-words")).to_have_text("Stopped")
    del deployment.answers["GET /state"]
    expect(told).not_to_contain_text("When last heard of")
    expect(told).to_contain_text("anna is stopped and stands still")


def test_a_question_whose_time_is_over_is_closed_and_a_fault_in_drawing_is_reported(
    page: Page, deployment: Deployment
) -> None:
    told: dict[str, Any] = {"lines": [], "now": None}
    asked = {"question_id": "q-1", "text": "Which can?", "expires_at": 9e9}
    deployment.tasks = [task("PAUSED")]
    deployment.events = [
        [event(1, told, kind="question", **asked), event(2, told, kind="state", state="PAUSED", reason="waits")],
        [],
    ]
    page.goto(f"{PAGE}/#/task/t-1")
    question = page.get_by_role("region", name="Question to you")
    expect(question).to_contain_text("Which can?")
    deployment.tasks[0]["state"] = "RUNNING"
    after = [event(4, told, kind="state", state="RUNNING", reason="nobody answered in time")]
    deployment.events = [[event(3, None, kind="note", text="it has no words"), *after], []]
    expect(question).to_be_hidden()
    assert page.faults, "the fault in drawing is in the log of the browser"  # type: ignore[attr-defined]
    page.faults.clear()  # type: ignore[attr-defined]


def test_choices_of_a_question_are_buttons_and_stay_text(page: Page, deployment: Deployment) -> None:
    told: dict[str, Any] = {"lines": [], "now": None}
    asked = {"question_id": "q-1", "text": "Which can?", "expires_at": 9e9, "choices": ["the red one", "<b>blue</b>"]}
    deployment.tasks = [task("PAUSED")]
    paused = event(2, told, kind="state", state="PAUSED", reason="waits")
    deployment.events = [[event(1, told, kind="question", **asked), paused], []]
    answers: list[Any] = []

    def take(route: Route) -> None:
        answers.append(route.request.post_data_json)
        route.fulfill(status=204)

    deployment.answers["POST /tasks/t-1/answer"] = take
    page.goto(f"{PAGE}/#/task/t-1")
    question = page.get_by_role("region", name="Question to you")
    expect(question.get_by_role("textbox")).to_be_visible()
    question.get_by_role("button", name="<b>blue</b>", exact=True).click()
    until(page, lambda: answers)
    assert answers == [{"text": "<b>blue</b>", "question_id": "q-1"}]


def test_a_browser_whose_clock_is_ahead_hides_no_question(page: Page, deployment: Deployment) -> None:
    """When another orchestrator takes the task up, a question is shown again that has time left: by its own clock."""
    theirs = time.time() - 7200.0
    deployment.headers = {"date": formatdate(theirs, usegmt=True)}
    told: dict[str, Any] = {"lines": [], "now": None}
    asked = {"question_id": "q-1", "text": "Which can?", "expires_at": theirs + 3600.0}
    deployment.tasks = [task("PAUSED")]
    states = ["PAUSED", "RETRIABLE", "INITIALIZING", "RUNNING", "PAUSED"]
    later = [event(2 + at, told, kind="state", state=state, reason="") for at, state in enumerate(states)]
    deployment.events = [[event(1, told, kind="question", **asked), *later], []]
    page.goto(f"{PAGE}/#/task/t-1")
    question = page.get_by_role("region", name="Question to you")
    expect(question).to_contain_text("Which can?")
    expect(question).to_contain_text(re.compile(r"(60:0\d|59:\d\d) left"))


def test_a_question_comes_back_when_another_orchestrator_takes_the_task_up(page: Page, deployment: Deployment) -> None:
    """One that died before it had paused: the next pauses for the same question, which is in the journal once."""
    told: dict[str, Any] = {"lines": [], "now": None}
    asked = {"question_id": "q-1", "text": "Which can?", "expires_at": 9e9}
    deployment.tasks = [task("RUNNING")]
    deployment.events = [[event(1, told, kind="question", **asked)], []]
    page.goto(f"{PAGE}/#/task/t-1")
    question = page.get_by_role("region", name="Question to you")
    expect(question).to_contain_text("Which can?")
    moves = ["RETRIABLE", "INITIALIZING", "RUNNING"]
    later = [event(3 + at, told, kind="state", state=state, reason="") for at, state in enumerate(moves)]
    deployment.events = [[event(2, told, kind="taken_over"), *later], []]
    expect(question).to_be_hidden()
    deployment.tasks[0]["state"] = "PAUSED"
    deployment.events = [[event(6, told, kind="state", state="PAUSED", reason="waits for an answer")], []]
    expect(question).to_contain_text("Which can?")
    answers: list[Any] = []

    def take(route: Route) -> None:
        answers.append(route.request.post_data_json)
        route.fulfill(status=204)

    deployment.answers["POST /tasks/t-1/answer"] = take
    question.get_by_role("textbox").fill("the red one")
    question.get_by_role("textbox").press("Enter")
    until(page, lambda: answers)
    assert answers == [{"text": "the red one", "question_id": "q-1"}]


def test_what_is_seen_of_one_robot_is_not_shown_as_another(page: Page, deployment: Deployment) -> None:
    held: list[Route] = []
    page.goto(PAGE)
    expect(page.locator("#pose-words")).to_contain_text("where anna is")
    deployment.answers["GET /robots/anna/poses"] = held.append
    until(page, lambda: held)
    page.evaluate(
        """() => {
            window.seen = [];
            const words = document.getElementById("pose-words");
            new MutationObserver(() => window.seen.push(words.textContent)).observe(words, { childList: true });
        }"""
    )
    page.locator("#watched").select_option("ben")
    page.wait_for_function("window.seen.length > 0")
    for route in held:
        route.fulfill(json={"robots": [seen("anna", 3.0, 3.0), seen("ben", 1.0, 3.0)]})
    expect(page.locator("#pose-words")).to_contain_text("where ben is")
    words = page.evaluate("window.seen")
    assert words[0] == "", "nothing until something is known of it"
    assert not [text for text in words if "anna" in text]


def test_all_robots_of_the_site_are_on_the_map_and_one_that_is_gone_holds_up_none(
    page: Page, deployment: Deployment, shots: Path
) -> None:
    deployment.tasks = [task("RUNNING")]
    deployment.robots = [
        {"name": "anna", "state": "busy", "task": "t-1"},
        {"name": "ben", "state": "busy", "task": "t-2"},
        {"name": "carl", "state": "absent", "task": None},
        {"name": "dora", "state": "idle", "task": None},
    ]
    lost = {"name": "carl", "pose": None, "area": None, "age_s": None, "why": "SERVER_UNAVAILABLE: nav2 is down"}
    deployment.poses = [seen("anna", 1.0, 1.0), seen("ben", 3.0, 1.0), lost, seen("dora", 2.0, 3.0, age_s=60.0)]
    page.goto(PAGE)
    rows = page.locator("#fleet li")
    told = [
        "anna where anna is · works on this task",
        "ben where ben is · works on another task",
        "carl not seen: SERVER_UNAVAILABLE: nav2 is down · absent",
        "dora last seen: where dora is · idle",
    ]
    for number, text in enumerate(told):
        name, _, words = text.partition(" ")
        expect(rows.nth(number).locator(".name")).to_have_text(name)
        expect(rows.nth(number).locator(".what")).to_have_text(words)
    names = page.locator("#map .robot-name")
    expect(names).to_have_text(["ben", "dora", "anna"])
    others = page.locator("#map .robot.other")
    expect(others).to_have_count(2)
    ben = others.first.get_attribute("transform")
    assert ben is not None
    assert ben.startswith("translate(3 -1) rotate(-57.2")
    expect(page.locator("#map .robot.other.old")).to_have_count(1)
    for theme in ("light", "dark"):
        page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        page.screenshot(path=shots / f"fleet-{theme}.png")
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in {"serious", "critical"}] == [], theme
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Robot", exact=True).click()
    expect(rows.first).to_be_visible()
    page.screenshot(path=shots / "fleet-phone.png")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the phone"
    # The watched one no longer answers.
    expect(page.locator("#pose-words")).to_have_text(re.compile("^where anna is"))
    deployment.poses[0] = seen("anna", 1.0, 1.0, age_s=60.0)
    expect(page.locator("#pose-words")).to_have_text(re.compile("^last seen: where anna is"))
    expect(page.locator("#map .robot.old:not(.other)")).to_have_count(1)
    # Without any answer nobody is shown where he was.
    deployment.answers["GET /robots/anna/poses"] = lambda route: problem(route, 503, "the store is away")
    expect(page.locator("#pose-words")).to_have_text("the store is away")
    expect(page.locator("#fleet")).to_be_hidden()
    expect(others).to_have_count(0)


def test_the_skip_link_stays_with_the_task(page: Page, deployment: Deployment) -> None:
    deployment.tasks = [task(), {**task(task_id="t-2", robot="any"), "state": "QUEUED"}]
    page.goto(f"{PAGE}/#/task/t-1")
    expect(page.locator(".task-title")).to_have_text("sentence of t-1")
    expect(page.locator("#task-lists a", has_text="sentence of t-2")).to_contain_text("any free robot · ")
    page.locator("#skip").press("Enter")
    expect(page.locator("#task-view")).to_be_focused()
    assert page.url == f"{PAGE}/#/task/t-1"
    expect(page.locator(".task-title")).to_have_text("sentence of t-1")


def test_a_task_that_may_have_been_taken_is_given_again_as_the_same(page: Page, deployment: Deployment) -> None:
    keys: list[str] = []

    def fails(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        problem(route, 503 if len(keys) < 3 else 422, "the store went away")

    deployment.answers["POST /tasks"] = fails
    page.goto(PAGE)
    page.get_by_label("What should the robot do?").fill("tidy up")
    for count in (1, 2, 3, 4):
        page.get_by_role("button", name="Give it the task").click()
        until(page, lambda count=count: len(keys) == count)
        expect(page.locator("#composer-fault")).to_have_text("the store went away")
        expect(page.get_by_role("button", name="Give it the task")).to_be_enabled()
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert all(re.fullmatch(r"[0-9a-f]+(-[0-9a-f]+){3}", key) for key in keys)


def boxes(page: Page, selector: str) -> list[dict[str, float]]:
    return page.locator(selector).evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(({ left, top, right, bottom }) => "
        "({ left, top, right, bottom }))"
    )


def overlap(a: dict[str, float], b: dict[str, float], by: float = 1.0) -> bool:
    """Whether two boxes lie on one another by more than `by` pixels in both directions."""
    return all(
        min(a[end], b[end]) - max(a[begin], b[begin]) > by for begin, end in (("left", "right"), ("top", "bottom"))
    )


def long_task(deployment: Deployment) -> None:
    """A task that has ended, with a story longer than any screen."""
    deployment.tasks = [task()]
    told = {
        "lines": [
            {"actor": "pick", "at": 1.0, "tone": "plain", "spans": [{"text": "looks", "tone": "plain"}], "body": ""}
        ]
    }
    lines = [event(at, {**told, "now": None}, kind="note", text="looks") for at in range(1, 80)]
    end = event(80, {"lines": [], "now": None}, kind="state", state="SUCCEEDED", reason="")
    deployment.events = [[*lines, end], []]


@pytest.mark.parametrize("width", [1280, 1000, 768, 390])
def test_no_part_of_the_page_lies_on_another(page: Page, deployment: Deployment, shots: Path, width: int) -> None:
    long_task(deployment)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{PAGE}/#stop={RIGHT}")
    expect(page.locator(".story > .line")).to_have_count(79)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.screenshot(path=shots / f"width-{width}.png")
    cards = [box for box in boxes(page, ".card:not(.score-card)") if box["bottom"] > box["top"]]
    assert len(cards) >= 2
    assert not [(a, b) for at, a in enumerate(cards) for b in cards[:at] if overlap(a, b)]
    play = page.get_by_role("button", name="Play")
    assert play.evaluate("one => one.getClientRects()[0].height") < 60, "its word is on one line"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_names_on_the_map_lie_on_nothing(page: Page, deployment: Deployment, shots: Path) -> None:
    site = load_site(HOME)
    deployment.site = outline(setup_of("rover", site))
    # Beside one another at a table, as two that meet in a door are.
    deployment.poses = [seen("anna", 6.5, 2.0), seen("ben", 6.9, 2.1)]
    page.goto(PAGE)
    expect(page.locator("#map .robot-name")).to_have_text(["ben", "anna"])
    page.locator("#map").screenshot(path=shots / "names.png")
    suggested = page.locator("#sentence").get_attribute("placeholder")
    assert suggested == f"Put the {site.objects[0].name} in the {site.containers[0].name}", "what this site has"
    names = boxes(page, "#map .place-name")
    assert len(names) == len([one for one in deployment.site["places"] if one["approach"]])
    fixed = [*names, *boxes(page, "#map .area text")]
    assert not [(a, b) for at, a in enumerate(fixed) for b in fixed[:at] if overlap(a, b)]
    marks = [*boxes(page, "#map .place circle"), *boxes(page, "#map .place line")]
    assert not [(name, mark) for name in fixed for mark in marks if overlap(name, mark)]
    areas = boxes(page, "#map .area polygon")
    inside = [
        [area for area in areas if area["left"] <= one["left"] and one["right"] <= area["right"]] for one in names
    ]
    assert all(inside), "no name crosses a wall"
    ben, anna = boxes(page, "#map .robot-name")
    assert not overlap(ben, anna)
    robots = boxes(page, "#map .robot path:not(.halo)")
    assert not [(name, robot) for name in (ben, anna) for robot in robots if overlap(name, robot)]


def test_places_that_the_watched_robot_cannot_use_are_marked_and_listed(
    page: Page, deployment: Deployment, shots: Path
) -> None:
    def raised(height: float) -> SiteFile:
        """The home with a kitchen counter of this height and a step before the kids' room."""
        content = load_site(HOME).model_dump()
        counter = next(one for one in content["surfaces"] if one["name"] == "kitchen counter")
        counter["appearance"]["size_m"] = (*counter["appearance"]["size_m"][:2], height)
        content["areas"][-1]["step_m"] = 0.25
        return SiteFile.model_validate(content)

    rover, lifter = (outline(setup_of(name, raised(1.25))) for name in ("rover", "lifter"))
    behind = [one["name"] for one in rover["places"] if one["area"] == rover["areas"][-1]["name"]]
    markup = "<img src=x onerror=\"document.title='taken'\">"
    counter = next(one for one in rover["places"] if one["name"] == "kitchen counter")
    assert counter["no_pick"], "it is too high for the rover"
    counter["no_pick"] += markup
    deployment.site = rover
    deployment.answers["GET /robots/ben/site"] = lambda route: route.fulfill(json=lifter)
    deployment.poses = [seen("anna", 6.5, 2.0), seen("ben", 6.9, 3.1)]
    page.goto(PAGE)
    limits, marked = page.locator("#limits"), page.locator("#map .place.limited")
    told = {one["name"]: (one["no_pick"], one["no_put"]) for one in rover["places"] if one["no_pick"] or one["no_put"]}
    assert set(told) == {"kitchen counter", *behind}
    expect(limits.locator("li b")).to_have_text(list(told))
    expect(marked).to_have_count(len([one for one in rover["places"] if one["name"] in told and one["approach"]]))
    expect(marked.locator("title").first).to_contain_text(told["kitchen counter"][0])
    # By keyboard.
    expect(limits.locator("p").first).to_be_hidden()
    limits.locator("summary").press("Enter")
    expect(limits.locator("p").first).to_have_text(f"no picking up: {told['kitchen counter'][0]}")
    assert page.locator("#limits img").count() == 0
    for theme in ("light", "dark"):
        page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        page.screenshot(path=shots / f"limits-{theme}.png")
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in {"serious", "critical"}] == [], theme
    names, marks = boxes(page, "#map .place-name"), boxes(page, "#map .place circle")
    assert not [(name, mark) for name in names for mark in marks if overlap(name, mark)]
    page.locator("#watched").select_option("ben")
    expect(limits.locator("li b")).to_have_text([one["name"] for one in lifter["places"] if one["no_put"]])
    assert len([one for one in lifter["places"] if one["no_put"]]) < len(told)
    page.screenshot(path=shots / "limits-lifter.png")
    deployment.answers["GET /robots/anna/site"] = lambda route: route.fulfill(json=SITE)
    page.locator("#watched").select_option("anna")
    expect(limits).to_be_hidden()


def test_what_the_robot_has_is_on_the_map_and_what_it_has_not_is_not(
    page: Page, deployment: Deployment, shots: Path
) -> None:
    asks = event(1, told := {"lines": [], "now": None}, kind="skill_requested", request_id="r-1", skill="pick")
    asks["event"]["arguments"] = {"object_name": "red coke can"}
    done = event(2, told, kind="skill_result", request_id="r-1", skill="pick", success=True)
    end = event(3, told, kind="state", state="SUCCEEDED", reason="")
    deployment.tasks, deployment.events = [task()], [[asks, done, end], []]
    deployment.site = outline(setup_of("rover", load_site(HOME)))
    around = {
        "battery": 0.17,
        "laser": [[1.0 + 0.1 * step, 4.0] for step in range(30)],
        "path": [[1.0, 1.0], [2.0, 1.5], [6.0, 2.0]],
        "gripper": "HOLDING",
    }
    grid = {"cell_m": 0.1, "origin": [0.0, 0.0], "yaw": 0.0, "occupied": [[row, 40, 2] for row in range(30)]}
    deployment.answers["GET /robots/anna/surroundings"] = lambda route: route.fulfill(json=around)
    deployment.answers["GET /robots/anna/map"] = lambda route: route.fulfill(json={"map": grid})
    page.goto(f"{PAGE}/#/task/t-1")
    facts = page.locator("#facts li")
    expect(facts).to_have_text(["Battery 17 %", "Holds red coke can"])
    expect(page.locator("#map .laser")).to_have_attribute("d", re.compile("^(M[0-9.]+ -4h0){30}$"))
    expect(page.locator("#map .planned")).to_have_attribute("points", "1,-1 2,-1.5 6,-2")
    (wall,) = boxes(page, "#map .occupied path")
    assert wall["bottom"] - wall["top"] == pytest.approx(15 * (wall["right"] - wall["left"]), rel=0.05)
    for theme in ("light", "dark"):
        page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        page.locator("#map-card").screenshot(path=shots / f"surroundings-{theme}.png")
    # The record knows what was held, and nothing of laser and battery.
    page.get_by_role("slider", name="Moment of the task").fill("999")
    expect(facts).to_have_text(["Holds red coke can"])
    expect(page.locator("#map .laser")).to_have_attribute("d", "")
    expect(page.locator("#map .occupied path")).to_have_count(0)
    page.get_by_role("button", name="Back to now").click()
    expect(facts).to_have_count(2)
    # Another robot has none of it.
    page.locator("#watched").select_option("ben")
    expect(facts).to_have_count(0)
    expect(page.locator("#map .laser")).to_have_attribute("d", "")
    expect(page.locator("#map .occupied path")).to_have_count(0)


def test_a_camera_is_larger_on_a_click_and_the_stop_stays_within_reach(page: Page, deployment: Deployment) -> None:
    for camera in ("front", "arm"):
        deployment.answers[f"GET /robots/anna/cameras/{camera}"] = lambda route: route.fulfill(
            path=FILES / "icon.svg", content_type="image/svg+xml"
        )
    page.goto(f"{PAGE}/#stop={RIGHT}")
    picture = page.get_by_alt_text("What the head camera of anna sees now")
    expect(picture).to_be_visible()
    small = picture.bounding_box()
    picture.click()
    expect(picture).to_be_in_viewport(ratio=1)
    large = picture.bounding_box()
    assert small is not None
    assert large is not None
    assert large["width"] > 2 * small["width"]
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#stop-state")).to_contain_text("anna is stopped and stands still")
    page.keyboard.press("Escape")
    expect(page.locator("figure.large")).to_have_count(0)


def test_the_history_is_searched_and_filtered(page: Page, deployment: Deployment) -> None:
    deployment.tasks = [task(task_id="t-1"), task("FAILED", "t-2"), task("RUNNING", "t-3")]
    deployment.tasks[1]["report"] = {"success": False, "summary": "the red can was not seen", "objects": []}
    page.goto(f"{PAGE}/#/task/t-1")
    shown = page.locator("#task-lists a .sentence")
    expect(shown).to_have_text(["sentence of t-3", "sentence of t-1", "sentence of t-2"])
    page.get_by_label("Search", exact=True).fill("CAN red")
    expect(shown).to_have_text(["sentence of t-3", "sentence of t-2"])
    until(page, lambda: deployment.count("GET", f"{PAGE}/tasks?limit=500"))
    page.get_by_label("Ended as").select_option("Done")
    expect(shown).to_have_text(["sentence of t-3"])
    expect(page.locator("#task-lists")).to_contain_text("No ended task is like that.")
    page.get_by_label("Search", exact=True).fill("")
    expect(shown).to_have_text(["sentence of t-3", "sentence of t-1"])


def test_a_task_says_that_it_waits_for_an_answer_to_another(page: Page, deployment: Deployment) -> None:
    deployment.tasks = [task("PAUSED", "t-1"), task("QUEUED", "t-2", "any"), task("QUEUED", "t-3", "ben")]
    deployment.tasks[0]["question"] = "Which can?"
    page.goto(f"{PAGE}/#/task/t-1")
    rows = page.locator("#task-lists a")
    expect(rows.filter(has_text="sentence of t-2")).to_contain_text("waits until the question before it is answered")
    expect(rows.filter(has_text="waits until")).to_have_count(1)
    expect(rows.filter(has_text="asks")).to_have_count(1)


def test_a_replayed_robot_drives_between_the_poses_of_the_record(page: Page, deployment: Deployment) -> None:
    told: dict[str, Any] = {"lines": [], "now": None}
    deployment.tasks = [task()]

    def nav2(position: int, at: float, tool: str, **what: Any) -> dict[str, Any]:
        return {**event(position, told, tool=f"nav2__{tool}", call_id=f"{tool}-1", **what), "at": at}

    def result(x: float) -> dict[str, Any]:
        return {"kind": "tool_result", "ok": True, "text": json.dumps({"pose": {"x": x, "y": 1.0, "yaw": 0.0}})}

    deployment.events = [
        [
            nav2(1, 0.0, "get_robot_pose", **result(1.0)),
            nav2(2, 10.0, "navigate_to_pose", kind="tool_call", arguments={"x": 3.0, "y": 1.0}),
            nav2(3, 14.0, "navigate_to_pose", kind="tool_progress", fraction=0.75),
            nav2(4, 20.0, "navigate_to_pose", **result(3.0)),
            {**event(5, told, kind="state", state="SUCCEEDED", reason=""), "at": 40.0},
        ],
        [],
    ]
    page.goto(f"{PAGE}/#/task/t-1")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    slider = page.get_by_role("slider", name="Moment of the task")
    for share, x, words in (
        ("125", 1.0, "as the"),
        ("300", 1.75, "on its"),
        ("425", 2.75, "on its"),
        ("750", 3.0, "as"),
    ):
        slider.fill(share)
        expect(page.locator("#pose-words")).to_have_text(re.compile(f"^{words}"))
        transform = page.locator("#map .robot:not(.other)").get_attribute("transform") or ""
        assert float(transform.removeprefix("translate(").split()[0]) == pytest.approx(x), share
