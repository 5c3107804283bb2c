"""The open-vocabulary segmenter without its models: settings, queries, one find per place, waiting, depth."""

import asyncio
import gc
import threading
import time
import tomllib
import weakref
from pathlib import Path

import numpy as np
import pytest

from quartet_perception.catalogue import Catalogue
from quartet_perception.errors import (
    SegmenterError,
    SegmenterLoadingError,
    SegmenterMemoryError,
    SegmenterTimeoutError,
    SegmenterUnavailableError,
    SegmenterWeightsError,
)
from quartet_perception.perceiver import Perceiver
from quartet_perception.segmenters.base import caller_left, create_segmenter
from quartet_perception.segmenters.chain import SegmenterChain, choose_segmenter, health_of
from quartet_perception.segmenters.open_vocabulary import (
    Background,
    ModelChoice,
    OpenVocabularySegmenter,
    QueryDetection,
    choice_of,
    one_per_place,
)
from quartet_perception.segmenters.open_vocabulary import model_choice as choice_module
from quartet_perception.segmenters.open_vocabulary import segmenter as segmenter_module
from quartet_perception.segmenters.open_vocabulary.queries import plain_text, query_of
from quartet_perception.segmenters.requested_names import RequestedNames
from quartet_perception.settings import PerceptionSettings

ROOT = Path(__file__).parents[3]
TABLE = 0.45
LONG_S = 60.0


@pytest.fixture(scope="module")
def kitchen(new_scene, colours):
    """A can, a box that is turned and a ball on a table."""
    scene = new_scene().table(0.6, TABLE)
    scene.cylinder((0.80, 0.15, TABLE + 0.059), 0.066, 0.118, colours["red"])
    scene.box((0.85, -0.12, TABLE + 0.1), (0.15, 0.06, 0.2), colours["yellow"], yaw=0.5)
    return scene.view()


def pixels_of(view, centre, size):
    """Box of what stands on the table at `centre` and is `size` large."""
    (x, y), (sx, sy, height) = centre, size
    corners = [(x + a * sx / 2, y + b * sy / 2, TABLE + z) for a in (-1, 1) for b in (-1, 1) for z in (0, height)]
    uv, _ = view.project(np.array(corners))
    return (*map(float, uv.min(axis=0)), *map(float, uv.max(axis=0)))


def can_box(view):
    return pixels_of(view, (0.80, 0.15), (0.066, 0.066, 0.118))


class Eyes:
    """Models that say what they are told to, and note what they were asked."""

    def __init__(self, *seen: QueryDetection) -> None:
        self.seen, self.asked = list(seen), []
        self.entered, self.go = threading.Event(), threading.Event()
        self.go.set()

    def find(self, rgb, queries):
        self.asked.append(list(queries))
        self.entered.set()
        assert self.go.wait(LONG_S)
        return self.seen


@pytest.fixture
def segmenter(catalogue):
    """`segmenter(eyes)`, or `segmenter(load=...)`; its thread is ended."""
    made = []

    def make(eyes=None, *, load=None, timeout_s=LONG_S):
        models = Background(load or (lambda: eyes), what="the open-vocabulary model")
        made.append(OpenVocabularySegmenter(catalogue, models, timeout_s=timeout_s))
        return made[-1]

    yield make
    for one in made:
        one.models.close()


@pytest.fixture
def background():
    """`background(load, ...)`; its thread is ended."""
    made = []

    def make(load, **more):
        made.append(Background(load, what="the model", **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_robots_share_the_models_of_equal_settings(site, catalogue, kitchen, monkeypatch):
    """Two sites and two pictures, one load; other settings load anew, and nothing is kept that nobody uses."""
    loads: list[ModelChoice] = []
    cans = Catalogue.of_site(site.model_copy(update={"objects": site.objects[:1]}))
    monkeypatch.setattr(choice_module, "_NEEDED", ())

    def load(choice):
        loads.append(choice)
        return Eyes(QueryDetection(0, 0.8, can_box(kitchen)))

    monkeypatch.setattr(segmenter_module, "_load", load)

    def of(catalogue, **more):
        settings = PerceptionSettings(segmenter_timeout_s=LONG_S, **more)
        made = create_segmenter("open_vocabulary", catalogue, settings)
        assert isinstance(made, OpenVocabularySegmenter)
        return made

    one, other, finer = of(catalogue), of(cans), of(catalogue, segmenter_threshold=0.2)
    try:
        assert one.models is other.models
        for robot in (one, other, finer):
            assert [f.label for f in robot.segment(kitchen, ["red coke can"])] == ["red coke can"]
        assert sorted(choice.threshold or 0.0 for choice in loads) == [0.0, 0.2]
    finally:
        one.models.close()
        finer.models.close()
    gone = weakref.ref(one.models)
    del one, other, robot
    gc.collect()
    assert gone() is None


def soon():
    return time.monotonic() + LONG_S


def until(condition):
    end = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < end, "not true in time"
        threading.Event().wait(0.005)


# -- settings


@pytest.fixture
def with_extra(monkeypatch):
    """As if torch and transformers were installed."""
    monkeypatch.setattr(choice_module, "find_spec", lambda name: object())


def test_without_the_extra_the_error_says_how_to_install_it(catalogue, monkeypatch):
    monkeypatch.setattr(choice_module, "find_spec", lambda name: None if name == "torch" else object())
    with pytest.raises(ValueError, match=r"needs torch, .*uv sync --frozen --all-packages --extra open-vocabulary"):
        choose_segmenter(catalogue, PerceptionSettings(segmenter="open_vocabulary"))


def test_the_extra_is_called_that_and_a_plain_sync_brings_none_of_it():
    project = tomllib.loads((ROOT / "mcp-servers/perception/pyproject.toml").read_text())["project"]
    wanted = project["optional-dependencies"][choice_module.EXTRA]
    assert {line.split("~")[0].split(">")[0] for line in wanted} == set(choice_module._NEEDED)
    packages = {p["name"]: p for p in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    todo, seen = [name for name, p in packages.items() if {"editable", "virtual"} & set(p["source"])], set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            package = packages[name]
            groups = [package.get("dependencies", []), *package.get("dev-dependencies", {}).values()]
            todo += [dependency["name"] for group in groups for dependency in group]
    assert len(seen) > 80, "the closure of the lock file was not found"
    assert not [name for name in seen if name in {"torch", "transformers", "triton"} or name.startswith("nvidia-")]


def test_the_container_file_that_the_error_names(catalogue, monkeypatch):
    monkeypatch.setattr(choice_module, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="container file") as caught:
        choose_segmenter(catalogue, PerceptionSettings(segmenter="open_vocabulary"))
    text = (ROOT / str(caught.value).rpartition(" ")[2]).read_text()
    commands = [line for line in text.replace("\\\n", " ").splitlines() if "uv export" in line or "uv sync" in line]
    assert len(commands) == 2
    assert all("--frozen" in c and f"--extra {choice_module.EXTRA}" in c and "--no-dev" in c for c in commands)
    last = text.rpartition("\nFROM ")[2]
    assert "USER quartet" in last
    assert "pip install" not in last
    assert "# syntax=" not in text


def test_what_settings_choose(with_extra):
    plain_choice = choice_of(PerceptionSettings())
    assert plain_choice.model == "IDEA-Research/grounding-dino-tiny"
    assert plain_choice.masks == "facebook/sam2.1-hiera-small"
    assert (plain_choice.device, plain_choice.dtype, plain_choice.threshold) == ("auto", "float32", None)
    assert not plain_choice.download
    other = choice_of(
        PerceptionSettings(
            segmenter_model="google/owlv2-base-patch16-ensemble",
            segmenter_mask_model="None",
            segmenter_device="cuda:1",
            segmenter_dtype="bfloat16",
            segmenter_threshold=0.3,
            segmenter_download=True,
        )
    )
    assert other.masks is None
    assert (other.device, other.dtype, other.threshold, other.download) == ("cuda:1", "bfloat16", 0.3, True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("device", "tpu"),
        ("device", "cuda:x"),
        ("dtype", "int8"),
        ("threshold", "0"),
        ("threshold", "1.5"),
        ("model", ""),
    ],
)
def test_settings_that_cannot_be(monkeypatch, field, value):
    with pytest.raises(ValueError, match=f"segmenter_{field}"):
        PerceptionSettings(**{f"segmenter_{field}": value})


@pytest.mark.parametrize("model", ["facebook/sam3", "facebook/sam3.1", "somebody/SAM-3-large"])
def test_sam3_wants_its_licence_accepted(with_extra, model):
    with pytest.raises(
        ValueError, match=rf"'{model}' are under the SAM License.*QUARTET_SEGMENTER_ACCEPT_LICENCE=sam3"
    ):
        choice_of(PerceptionSettings(segmenter_model=model))
    with pytest.raises(ValueError, match="SAM License"):
        choice_of(PerceptionSettings(segmenter_mask_model=model))
    assert choice_of(PerceptionSettings(segmenter_model=model, segmenter_accept_licence=" sam3 ,")).model == model


def test_a_licence_that_nobody_knows(with_extra):
    with pytest.raises(ValueError, match="'sam4', which is none of: sam3"):
        choice_of(PerceptionSettings(segmenter_accept_licence="sam3, sam4"))


@pytest.mark.parametrize("content", [None, "{", "[]", "{}"])
def test_a_folder_without_a_model(with_extra, tmp_path, content):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=r"holds no model: .*hf download <model> --local-dir <folder>"):
        choice_of(PerceptionSettings(segmenter_model=str(tmp_path)))


def test_a_folder_that_is_not_there(with_extra, tmp_path):
    with pytest.raises(ValueError, match=r"there is no folder '.*gone'"):
        choice_of(PerceptionSettings(segmenter_mask_model=str(tmp_path / "gone")))


def test_a_folder_in_the_home_folder(with_extra, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "owl").mkdir()
    (tmp_path / "owl" / "config.json").write_text('{"model_type": "owlv2"}')
    assert choice_of(PerceptionSettings(segmenter_model="~/owl")).model == str(tmp_path / "owl")


def test_a_folder_says_itself_what_licence_it_wants(with_extra, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "sam3_video"}')
    with pytest.raises(ValueError, match="QUARTET_SEGMENTER_ACCEPT_LICENCE=sam3"):
        choice_of(PerceptionSettings(segmenter_model=str(tmp_path)))


# -- queries


@pytest.mark.parametrize(
    ("prompt", "query"),
    [
        ("red coke can", "red coke can"),
        ("the coke", "red coke can"),
        ("book", "blue book"),
        ("table", "wooden table"),
        ("Mr. Bean's mug? no", "mr bean's mug no"),
        ("cat. dog. ignore all", "cat dog ignore all"),
    ],
)
def test_what_a_model_is_asked(catalogue, prompt, query):
    (asked,) = RequestedNames(catalogue, [prompt])
    assert query_of(asked) == query


def test_the_catalogue_gives_a_name_its_colour(site):
    from quartet_perception import Catalogue

    mug = site.objects[1].model_copy(update={"name": "tall cup", "aliases": []})
    sample = mug.appearance.model_copy(update={"colours": ["#aa2211", "red"]})
    changed = site.model_copy(update={"objects": [mug.model_copy(update={"appearance": sample})]})
    (asked,) = RequestedNames(Catalogue.of_site(changed), ["tall cup"])
    assert query_of(asked) == "red tall cup"


def test_names_of_nothing_but_signs_are_not_asked_for(segmenter, kitchen):
    eyes = Eyes()
    assert segmenter(eyes).segment(kitchen, ["???", "blue kite"]) == []
    assert eyes.asked == [["blue kite"]]
    assert segmenter(eyes).segment(kitchen, ["..."]) == []
    assert len(eyes.asked) == 1
    assert plain_text("A.B?c") == "a b c"


# -- one find per place


def test_one_per_place_keeps_the_best_also_across_queries():
    kept = one_per_place(
        [
            QueryDetection(0, 0.4, (10, 10, 50, 50)),
            QueryDetection(1, 0.9, (11, 10, 51, 50)),
            QueryDetection(0, 0.8, (10, 12, 50, 52)),
            QueryDetection(0, 0.3, (200, 10, 240, 50)),
            QueryDetection(2, 0.2, (10, 10, 50, 100)),
        ]
    )
    assert [(s.query, s.score) for s in kept] == [(1, 0.9), (0, 0.3), (2, 0.2)]


def test_one_per_place_is_limited():
    kept = one_per_place(QueryDetection(0, 0.5 + i / 1000, (20.0 * i, 0, 20.0 * i + 10, 10)) for i in range(300))
    assert len(kept) == 100
    assert kept[0].score == pytest.approx(0.799)


# -- labels and depth


def test_finds_get_their_names_and_depth_gives_the_outline(segmenter, kitchen):
    eyes = Eyes(QueryDetection(1, 0.8, can_box(kitchen)), QueryDetection(2, 0.5, (0.0, 0.0, 60.0, 40.0)))
    found = segmenter(eyes).segment(kitchen, ["cereal", "coke", "a blue kite"])
    assert eyes.asked == [["yellow cereal box", "red coke can", "blue kite"]]
    (can,) = [f for f in found if f.label == "red coke can"]
    assert can.entry is not None
    assert can.score == 0.8
    assert can.mask.dtype == bool
    assert can.mask.shape == kitchen.shape
    assert can.mask.sum() > 300
    assert can.solid is not None
    np.testing.assert_allclose(can.solid.centre[:2], (0.80, 0.15), atol=0.01)
    assert can.support_z == pytest.approx(TABLE, abs=0.01)


def test_a_mask_is_met_with_depth(segmenter, kitchen):
    x0, y0, x1, y1 = map(int, can_box(kitchen))
    mask = np.zeros(kitchen.shape, dtype=bool)
    mask[y0 + 4 : y1 - 4, x0 + 4 : x1 - 4] = True
    (can,) = segmenter(Eyes(QueryDetection(0, 0.7, can_box(kitchen), mask))).segment(kitchen, ["coke"])
    assert can.mask.sum() <= mask.sum()
    assert can.solid is not None
    np.testing.assert_allclose(can.solid.centre[:2], (0.80, 0.15), atol=0.01)


def test_two_names_for_one_place_are_one_find(segmenter, kitchen):
    """Not the segmenter's work but the finder's: what it gives twice under one name is still one."""
    eyes = Eyes(QueryDetection(0, 0.8, can_box(kitchen)), QueryDetection(0, 0.6, can_box(kitchen)))
    assert len(segmenter(eyes).segment(kitchen, ["coke"])) == 1


def test_nothing_asked_nothing_loaded_for(segmenter, kitchen):
    eyes = Eyes()
    assert segmenter(eyes).segment(kitchen, []) == []
    assert eyes.asked == []


# -- loading and waiting


def test_a_call_waits_for_the_weights(segmenter, kitchen):
    ready = threading.Event()
    eyes = Eyes(QueryDetection(0, 0.8, can_box(kitchen)))

    def load():
        assert ready.wait(LONG_S)
        return eyes

    one = segmenter(load=load)
    assert health_of(one) == [{"state": "loading"}]
    threading.Timer(0.05, ready.set).start()
    assert len(one.segment(kitchen, ["coke"])) == 1
    assert health_of(one) == [{"state": "ready"}]


def test_a_call_does_not_wait_for_ever_for_the_weights(segmenter, kitchen):
    ready = threading.Event()
    one = segmenter(load=lambda: ready.wait(LONG_S) and Eyes(), timeout_s=0.05)
    with pytest.raises(SegmenterLoadingError, match=r"still being loaded, since \d+ s; .*/health"):
        one.segment(kitchen, ["coke"])
    ready.set()
    assert one.models.use(lambda eyes: eyes.asked, soon()) == []


@pytest.mark.parametrize("kind", [SegmenterWeightsError, SegmenterMemoryError, SegmenterUnavailableError])
def test_a_failed_loading_is_told_to_every_caller_and_tried_again_later(background, kind):
    tries = []

    def load():
        tries.append(1)
        raise kind("no such file; fetch it")

    one = background(load, retry_s=1000)
    for _ in range(2):
        with pytest.raises(kind, match="no such file; fetch it"):
            one.use(str, soon())
    assert one.health() == {"state": "failed", "detail": "no such file; fetch it"}
    assert len(tries) == 1


def test_a_failed_loading_keeps_no_memory(background):
    class HalfAModel: ...

    halves = []

    def load():
        half = HalfAModel()
        halves.append(weakref.ref(half))
        raise SegmenterMemoryError("full")

    one = background(load, retry_s=1000)
    for _ in range(2):
        with pytest.raises(SegmenterMemoryError, match="full"):
            one.use(str, soon())
    until(lambda: gc.collect() >= 0 and halves[0]() is None)


def test_mended_weights_need_no_restart(background):
    loads = iter([SegmenterWeightsError("cut off"), "weights"])

    def load():
        value = next(loads)
        if isinstance(value, Exception):
            raise value
        return value

    one = background(load, retry_s=0)
    until(lambda: one.state == "failed")
    assert one.use(str.upper, soon()) == "WEIGHTS"
    assert one.health() == {"state": "ready"}


def test_a_fault_in_the_loading_is_a_typed_error(background):
    def load():
        raise ZeroDivisionError("a fault")

    with pytest.raises(SegmenterUnavailableError, match="the model cannot be loaded: ZeroDivisionError: a fault"):
        background(load, retry_s=1000).use(str, soon())


def test_one_picture_at_a_time(background):
    one = background(lambda: "weights")
    at_once, most, lock = 0, 0, threading.Lock()

    def look(_):
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        threading.Event().wait(0.005)
        with lock:
            at_once -= 1

    threads = [threading.Thread(target=one.use, args=(look, soon())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_picture_that_hangs_holds_nobody_and_what_waited_behind_it_never_begins(background):
    one, held, entered, begun = background(lambda: "weights"), threading.Event(), threading.Event(), []

    def slow(_):
        entered.set()
        assert held.wait(LONG_S)

    thread = threading.Thread(target=one.use, args=(slow, soon()))
    thread.start()
    assert entered.wait(LONG_S)
    with pytest.raises(SegmenterTimeoutError, match=r"no answer in time: .*QUARTET_SEGMENTER_TIMEOUT_S"):
        one.use(begun.append, time.monotonic() + 0.05)
    held.set()
    thread.join()
    # Whatever is asked for now is behind all that was asked for before.
    assert one.use(str, soon()) == "weights"
    assert begun == []


def test_an_error_of_one_picture_is_that_callers_alone(background):
    one = background(lambda: "weights")

    def bad(_):
        raise SegmenterMemoryError("full")

    with pytest.raises(SegmenterMemoryError, match="full"):
        one.use(bad, soon())
    assert one.use(str, soon()) == "weights"


def test_a_fault_while_looking_is_a_typed_error_and_the_next_picture_works(background):
    one = background(lambda: "weights")

    def broken(_):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(SegmenterUnavailableError, match=r"the model failed: RuntimeError: CUDA error.*started anew"):
        one.use(broken, soon())
    assert one.use(str, soon()) == "weights"


def test_a_call_that_nobody_waits_for_is_dropped(background):
    one, held, entered, begun = background(lambda: "weights"), threading.Event(), threading.Event(), []

    def slow(_):
        entered.set()
        assert held.wait(LONG_S)

    thread = threading.Thread(target=one.use, args=(slow, soon()))
    thread.start()
    assert entered.wait(LONG_S)
    left = threading.Event()
    left.set()
    token = caller_left.set(left)
    try:
        with pytest.raises(SegmenterError):
            one.use(begun.append, soon())
    finally:
        caller_left.reset(token)
    held.set()
    thread.join()
    assert one.use(str, soon()) == "weights"
    assert begun == []


async def test_cancelled_calls_do_not_pile_up_and_the_loop_goes_on(segmenter, kitchen, catalogue, site, robot):
    """Through the server's own way: a picture that hangs, calls that are cancelled, and a call that is answered."""
    eyes = Eyes(QueryDetection(0, 0.8, can_box(kitchen)))
    eyes.go.clear()
    one = segmenter(eyes)
    perceiver = Perceiver(_NoRobot(), site, one, catalogue)
    calls = [asyncio.create_task(perceiver.segment(kitchen, ["coke"])) for _ in range(20)]
    # Its first picture has begun, and the event loop runs meanwhile.
    assert await asyncio.to_thread(eyes.entered.wait, LONG_S)
    for call in calls:
        call.cancel()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(e, asyncio.CancelledError) for e in ended)
    last = asyncio.create_task(perceiver.segment(kitchen, ["coke"]))
    eyes.go.set()
    assert [f.label for f in await asyncio.wait_for(last, LONG_S)] == ["red coke can"]
    # The one that had begun, and the last.
    assert len(eyes.asked) == 2


class _NoRobot:
    """Not asked for anything here."""


def test_the_health_of_a_chain_is_that_of_its_parts(segmenter, catalogue, kitchen):
    one = segmenter(Eyes())
    one.segment(kitchen, ["coke"])
    others = choose_segmenter(catalogue, PerceptionSettings(segmenter="colour_shape"))
    assert health_of(SegmenterChain([one, others])) == [{"state": "ready"}]
    assert health_of(others) == []


def test_the_next_of_a_chain_is_asked_while_weights_are_missing(segmenter, catalogue, kitchen):
    def load():
        raise SegmenterWeightsError("none there")

    colour_shape = choose_segmenter(catalogue, PerceptionSettings(segmenter="colour_shape"))
    chain = SegmenterChain([segmenter(load=load), colour_shape])
    assert [f.label for f in chain.segment(kitchen, ["coke"])] == ["red coke can"]
