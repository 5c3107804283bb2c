"""The web page in a real browser, on a deployment that really runs. The tests follow one another, as a visit does."""

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from quartet_benchmarks.chaos.job import job_of
from quartet_contracts import ARGUMENTS, MODEL_SKILLS, TaskSubmission
from quartet_deployment import Stack

Visitor = Any

# On a machine without a browser the first test installs one.
pytestmark = pytest.mark.timeout(900)
TITLE = re.compile("Quartet")


def truth(stack: Stack) -> dict[str, Any]:
    return httpx.get(f"{stack.scoring_url}/truth", timeout=60).raise_for_status().json()


def told_lines(visitor: Visitor, task_id: str) -> list[str]:
    """What the server tells of a task, as the page writes it."""
    answer = httpx.get(
        f"{visitor.stack.url}/tasks/{task_id}/events",
        params={"follow": "false", "told": "true"},
        headers={"Authorization": f"Bearer {visitor.stack.api_token}"},
        timeout=60,
    )
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    lines = [line for event in events for line in event["told"]["lines"]]
    return [" ".join("".join(span["text"] for span in line["spans"]).split()) for line in lines]


def shown_lines(visitor: Visitor) -> list[str]:
    """The words of the story on the page, without what only "every step" shows."""
    found = visitor.page.locator(".story > .line:not(.fine):not(.pictures)").evaluate_all(
        "lines => lines.map(line => (line.querySelector('summary, p')).textContent)"
    )
    return [" ".join(text.split()) for text in found]


def test_only_who_signs_in_sees_anything(visit: Callable[[], Visitor], stack: Stack) -> None:
    visitor = visit()
    page = visitor.page
    headers = page.goto(stack.url).headers
    assert "script-src 'self';" in headers["content-security-policy"]
    assert f"connect-src 'self' {stack.url_of('stop')};" in headers["content-security-policy"]
    assert httpx.get(f"{stack.url}/tasks").status_code == 401
    page.get_by_label("API token").fill("a-token-that-is-none")
    visitor.accessible("sign-in")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").filter(has_text="not an API token")).to_be_visible()
    page.get_by_label("API token").fill(stack.api_token)
    page.get_by_label("Stop token").fill(stack.stop_token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("One sentence, four agents")).to_be_visible()
    expect(page.locator("#map svg .robot")).to_have_attribute("visibility", "visible")
    expect(page.get_by_alt_text("What the wrist camera of summit sees now")).to_be_visible()
    visitor.accessible("empty")
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": 390, "height": 844})
    # A phone shows one view at a time: before the first task the one in which it is given.
    expect(page.get_by_label("What should the robot do?")).to_be_in_viewport()
    page.set_viewport_size(size)
    (cookie,) = page.context.cookies(stack.url)
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert page.evaluate("document.cookie") == ""


def test_a_page_that_was_not_loaded_whole_is_loaded_again(visit: Callable[[], Visitor], stack: Stack) -> None:
    visitor = visit()
    visitor.page.route("**/page/map.js", lambda route: route.abort("connectionreset"), times=1)
    visitor.page.goto(stack.url)
    expect(visitor.page.locator("#map svg")).to_be_visible()


def test_a_task_from_the_sentence_to_the_end_with_a_persons_yes(visitor: Visitor, stack: Stack) -> None:
    page = visitor.page
    sentence, name, target = job_of(truth(stack))
    task_id = visitor.give(sentence)
    question = page.get_by_role("region", name="Question to you")
    expect(question).to_contain_text("somebody may have a finger there")
    expect(question).to_contain_text('<img src=x onerror="document.title=')
    expect(page).to_have_title(re.compile(re.escape(sentence)))
    assert question.locator("img").count() == 0, "what a file of the site says stays text"
    expect(page.locator(".task-head .chip")).to_have_text("Paused")
    visitor.accessible("question")

    # Whoever looks at something else is asked too, and nothing is lost by loading the page anew.
    page.reload()
    expect(question).to_be_visible()
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".task-head .chip")).to_have_text("Done")
    # Offered once the last event has come.
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    report = page.get_by_role("region", name="How it ended")
    expect(report).to_contain_text(f"✓ {name}")
    assert truth(stack)["objects"][name]["on"] == target
    expect(page.get_by_role("region", name="Tokens and cost").locator("tfoot td").first).not_to_have_text("0")
    assert shown_lines(visitor) == told_lines(visitor, task_id), "every line once, in order"
    assert page.locator(".thumbs img").count() >= 10
    expect(page.locator("#task-lists a[aria-current=page]")).to_contain_text(sentence)
    visitor.accessible("done")


def moment_at_rest(visitor: Visitor) -> str:
    """Return a moment in the middle of the task whose pose is in the record."""
    slider = visitor.page.get_by_role("slider", name="Moment of the task")
    for moment in map(str, range(300, 900, 20)):
        slider.fill(moment)
        if visitor.page.locator("#pose-words").text_content() == "as the record has it":
            return moment
    raise AssertionError("the record has no pose in the middle of the task")


def test_an_ended_task_is_played_again(visitor: Visitor) -> None:
    page = visitor.page
    lines = page.locator(".story > .line:not(.fine)")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    total = lines.count()
    slider = page.get_by_role("slider", name="Moment of the task")
    # Of a robot that is driving at a moment the record has no pose, and how far a task is then is up to the machine.
    slider.fill(moment_at_rest(visitor))
    expect(page.locator("#pose-words")).to_have_text("as the record has it")
    seen = page.locator(".story > .line:not(.fine):not(.future)").count()
    assert 0 < seen < total
    image = page.locator("#cameras img").first
    assert "/images/" in image.get_attribute("src")
    expect(page.locator(".score .head")).to_have_attribute("visibility", "visible")
    visitor.accessible("replay")
    page.get_by_label("Speed").select_option("16")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".story > .line.future")).to_have_count(0)
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator("#camera-words")).to_have_text("now")
    expect(page.locator("#pose-words")).to_contain_text("studio · x ")


def test_what_a_person_writes_stays_text(visitor: Visitor) -> None:
    page = visitor.page
    visitor.give("Put the <img src=x onerror=alert(1)> <b>on</b> the wooden table.")
    expect(page.locator(".task-head .chip")).to_have_text("Not done")
    assert page.locator("main img:not(.thumbs img), main b").count() == 0
    expect(page.locator("#task-lists")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page).to_have_title(TITLE)


@contextmanager
def thinking(stack: Stack) -> Iterator[None]:
    """No model answers meanwhile, so that no job is over before it is looked at. The gateway waits 45 s for an answer,
    and then asks once more."""
    model = stack.pids()["scripted_model"]
    os.kill(model, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(model, signal.SIGCONT)


def test_a_task_is_paused_found_again_and_canceled(visitor: Visitor, stack: Stack) -> None:
    page = visitor.page
    sentence = job_of(truth(stack))[0]
    with thinking(stack):
        visitor.give(sentence)
        with page.expect_response(re.compile("/pause$")):
            page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    expect(page.locator(".story")).to_contain_text("paused by a person")
    before = shown_lines(visitor)
    page.reload()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    expect(page.locator(".story > .line:not(.fine):not(.pictures)")).to_have_count(len(before))
    assert shown_lines(visitor) == before
    page.get_by_role("button", name="Cancel…").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    visitor.accessible("dialog")
    # A question on the page is no reason for the robot to go on.
    page.locator("#stop-button").click(trial=True)
    page.mouse.click(700, 800)
    expect(page.get_by_role("dialog")).not_to_be_visible()
    page.get_by_role("button", name="Cancel…").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    expect(page.get_by_role("button", name="Cancel…")).to_be_focused()
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("button", name="Cancel the task").click()
    expect(page.locator(".task-head .chip")).to_have_text("Canceled")


BROKEN_WORDS = """
() => [...document.querySelectorAll(".story td, .story th")].flatMap((cell) => {
  const text = cell.firstChild, words = [...(text?.textContent ?? "").matchAll(/\\S+/g)];
  return words.filter(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    return range.getClientRects().length > 1;
  }).map(([word]) => word);
})
"""


def test_a_long_sentence_is_kept_whole_and_hides_nothing(visitor: Visitor) -> None:
    page = visitor.page
    field = page.get_by_label("What should the robot do?")
    field.fill("please " * 180)
    page.get_by_role("button", name="Give it the task").click()
    expect(page.locator("#composer-fault")).to_contain_text("at most 1000 characters")
    expect(field).to_have_value("please " * 180)
    size = page.viewport_size
    visitor.give(f"{'please ' * 130}pick up the unicorn in the kitchen")
    expect(page.locator(".task-head .chip")).to_have_text("Not done")
    page.set_viewport_size({"width": 390, "height": 844})
    visitor.shot("long-sentence")
    expect(page.get_by_role("region", name="How it ended")).to_be_in_viewport(ratio=0.1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 768, "height": 1024})
    expect(page.locator(".story td").first).to_be_visible()
    assert page.evaluate(BROKEN_WORDS) == []
    page.set_viewport_size(size)


def test_stop_works_without_the_orchestrator_and_is_reset_after_a_second_thought(
    visitor: Visitor, stack: Stack
) -> None:
    page = visitor.page
    # By the order of the document and not by a key: from where Tab starts depends on what the page has just shown.
    order = page.locator("a[href], button, input, select, textarea, [tabindex]").evaluate_all(
        "all => all.filter(one => one.checkVisibility() && one.tabIndex >= 0).map(one => [one.id, one.tabIndex])"
    )
    assert order[0][0] == "stop-button"
    assert {index for _, index in order} == {0}
    stack.kill("orchestrator")
    expect(page.locator("#link-state")).not_to_be_empty()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator("#stop-state")).to_contain_text("summit is stopped and stands still")
    expect(page.locator("#stop-words")).to_have_text("Stopped")
    assert guard(stack)["latched"] is True
    visitor.accessible("stopped-and-cut-off")
    stack.restart("orchestrator")
    expect(page.locator("#link-state")).to_be_empty()

    page.get_by_role("button", name="Reset…").click()
    page.get_by_role("button", name="Keep it stopped").click()
    assert guard(stack)["latched"] is True
    page.get_by_role("button", name="Reset…").click()
    page.get_by_role("button", name="Let summit move").click()
    expect(page.locator("#stop-state")).to_be_empty()
    assert guard(stack)["latched"] is False
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#stop-state")).to_contain_text("summit is stopped")


def test_a_stop_service_out_of_reach_is_told_in_words(visitor: Visitor, stack: Stack) -> None:
    page = visitor.page
    stack.kill("stop")
    expect(page.locator("#stop-state")).to_contain_text("The stop service is out of reach.")
    expect(page.locator("#stop-state")).to_contain_text("emergency stop on the robot itself")
    page.get_by_role("button", name=re.compile("Stop")).first.click()
    expect(page.locator("#stop-state")).to_contain_text("Not stopped")
    expect(page.locator("#stop-state")).to_contain_text("When last heard of: summit is stopped")
    visitor.shot("stop-out-of-reach")
    stack.restart("stop")
    expect(page.locator("#stop-state")).to_have_text(re.compile("^summit is stopped"))


def guard(stack: Stack) -> dict[str, Any]:
    answer = httpx.get(
        f"{stack.url_of('stop')}/state", headers={"Authorization": f"Bearer {stack.stop_token}"}, timeout=60
    )
    return answer.raise_for_status().json()["robots"]["summit"]["guard"]


@pytest.mark.parametrize("view", ["task", "robot", "tasks"])
def test_on_a_phone(visitor: Visitor, view: str) -> None:
    page = visitor.page
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_role("navigation", name="Views").locator(f"[data-view={view}]").click()
    stop = page.locator("#stop-button")
    expect(stop).to_be_visible()
    box = stop.bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= 360 - box["width"]
    assert box["height"] >= 40
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow == 0, "nothing has to be scrolled sideways"
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(stop).to_be_in_viewport(ratio=1)
    visitor.accessible(f"phone-{view}")


def test_one_can_sign_out_on_a_phone(visitor: Visitor) -> None:
    page = visitor.page
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_role("navigation", name="Views").locator("[data-view=tasks]").click()
    out = page.get_by_role("button", name="Sign out")
    expect(out).to_be_in_viewport(ratio=1)
    box, stop = out.bounding_box(), page.locator("#stop-button").bounding_box()
    assert box is not None
    assert stop is not None
    assert box["x"] + box["width"] <= stop["x"]


def test_every_request_of_the_api_has_an_example_that_works(visitor: Visitor, stack: Stack) -> None:
    page = visitor.page
    page.goto(f"{stack.url}/docs")
    entries = page.locator("#docs details")
    expect(entries.first).to_be_visible()
    api = httpx.get(f"{stack.url}/openapi.json", headers={"Authorization": f"Bearer {stack.api_token}"}).json()
    paths = {path: item for path, item in api["paths"].items() if "page" not in next(iter(item.values()))["tags"]}
    assert entries.count() == sum(len(item) for item in paths.values())
    entries.filter(has_text="/tasks").first.locator("summary").click()
    visitor.accessible("docs")
    given = {"QUARTET_API_TOKEN": stack.api_token, "ROBOT": "summit", "CAMERA": "front"}
    ran = 0
    for example in entries.locator("pre").all_text_contents():
        words = shlex.split(example)
        if "-d" in words:
            body = json.loads(words[words.index("-d") + 1])
            model = {"/tasks": TaskSubmission, **{f"/skills/{skill}": ARGUMENTS[skill] for skill in MODEL_SKILLS}}
            kind = model.get(words[-1].removeprefix(stack.url))
            assert kind is None or kind.model_validate(body)
        if "-X" in words or "/tasks/" in example or "/metrics" in example:
            continue
        done = subprocess.run(
            ["bash", "-c", f"{example} --fail --silent --show-error --output /dev/null"],
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, (example, done.stderr)
        ran += 1
    assert ran >= 8
    expect(page.locator("#stop-button")).to_be_visible()


def test_who_signs_out_sees_nothing_any_more(visitor: Visitor) -> None:
    page = visitor.page
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.locator("#desk")).to_be_hidden()
    assert page.evaluate("localStorage.getItem('quartet.stop')") is None
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{visitor.stack.url}/docs")
    expect(page.locator("#docs")).to_have_text("Sign in first, then come back.")
