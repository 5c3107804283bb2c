"""From configuration to loaded weights, and what is said when they cannot be had."""

import hashlib
import json
import pickle
import shutil
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
from huggingface_hub import close_session

from quartet_perception.errors import SegmenterMemoryError, SegmenterUnavailableError, SegmenterWeightsError
from quartet_perception.segmenters.chain import choose_segmenter
from quartet_perception.segmenters.open_vocabulary.model_choice import ModelChoice
from quartet_perception.segmenters.open_vocabulary.models import load
from quartet_perception.segmenters.open_vocabulary.models.hub import memory_errors_typed, place_of
from quartet_perception.settings import PerceptionSettings


@pytest.fixture
def copy(weights, tmp_path):
    """`copy("owlv2")`: a folder of its own, to be spoiled."""
    return lambda kind: shutil.copytree(weights[kind], tmp_path / kind)


def chosen(folder, masks=None, **more):
    return ModelChoice(str(folder), masks and str(masks), device="cpu", threshold=0.001, **more)


@pytest.fixture
def segmenter(weights, catalogue):
    """`segmenter(...)`: the one that settings make; its thread is ended."""
    made = []

    def make(model="grounding-dino", masks="sam2", **settings):
        masks = masks if masks == "none" else str(weights[masks])
        fields = {"segmenter_device": "cpu", "segmenter_threshold": 0.001, "segmenter_timeout_s": 60} | settings
        chain = PerceptionSettings(
            segmenter="open_vocabulary", segmenter_model=str(weights[model]), segmenter_mask_model=masks, **fields
        )
        made.append(choose_segmenter(catalogue, chain))
        return made[-1]

    yield make
    for one in made:
        one.models.close()


@pytest.fixture(scope="module")
def kitchen(new_scene, colours):
    scene = new_scene().table(0.6, 0.45)
    scene.cylinder((0.80, 0.15, 0.45 + 0.059), 0.066, 0.118, colours["red"])
    return scene.view()


@pytest.mark.parametrize("model", ["grounding-dino", "owlv2"])
def test_settings_make_a_segmenter_that_loads_in_the_background_and_finds(segmenter, kitchen, model):
    one = segmenter(model)
    assert one.health()["state"] in {"loading", "ready"}
    found = one.segment(kitchen, ["red coke can", "the wooden table", "green elephant"])
    assert one.health() == {"state": "ready"}
    for item in found:
        assert item.label in {"red coke can", "wooden table", "green elephant"}
        assert (item.entry is None) == (item.label == "green elephant")
        assert item.mask.shape == kitchen.shape
        assert item.mask.dtype == bool
        assert 0 <= item.score <= 1


def test_sam3_by_settings(segmenter, kitchen):
    one = segmenter("sam3", segmenter_accept_licence="sam3", segmenter_threshold=0.0001)
    assert one.segment(kitchen, ["red coke can"]) is not None
    assert one.health() == {"state": "ready"}


def test_depth_outlines_the_boxes_without_a_mask_model(segmenter, kitchen):
    one = segmenter("grounding-dino", "none")
    for item in one.segment(kitchen, ["red coke can", "blue mug"]):
        assert item.mask.shape == kitchen.shape


@pytest.fixture
def looked_up(monkeypatch):
    """Host names that were asked for; none is found."""
    names = []

    def fail(host, *_, **__):
        names.append(host)
        raise socket.gaierror(f"no address of {host} in tests")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    return names


def test_weights_come_out_of_the_cache_of_the_hub(weights, tmp_path, monkeypatch, looked_up):
    """By id, laid out as huggingface_hub lays them out, without a network."""
    from huggingface_hub import constants

    for kind in ("owlv2", "sam2"):
        folder = tmp_path / f"models--somebody--{kind}"
        shutil.copytree(weights[kind], folder / "snapshots" / "0123456789abcdef")
        (folder / "refs").mkdir()
        (folder / "refs" / "main").write_text("0123456789abcdef")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    load(chosen("somebody/owlv2", "somebody/sam2"))
    assert looked_up == []


def test_a_folder_needs_no_network(weights, looked_up):
    for model in ("grounding-dino", "owlv2", "sam3"):
        load(chosen(weights[model], weights["sam2"], accepted=frozenset({"sam3"})))
    assert looked_up == []


@pytest.fixture
def hub(weights, monkeypatch, tmp_path):
    """A hub on this machine that has the model somebody/owlv2, and the paths that it was asked for; an empty cache."""
    from huggingface_hub import constants

    asked = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            file = weights["owlv2"] / self.path.rpartition("/")[2]
            there = self.path.startswith("/somebody/owlv2/resolve/") and file.is_file()
            data = file.read_bytes() if there else b"{}"
            self.send_response(200 if there else 404)
            if there:
                self.send_header("ETag", hashlib.sha256(data).hexdigest())
                self.send_header("X-Repo-Commit", "0123456789abcdef0123456789abcdef01234567")
            else:
                self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        do_HEAD = do_GET

        def log_message(self, *_) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}",
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    yield asked
    close_session()
    server.shutdown()
    thread.join()
    server.server_close()


def test_missing_weights_are_fetched_only_where_that_is_wanted(hub):
    with pytest.raises(SegmenterWeightsError) as caught:
        load(chosen("somebody/owlv2"))
    assert "hf download somebody/owlv2" in str(caught.value)
    assert "QUARTET_SEGMENTER_DOWNLOAD=1" in str(caught.value)
    assert hub == []
    load(chosen("somebody/owlv2", download=True))
    assert [path for path in hub if path.endswith("/model.safetensors")]
    hub.clear()
    load(chosen("somebody/owlv2"))
    assert hub == []


def cut(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def lose_a_tensor(folder):
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors.pop(next(name for name in tensors if "class_head" in name))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def other_shape(folder):
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    name = next(name for name, tensor in tensors.items() if tensor.ndim == 2)
    save_file(tensors | {name: torch.zeros(3, 5)}, folder / "model.safetensors", metadata={"format": "pt"})


def only_a_pickle(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({}))


def bad_json(folder):
    (folder / "config.json").write_text("{")


def no_tokenizer(folder):
    for file in folder.glob("tokenizer*"):
        file.unlink()


@pytest.mark.parametrize("spoil", [cut, lose_a_tensor, other_shape, only_a_pickle, bad_json, no_tokenizer])
def test_broken_weights_are_refused_with_the_remedy(copy, spoil):
    folder = copy("owlv2")
    spoil(folder)
    with pytest.raises(SegmenterWeightsError) as caught:
        load(chosen(folder))
    assert f"'{folder}'" in str(caught.value)
    assert f"hf download <model> --local-dir {folder}" in str(caught.value)


def test_a_model_that_finds_nothing_by_text_is_refused(weights):
    with pytest.raises(
        SegmenterWeightsError, match=r"'sam2', which cannot be used as QUARTET_SEGMENTER_MODEL; valid.*owlv2"
    ):
        load(chosen(weights["sam2"]))
    with pytest.raises(
        SegmenterWeightsError, match=r"'owlv2', which cannot be used as QUARTET_SEGMENTER_MASK_MODEL.*sam2"
    ):
        load(chosen(weights["owlv2"], weights["owlv2"]))


def test_a_licence_is_asked_for_whatever_the_model_is_called(copy, tmp_path):
    folder = copy("sam3").rename(tmp_path / "harmless")
    with pytest.raises(SegmenterWeightsError, match="QUARTET_SEGMENTER_ACCEPT_LICENCE=sam3"):
        load(chosen(folder))
    load(chosen(folder, accepted=frozenset({"sam3"})))


def test_code_that_comes_with_weights_is_not_run(copy, tmp_path):
    folder = copy("owlv2")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "foreign", "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')")
    with pytest.raises(SegmenterWeightsError):
        load(chosen(folder))
    assert not (tmp_path / "was_run").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(weights):
    with pytest.raises(SegmenterUnavailableError, match=r"'cuda', but PyTorch .* sees 0 GPUs; .*nvidia-smi"):
        place_of(ModelChoice(str(weights["owlv2"]), None, device="cuda"))
    assert place_of(ModelChoice(str(weights["owlv2"]), None, device="auto")).device.type == "cpu"


def test_too_little_memory_is_said_and_the_next_picture_works(segmenter, kitchen, monkeypatch):
    one = segmenter("owlv2", "none")
    one.segment(kitchen, ["red coke can"])
    detector = one.models._loaded._detector
    forward = detector._model.forward

    def greedy(**inputs):
        # 4 EB, which no allocator gives: the error is PyTorch's own.
        return torch.empty(1 << 60, dtype=torch.float32)

    monkeypatch.setattr(detector._model, "forward", greedy)
    with pytest.raises(
        SegmenterMemoryError, match=r"more memory than cpu has left .*QUARTET_SEGMENTER_MASK_MODEL=none"
    ):
        one.segment(kitchen, ["red coke can"])
    monkeypatch.setattr(detector._model, "forward", forward)
    assert one.segment(kitchen, ["red coke can"]) is not None


def test_a_full_gpu_is_too_little_memory_and_other_faults_are_not(weights):
    place = place_of(ModelChoice("", None, device="cpu"))
    with (
        pytest.raises(SegmenterMemoryError, match="loading 'x' needs more memory"),
        memory_errors_typed("loading 'x'", place),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
    with pytest.raises(RuntimeError, match="mat1 and mat2"), memory_errors_typed("loading 'x'", place):
        _ = torch.zeros(2, 3) @ torch.zeros(2, 3)
