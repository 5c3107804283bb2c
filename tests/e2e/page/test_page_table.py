"""The web page at a table: one arm, moved by programs of a team, and what stands before it."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from quartet_contracts import TaskSubmission
from quartet_deployment import Stack

Visitor = Any

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack]) -> Stack:
    """The table with its Panda, and no agent but the executor; its map is compared with the truth."""
    return make_stack(world="tabletop", sensors="clean", seed=0, without=("approach", "pick", "place", "ros"))


def test_a_team_at_a_table_is_shown_with_what_stands_there(visit: Callable[[], Visitor], stack: Stack) -> None:
    visitor = visit()
    visitor.sign_in()
    page = visitor.page
    with stack.api() as api:
        task_id = api.submit(TaskSubmission(sentence="pick the rubbish up", team="sa")).task.task_id
    page.goto(f"{stack.url}/#/task/{task_id}")
    expect(page.locator(".task-head .chip")).to_have_text("Done")
    assert page.locator(".stave-names li").all_text_contents() == ["orchestrator", "executor"]
    expect(page.locator(".score circle.model_turn").first).to_be_attached()
    assert page.locator(".score rect.bar[data-actor=executor]").count() > 3

    usage = page.get_by_role("region", name="Tokens and cost")
    assert usage.locator("tbody th").all_text_contents() == ["single"]
    assert int(usage.locator("tfoot td").first.text_content()) > 3

    titles = page.locator("#map .thing title")
    expect(titles.filter(has_text="rubbish, in the gripper")).to_be_attached()
    assert sorted(titles.all_text_contents()) == ["bin", "rubbish, in the gripper", "tomato", "tomato 2"]
    assert sorted(page.locator("#map .place-name").all_text_contents()) == ["bin", "rubbish", "tomato", "tomato 2"]
    truth = httpx.get(f"{stack.scoring_url}/truth", timeout=60).raise_for_status().json()
    drawn = page.locator("#map .thing circle").evaluate("one => [one.cx.baseVal.value, -one.cy.baseVal.value]")
    assert drawn == pytest.approx(truth["objects"]["bin"]["position"][:2], abs=0.03)
    visitor.accessible("table")

    # Back from the end to where nothing was held yet; how far the task was then is up to the machine.
    slider, held = page.get_by_role("slider", name="Moment of the task"), titles.filter(has_text="in the gripper")
    for moment in range(980, 0, -20):
        slider.fill(str(moment))
        if held.count() == 0:
            break
    expect(held).to_have_count(0)
    expect(page.locator("#pose-words")).to_have_text("where it stands now")
    assert page.locator("#map .thing").count() == 4
