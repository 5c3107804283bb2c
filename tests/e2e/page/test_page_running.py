"""The page in a real browser while a task runs: its head, the first Tab, Escape, and enlarged text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from support.page_answers import PAGE, RIGHT, STOP, Deployment, event, task, until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SENTENCE = "Put the red coke can on the wooden table, then bring the blue cup from the kitchen to the desk. " * 4
STEP = "drives to the wooden table in the living room: 2.4 m to go"
SCROLL = """share => [document.scrollingElement, ...document.querySelectorAll(".desk, .task, .rail, .robot-side")]
    .forEach(one => one.scrollTo(0, share * (one.scrollHeight - one.clientHeight)))"""
BELOW_HEAD = """() => document.activeElement.getBoundingClientRect().top
    - document.querySelector(".task-head").getBoundingClientRect().bottom"""
IS_ON_TOP = """one => {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  return one.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
}"""


@pytest.fixture
def running(page: Page, deployment: Deployment) -> Callable[[], Page]:
    """Open the page on a task that runs, with a story longer than any screen."""
    said: dict[str, Any] = {"actor": "pick", "at": 1.0, "tone": "plain", "body": ""}
    told = {"lines": [{**said, "spans": [{"text": "looks", "tone": "plain"}]}], "now": None}
    lines = [event(at, told, kind="note", text="looks") for at in range(1, 90)]
    now = {"lines": [], "now": {"actor": "approach", "text": STEP}}
    deployment.events = [[*lines, event(90, now, kind="note", text="drives")], []]
    deployment.tasks = [task("RUNNING")]
    deployment.tasks[0]["task"]["sentence"] = SENTENCE

    def open_page() -> Page:
        page.goto(f"{PAGE}/#stop={RIGHT}")
        expect(page.locator("#map svg")).to_be_attached()
        expect(page.locator(".story > .line:not(.fine)")).to_have_count(89)
        return page

    return open_page


def head_of(page: Page) -> list[Locator]:
    buttons = [page.get_by_role("button", name=name, exact=True) for name in ("Pause", "Cancel…")]
    return [page.locator(".task-title"), page.locator(".now"), *buttons, page.locator("#stop-button")]


def stays_in_sight(page: Page) -> None:
    for share in (0.0, 0.5, 1.0):
        page.evaluate(SCROLL, share)
        for part in head_of(page):
            expect(part).to_be_in_viewport(ratio=0.99, timeout=5000)
            assert part.evaluate(IS_ON_TOP), f"{part} is covered at {share}"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("text_px", [16, 32])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (768, 1024), (390, 844)])
def test_head_of_a_running_task_stays_in_sight(
    running: Callable[[], Page], page: Page, shots: Path, width: int, height: int, text_px: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    sizes = {"fontSizes": {"standard": text_px, "fixed": text_px}}
    page.context.new_cdp_session(page).send("Page.setFontSizes", sizes)
    running()
    expect(page.locator(".now")).to_contain_text(STEP)
    page.screenshot(path=shots / f"running-{width}-{text_px}-light.png")
    stays_in_sight(page)
    head = page.locator(".task-head").bounding_box()
    assert head is not None
    assert head["height"] < 0.45 * height, "the story has room"
    for theme in ("light", "dark"):
        page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        page.screenshot(path=shots / f"running-{width}-{text_px}-{theme}.png")
        found = Axe().run(page).response["violations"]
        serious = [one for one in found if one["impact"] in {"serious", "critical"}]
        assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in serious] == [], theme
    tabs = page.get_by_role("navigation", name="Views").get_by_role("button")
    if not tabs.first.is_visible():
        assert text_px == 16
        return
    for name in ("Robot", "Tasks", "Task"):
        tabs.filter(has_text=name).first.click()
        page.screenshot(path=shots / f"running-{width}-{text_px}-{name.lower()}.png")
        stays_in_sight(page)


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_focus_is_not_hidden_by_the_head(
    running: Callable[[], Page], page: Page, deployment: Deployment, width: int
) -> None:
    """Tab backwards through a story whose lines open."""
    told: dict[str, Any] = {"lines": [], "now": None}
    parts = ({"kind": "tool_call", "arguments": {}}, {"kind": "tool_result", "ok": True, "text": "{}"})
    deployment.events[0] += [
        event(100 + 2 * at + half, told, **what, tool="nav2__look", call_id=f"c-{at}")
        for at in range(60)
        for half, what in enumerate(parts)
    ]
    page.set_viewport_size({"width": width, "height": 800})
    running()
    page.get_by_label("every step").check()
    lines = page.locator(".story summary")
    expect(lines).to_have_count(60)
    lines.last.focus()
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        assert page.evaluate(BELOW_HEAD) >= 0


def first_tab(page: Page) -> str:
    page.keyboard.press("Tab")
    return page.evaluate("document.activeElement.id")


def test_stop_is_what_tab_reaches_first_in_every_state(
    running: Callable[[], Page], page: Page, deployment: Deployment
) -> None:
    running()
    assert first_tab(page) == "stop-button"
    page.get_by_role("region", name="Story").click(position={"x": 300, "y": 10})
    assert first_tab(page) == "stop-button", "wherever a click was"

    # In a dialog: stop, no, yes and again stop.
    page.get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    ids = [first_tab(page) for _ in range(4)]
    assert ids == ["stop-button", "dialog-no", "dialog-yes", "stop-button"]
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#dialog-yes")).to_be_focused()
    expect(dialog).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    assert deployment.count("POST", f"{PAGE}/tasks/t-1/cancel") == 0

    told = page.locator("#stop-state")
    expect(told).to_contain_text("anna is stopped and stands still")
    page.reload()
    expect(told).to_contain_text("anna is stopped and stands still")
    assert first_tab(page) == "stop-button"

    page.reload()
    expect(page.locator(".task-title")).to_be_visible()
    for what in ("GET /tasks", "GET /tasks/t-1/events", "GET /state", "GET /robots"):
        deployment.answers[what] = lambda route: route.abort("connectionrefused")
    expect(page.locator("#link-state")).not_to_be_empty()
    assert first_tab(page) == "stop-button"

    deployment.answers.clear()
    deployment.answers["GET /session"] = lambda route: route.fulfill(json={"signed_in": False, "needed": True})
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert first_tab(page) == "stop-button"


def stops(deployment: Deployment) -> int:
    return deployment.count("POST", f"{STOP}/stop")


def test_escape_asks_for_a_second_one(running: Callable[[], Page], page: Page, deployment: Deployment) -> None:
    running()
    prompt = page.get_by_text("Press Esc again to stop")
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 10)
    page.keyboard.press("Escape")
    expect(prompt).to_be_in_viewport(ratio=1)
    page.clock.run_for(1400)
    expect(prompt).to_be_visible()
    page.clock.run_for(200)
    expect(prompt).to_be_hidden()
    page.keyboard.press("Escape")
    expect(prompt).to_be_visible()
    assert stops(deployment) == 0, "two presses that are further apart"
    page.clock.run_for(1400)
    page.keyboard.press("Escape")
    until(page, lambda: stops(deployment) == 1)
    expect(prompt).to_be_hidden()


def test_escape_counts_also_where_it_closes_or_clears(
    running: Callable[[], Page], page: Page, deployment: Deployment
) -> None:
    """A stop depends on nothing that the page shows."""
    running()
    prompt, words = page.get_by_text("Press Esc again to stop"), page.locator("#stop-words")
    page.get_by_role("button", name="Cancel…").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(prompt).to_be_visible()
    assert stops(deployment) == 0
    page.keyboard.press("Escape")
    until(page, lambda: stops(deployment) == 1)
    expect(words).to_have_text("Stopped")
    sought = page.get_by_label("Search", exact=True)
    sought.fill("can")
    sought.press("Escape")
    expect(sought).to_have_value("")
    expect(prompt).to_be_visible()
    sought.press("Escape")
    until(page, lambda: stops(deployment) == 2)
    sentence = page.get_by_label("What should the robot do?")
    expect(words).to_have_text("Stopped")
    sentence.fill("tidy up")
    sentence.press("Escape")
    expect(prompt).to_be_visible()
    sentence.press("Escape")
    until(page, lambda: stops(deployment) == 3)
    expect(sentence).to_have_value("tidy up")


def test_theme_switch_has_a_visible_label(running: Callable[[], Page], page: Page) -> None:
    running()
    for width in (1440, 768, 390, 360):
        page.set_viewport_size({"width": width, "height": 844})
        if width < 760:
            page.get_by_role("navigation", name="Views").get_by_role("button", name="Tasks").click()
        expect(page.locator("label[for=theme]")).to_have_text("Theme")
        box, stop = page.locator("label[for=theme]").bounding_box(), page.locator("#stop-button").bounding_box()
        assert box is not None
        assert stop is not None
        assert 20 < box["width"] < stop["x"] - box["x"]
    page.get_by_label("Theme").select_option("Dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
