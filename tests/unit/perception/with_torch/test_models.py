"""What the models give, on weights that know nothing: shapes, numbers, labels, against transformers' own processors."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from quartet_perception.segmenters.open_vocabulary.model_choice import ModelChoice
from quartet_perception.segmenters.open_vocabulary.models import load
from quartet_perception.segmenters.open_vocabulary.models.grounding_dino import GroundingDino
from quartet_perception.segmenters.open_vocabulary.models.hub import Place, Source, place_of
from quartet_perception.segmenters.open_vocabulary.models.owlv2 import Owlv2
from quartet_perception.segmenters.open_vocabulary.models.sam import Sam2, Sam3
from quartet_perception.segmenters.open_vocabulary.models.tensors import square

QUERIES = ["red coke can", "blue mug", "wooden table"]
DETECTORS = ("grounding-dino", "mm-grounding-dino", "owlv2", "sam3")
LOW = 0.001


@pytest.fixture(scope="module")
def picture() -> np.ndarray:
    """A shaded wall with three coloured boxes, 480x640."""
    rgb = np.full((480, 640, 3), 90, dtype=np.uint8) + np.linspace(0, 90, 640).astype(np.uint8)[None, :, None]
    for left, colour in ((60, (200, 20, 20)), (280, (20, 40, 190)), (450, (140, 90, 40))):
        rgb[180:330, left : left + 110] = colour
    return rgb


@pytest.fixture
def choice(weights):
    def made(model, masks="sam2", **more):
        accepted = {"accepted": frozenset({"sam3"})}
        fields = {"device": "cpu", "threshold": LOW} | accepted | more
        return ModelChoice(str(weights[model]), masks and str(weights[masks]), **fields)

    return made


@pytest.fixture
def source(choice):
    def made(model):
        chosen = choice(model)
        return Source(chosen.model, chosen, place_of(chosen))

    return made


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("model", DETECTORS)
def test_finds_have_labels_boxes_and_masks_of_the_picture(choice, picture, model, dtype):
    seen = load(choice(model, dtype=dtype)).find(picture, QUERIES)
    assert seen
    for one in seen:
        assert 0 <= one.query < len(QUERIES)
        assert LOW <= one.score <= 1
        x0, y0, x1, y1 = one.box
        assert 0 <= x0 < x1 <= 640
        assert 0 <= y0 < y1 <= 480
        assert one.mask is None or (one.mask.shape == (480, 640) and one.mask.dtype == np.bool_ and one.mask.any())
    assert any(one.mask is not None for one in seen)
    assert [one.score for one in seen] == sorted((one.score for one in seen), reverse=True)


@pytest.mark.parametrize("model", DETECTORS)
def test_the_threshold_decides_what_counts(choice, picture, model):
    everything = load(choice(model, None)).find(picture, QUERIES)
    scores = [one.score for one in everything]
    middle = (max(scores) + min(scores)) / 2 if len(scores) > 1 else scores[0] + 1e-4
    some = load(choice(model, None, threshold=middle)).find(picture, QUERIES)
    assert [one.score for one in some] == pytest.approx([s for s in scores if s >= middle])
    assert len(some) < len(everything)


def test_without_a_mask_model_there_are_boxes_alone(choice, picture):
    assert {one.mask is None for one in load(choice("owlv2", None)).find(picture, QUERIES)} == {True}


def test_the_same_picture_gives_the_same_finds(choice, picture):
    finder = load(choice("grounding-dino", None))
    assert finder.find(picture, QUERIES) == finder.find(picture, QUERIES)


def test_owlv2_has_the_boxes_of_its_own_processor(source, picture, weights):
    from transformers import AutoTokenizer, Owlv2ForObjectDetection, Owlv2Processor
    from transformers.models.owlv2.image_processing_pil_owlv2 import Owlv2ImageProcessorPil

    folder = weights["owlv2"]
    processor = Owlv2Processor(
        Owlv2ImageProcessorPil.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    )  # fmt: skip
    model = Owlv2ForObjectDetection.from_pretrained(folder).eval()
    # Two short ones, which fit in the 16 tokens of this tokenizer of letters.
    queries = ["can", "mug"]
    texts = [[f"a photo of a {query}" for query in queries]]
    tokens = processor.tokenizer(texts[0], padding="max_length", truncation=True, max_length=16, return_tensors="pt")
    pixels = processor.image_processor(Image.fromarray(picture), return_tensors="pt")
    with torch.inference_mode():
        output = model(**tokens, **pixels)
        wanted = processor.post_process_grounded_object_detection(
            output, threshold=LOW, target_sizes=[picture.shape[:2]]
        )[0]
        seen = Owlv2(source("owlv2"), LOW).find(picture, queries)
    assert len(seen) == len(wanted["scores"]) > 0
    assert [s.query for s in seen] == wanted["labels"].tolist()
    np.testing.assert_allclose([s.score for s in seen], wanted["scores"], rtol=1e-4)
    np.testing.assert_allclose(np.array([s.box for s in seen]), wanted["boxes"].numpy(), atol=0.05)


def test_grounding_dino_has_the_caption_and_boxes_of_its_own_processor(source, picture, weights):
    from transformers import AutoTokenizer, GroundingDinoForObjectDetection, GroundingDinoProcessor
    from transformers.models.grounding_dino.image_processing_pil_grounding_dino import GroundingDinoImageProcessorPil

    folder = weights["grounding-dino"]
    processor = GroundingDinoProcessor(
        GroundingDinoImageProcessorPil.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    )
    model = GroundingDinoForObjectDetection.from_pretrained(folder).eval()
    inputs = processor(images=Image.fromarray(picture), text=QUERIES, return_tensors="pt")
    ours = GroundingDino(source("grounding-dino"), 1e-6)
    [(ids, spans)] = ours._captions(QUERIES)
    assert ids == inputs["input_ids"][0].tolist()
    with torch.inference_mode():
        output = model(**inputs)
        wanted = processor.post_process_grounded_object_detection(
            output, threshold=0.0, target_sizes=[picture.shape[:2]]
        )[0]
        seen = ours.find(picture, QUERIES)
    assert len(seen) == len(wanted["boxes"])
    np.testing.assert_allclose(np.array([s.box for s in seen]), wanted["boxes"].numpy(), atol=0.05)
    # A find belongs to the query whose words fit best on average, and scores that average.
    each = output.logits[0].sigmoid().numpy()
    for one, tokens in zip(seen, each, strict=True):
        means = [tokens[start:stop].mean() for _, start, stop in spans]
        assert one.query == int(np.argmax(means))
        assert one.score == pytest.approx(max(means), rel=1e-3)


def test_many_names_become_several_captions(source, picture):
    detector = GroundingDino(source("grounding-dino"), LOW)
    queries = [f"{colour} coke can" for colour in ("red", "blue", "green", "yellow")] * 40
    captions = detector._captions(queries)
    assert len(captions) > 1
    assert all(len(ids) <= detector._longest for ids, _ in captions)
    assert [number for _, spans in captions for number, _, _ in spans] == list(range(160))
    for ids, spans in captions:
        for number, start, stop in spans:
            assert detector._tokenizer.decode(ids[start:stop]) == queries[number]
    with torch.inference_mode():
        assert max(one.query for one in detector.find(picture, queries)) < 160


def test_an_endless_name_does_not_fill_the_caption(source):
    detector = GroundingDino(source("grounding-dino"), LOW)
    [(ids, spans)] = detector._captions(["can " * 500, "mug"])
    assert len(ids) < detector._longest
    assert detector._tokenizer.decode(ids[spans[1][1] : spans[1][2]]) == "mug"


@pytest.mark.parametrize(("model", "longest"), [("owlv2", 16), ("sam3", 32)])
def test_a_long_name_is_cut_where_the_text_model_ends(source, picture, model, longest):
    detector = {"owlv2": Owlv2, "sam3": Sam3}[model](source(model), LOW)
    assert detector._longest == longest
    with torch.inference_mode():
        detector.find(picture, ["a very long name " * 12])


def test_sam2_outlines_each_box_by_itself(source, picture):
    boxes = [(60.0, 180.0, 170.0, 330.0), (280.0, 180.0, 390.0, 330.0)]
    sam = Sam2(source("sam2"))
    with torch.inference_mode():
        both = sam.outline(picture, boxes)
        alone = sam.outline(picture, boxes[1:])
    assert [m.shape for m in both] == [(480, 640)] * 2
    assert (both[0] != both[1]).any()
    assert (both[1] == alone[0]).mean() > 0.999
    assert sam.outline(picture, []) == []


def test_checkpoints_of_the_video_models_serve(source, choice, picture, weights, tmp_path):
    """The published ones are of the video models; the same weights must give the same outlines out of them."""
    import json

    from safetensors.torch import load_file, save_file

    for kind, prefix, junk in (("sam2", "", "memory_encoder.x"), ("sam3", "detector_model.", "tracker_neck.x")):
        folder = tmp_path / kind
        folder.mkdir()
        for file in weights[kind].iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        config = json.loads((folder / "config.json").read_text())
        video = {"model_type": f"{kind}_video"}
        video |= config | video if kind == "sam2" else {"detector_config": config}
        (folder / "config.json").write_text(json.dumps(video))
        tensors = load_file(folder / "model.safetensors")
        renamed = {prefix + name: tensor.clone() for name, tensor in tensors.items()} | {junk: torch.zeros(2)}
        save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
        plain = choice(kind)
        video_source = Source(str(folder), plain, place_of(plain))
        assert video_source.model_type == f"{kind}_video"
        with torch.inference_mode():
            if kind == "sam2":
                boxes = [(60.0, 180.0, 170.0, 330.0)]
                ours, theirs = (Sam2(s).outline(picture, boxes) for s in (source(kind), video_source))
                assert (ours[0] == theirs[0]).all()
            else:
                ours, theirs = (Sam3(s, LOW).find(picture, QUERIES) for s in (source(kind), video_source))
                assert ours
                assert [replace(o, mask=None) for o in ours] == [replace(t, mask=None) for t in theirs]
                assert all((o.mask == t.mask).all() for o, t in zip(ours, theirs, strict=True))


def test_the_square_picture_is_that_of_pillow(picture):
    place = Place(torch.device("cpu"), torch.float32)
    settings = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.25, 0.3]}
    ours = square(picture, (128, 96), settings, ([0.5] * 3, [0.5] * 3), place)
    assert ours.shape == (1, 3, 128, 96)
    resized = Image.fromarray(picture).resize((96, 128), Image.Resampling.BILINEAR)
    wanted = (np.asarray(resized, dtype=np.float32) / 255 - settings["image_mean"]) / settings["image_std"]
    np.testing.assert_allclose(ours[0].permute(1, 2, 0).numpy(), wanted, atol=1.5 / 255 / 0.2)
    assert square(picture, (8, 8), {}, ([0.5] * 3, [0.5] * 3), place).abs().max() <= 1.0 + 1e-5
