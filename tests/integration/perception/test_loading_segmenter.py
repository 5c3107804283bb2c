"""The tools over the open-vocabulary segmenter, while its weights load and afterwards, on pictures of the simulated
robot. In the place of the models stands a finder of red things, which is asked and answers as they are."""

import math
import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import numpy as np
import pytest
from scipy import ndimage

from quartet_perception.segmenters import base as segmenter_module
from quartet_perception.segmenters.open_vocabulary import Background, OpenVocabularySegmenter, QueryDetection

LONG_S = 100.0


class RedFinder:
    """Finds the largest group of red pixels for the first query with "red" or "fizzy" in it; depth outlines it."""

    def find(self, rgb, queries):
        r, g, b = (rgb[..., i].astype(int) for i in range(3))
        labels, count = ndimage.label((r > 80) & (r > 2 * g) & (r > 2 * b))
        if count == 0:
            return []
        rows, cols = ndimage.find_objects(labels)[int(np.argmax(np.bincount(labels.ravel())[1:]))]
        box = (float(cols.start), float(rows.start), float(cols.stop), float(rows.stop))
        return [QueryDetection(i, 0.4, box) for i, q in enumerate(queries) if {"red", "fizzy"} & set(q.split())][:1]


class Server:
    """A perception server whose weights are there when `weights` is set."""

    def __init__(self, eyes: Any, weights: threading.Event) -> None:
        self.eyes, self.call, self.weights = eyes, eyes.call, weights

    async def health(self) -> dict:
        transport = httpx2.ASGITransport(app=self.eyes.server.app())
        async with httpx2.AsyncClient(transport=transport, base_url="http://perception") as http:
            return (await http.get("/health")).json()


@pytest.fixture
async def server(studio, tmp_path, monkeypatch, open_eyes) -> AsyncIterator[Server]:
    weights, made = threading.Event(), []

    def load():
        assert weights.wait(LONG_S)
        return RedFinder()

    def factory(catalogue, settings):
        models = Background(load, what="the open-vocabulary model")
        made.append(OpenVocabularySegmenter(catalogue, models, timeout_s=settings.segmenter_timeout_s))
        return made[-1]

    monkeypatch.setitem(segmenter_module._REGISTRY, "open_vocabulary", factory)  # noqa: SLF001 - a name is registered once
    monkeypatch.setenv("QUARTET_SEGMENTER", "open_vocabulary")
    monkeypatch.setenv("QUARTET_SEGMENTER_TIMEOUT_S", str(LONG_S))
    studio.reset(0)
    try:
        async with open_eyes(studio, tmp_path) as eyes:
            yield Server(eyes, weights)
    finally:
        weights.set()
        for one in made:
            one.models.close()


async def test_the_server_works_while_weights_load_and_health_says_so(server):
    assert (await server.health())["segmenter"] == [{"state": "loading"}]
    assert (await server.call("look", camera="front"))["ok"]
    late = await server.call("segment_objects", prompt="red cup", camera="front", timeout=0.5)
    assert late["error_code"] == "TIMEOUT"
    server.weights.set()
    assert (await server.call("segment_objects", prompt="red cup", camera="front"))["ok"]
    assert (await server.health())["segmenter"] == [{"state": "ready"}]


@pytest.mark.parametrize("name", ["fizzy drink", "red coke can"])
async def test_a_grasp_of_what_the_models_found(server, studio, name):
    server.weights.set()
    studio.place("red cup", 3.0, 1.5, 0.0)
    studio.place("red coke can", 0.78, 0.1, 0.0)
    result = await server.call("get_topdown_grasp_pose", object_name=name, camera="front")
    assert result["ok"], result
    assert result["object_name"] == name
    x, y, _ = studio.position_in_base("red coke can")
    assert math.dist(result["grasp_pose"]["position"][:2], (x, y)) < 0.008


async def test_other_servers_say_nothing_of_a_segmenter(eyes):
    transport = httpx2.ASGITransport(app=eyes.server.app())
    async with httpx2.AsyncClient(transport=transport, base_url="http://perception") as http:
        assert set((await http.get("/health")).json()) == {
            "status",
            "robot",
            "bridge",
            "stopped",
            "stops",
            "fence",
            "time",
            "tools",
        }
