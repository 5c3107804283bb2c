"""A real browser on the page of a running deployment: one of each for the module."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from quartet_cli.commands.access import page_link
from quartet_deployment import Stack
from support.page_answers import Deployment

ROOT = Path(__file__).parents[3]
STUDIO = ROOT / "deploy" / "sites" / "studio"
ASKS = """
approval:
  - tool: moveit__close_gripper
    then: ask
    because: <img src=x onerror="document.title='taken'"> somebody may have a finger there
"""
"""Also a text from a file of the site that tries to be markup."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 120_000
"""As long as the machine needs: it costs nothing unless a test fails."""
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    made = subprocess.run([ROOT / "scripts" / "browser"], capture_output=True, text=True, timeout=600)
    if made.returncode == 3 and not os.environ.get("QUARTET_TEST_ALL"):
        pytest.skip(made.stderr.strip()[-500:])
    assert made.returncode == 0, made.stderr[-3000:]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=made.stdout.strip(), args=list(FLAGS), timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack], tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The studio, with a person's word asked for before the gripper closes."""
    site = tmp_path_factory.mktemp("site") / "studio"
    shutil.copytree(STUDIO, site)
    policy = site / "policy.yaml"
    policy.write_text(policy.read_text() + ASKS)
    return make_stack(world="studio", seed=1, site_dir=site)


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots are kept: QUARTET_SCREENSHOTS, or pytest's temporary folder."""
    folder = os.environ.get("QUARTET_SCREENSHOTS")
    path = Path(folder) if folder else tmp_path_factory.mktemp("screenshots")
    path.mkdir(parents=True, exist_ok=True)
    print(f"screenshots of the page: {path}")
    return path


@dataclass
class Visitor:
    """Somebody with the page open."""

    page: Page
    stack: Stack
    shots: Path
    faults: list[str]
    """What the browser complained of: errors of scripts, and what the policy kept out."""

    def sign_in(self) -> None:
        self.page.goto(page_link(self.stack.url, self.stack.api_token, self.stack.stop_token))
        expect(self.page.locator("#map svg")).to_be_visible()

    def give(self, sentence: str) -> str:
        """The id of the task that the page then shows."""
        self.page.get_by_label("What should the robot do?").fill(sentence)
        self.page.get_by_role("button", name="Give it the task").click()
        expect(self.page.locator(".task-title")).to_have_text(sentence)
        return self.page.url.rpartition("/")[2]

    def shot(self, name: str) -> None:
        self.page.screenshot(path=self.shots / f"{name}.png")

    def accessible(self, name: str) -> None:
        """Keeps a screenshot in both themes, and asks axe of each."""
        for theme in ("light", "dark"):
            self.page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
            self.shot(f"{name}-{theme}")
            # What a theme changes is the contrast alone.
            rules = {} if theme == "light" else {"runOnly": ["color-contrast"]}
            found = Axe().run(self.page, options=rules).response["violations"]
            serious = [one for one in found if one["impact"] in SERIOUS]
            told = [(one["id"], [(node["target"], node["failureSummary"]) for node in one["nodes"]]) for one in serious]
            assert told == [], f"{name}, {theme}"


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One browser profile: the cookie of one test is there in the next."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def visit(context: BrowserContext, stack: Stack, shots: Path) -> Iterator[Callable[[], Visitor]]:
    """Opens tabs, and sees at the end that none of them complained."""
    opened: list[Visitor] = []

    def make() -> Visitor:
        visitor = Visitor(context.new_page(), stack, shots, [])
        visitor.page.on("pageerror", lambda error: visitor.faults.append(str(error)))
        visitor.page.on(
            "console",
            lambda line: visitor.faults.append(line.text) if "Content Security Policy" in line.text else None,
        )
        opened.append(visitor)
        return visitor

    yield make
    for visitor in opened:
        visitor.page.close()
    assert [fault for visitor in opened for fault in visitor.faults] == []


@pytest.fixture
def visitor(visit: Callable[[], Visitor]) -> Visitor:
    """Signed in."""
    made = visit()
    made.sign_in()
    return made


@pytest.fixture
def deployment() -> Deployment:
    return Deployment()


@pytest.fixture
def page(browser: Browser, deployment: Deployment) -> Iterator[Page]:
    """A tab whose errors of scripts fail the test, but for those that it takes out of `faults`."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    context.route("**/*", deployment)
    page = context.new_page()
    page.faults = []  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.faults.append(str(error)))  # type: ignore[attr-defined]
    yield page
    context.unroute_all(behavior="ignoreErrors")
    context.close()
    assert page.faults == []  # type: ignore[attr-defined]
