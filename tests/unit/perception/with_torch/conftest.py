"""Tiny models with random weights, saved as the real ones are. These tests run where torch is (scripts/segmenter-env);
tests/integration/perception/test_models_with_torch.py runs them there."""

import os
import string
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("torch") is None or find_spec("transformers") is None:
    collect_ignore_glob = ["test_*.py"]

WORDS = ["thing", "red", "blue", "green", "yellow", "coke", "can", "cup", "mug", "apple", "table", "wooden"]
TEXT = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
TINY = {"hidden_size": 32, "num_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


def _bert_tokenizer(folder: Path) -> int:
    """Whole words and the special tokens, which Grounding DINO knows by BERT's own numbers."""
    from transformers import BertTokenizer

    words = {f"[unused{i}]": i for i in range(1100)}
    special = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103, ".": 1012, "?": 1029}
    named = special | {word: 1030 + i for i, word in enumerate(WORDS)}
    taken = set(named.values())
    vocabulary = {word: i for word, i in words.items() if i not in taken} | named
    BertTokenizer(vocab=vocabulary, do_lower_case=True).save_pretrained(folder)
    return len(vocabulary)


def _clip_tokenizer(folder: Path) -> dict[str, Any]:
    """Letters, and what the text models must know about them."""
    from transformers import CLIPTokenizer

    letters = [*string.ascii_lowercase, *(f"{c}</w>" for c in string.ascii_lowercase)]
    vocabulary = {word: i for i, word in enumerate(["!", "<|startoftext|>", "<|endoftext|>", *letters])}
    CLIPTokenizer(vocab=vocabulary, merges=[]).save_pretrained(folder)
    return {"vocab_size": len(vocabulary), "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2, **TEXT}


def _grounding_dino(folder: Path, config_class: Any, model_class: Any) -> None:
    from transformers import BertConfig, SwinConfig
    from transformers.models.grounding_dino.image_processing_pil_grounding_dino import GroundingDinoImageProcessorPil

    words = _bert_tokenizer(folder)
    config = config_class(
        backbone_config=SwinConfig(
            embed_dim=16, depths=[1, 1, 1], num_heads=[1, 1, 2], window_size=4, image_size=64, out_indices=[1, 2, 3]
        ),
        text_config=BertConfig(vocab_size=words, max_position_embeddings=256, **TEXT),
        d_model=32, num_queries=20, num_feature_levels=3, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32, encoder_attention_heads=2, decoder_attention_heads=2,
    )  # fmt: skip
    model_class(config).save_pretrained(folder)
    GroundingDinoImageProcessorPil(size={"shortest_edge": 96, "longest_edge": 160}).save_pretrained(folder)


def make_grounding_dino(folder: Path) -> None:
    from transformers import GroundingDinoConfig, GroundingDinoForObjectDetection

    _grounding_dino(folder, GroundingDinoConfig, GroundingDinoForObjectDetection)


def make_mm_grounding_dino(folder: Path) -> None:
    from transformers import MMGroundingDinoConfig, MMGroundingDinoForObjectDetection

    _grounding_dino(folder, MMGroundingDinoConfig, MMGroundingDinoForObjectDetection)


def make_owlv2(folder: Path) -> None:
    from transformers import Owlv2Config, Owlv2ForObjectDetection
    from transformers.models.owlv2.image_processing_pil_owlv2 import Owlv2ImageProcessorPil

    text = _clip_tokenizer(folder) | {"max_position_embeddings": 16}
    vision = {"image_size": 96, "patch_size": 16, **TEXT}
    model = Owlv2ForObjectDetection(Owlv2Config(text_config=text, vision_config=vision, projection_dim=32))
    # As they are drawn, the numbers saturate: boxes without an extent, scores of 0 and 1.
    for parameter in (*model.box_head.parameters(), *model.class_head.parameters()):
        parameter.data *= 0.2
    model.save_pretrained(folder)
    Owlv2ImageProcessorPil(size={"height": 96, "width": 96}).save_pretrained(folder)


def sam2_parts() -> dict[str, Any]:
    from transformers import Sam2VisionConfig
    from transformers.models.sam2.configuration_sam2 import Sam2HieraDetConfig

    backbone = Sam2HieraDetConfig(
        hidden_size=16, image_size=[128, 128], blocks_per_stage=[1, 1, 2, 1], embed_dim_per_stage=[16, 32, 64, 128],
        num_attention_heads_per_stage=[1, 1, 2, 2], window_size_per_stage=[8, 4, 8, 4], global_attention_blocks=[3],
    )  # fmt: skip
    sizes = [[32, 32], [16, 16], [8, 8]]
    vision = Sam2VisionConfig(
        backbone_config=backbone, backbone_channel_list=[128, 64, 32, 16], backbone_feature_sizes=sizes,
        fpn_hidden_size=32,
    )  # fmt: skip
    return {
        "vision_config": vision,
        "prompt_encoder_config": {"hidden_size": 32, "image_size": 128},
        "mask_decoder_config": {
            "hidden_size": 32, "mlp_dim": 32, "num_attention_heads": 2, "iou_head_hidden_dim": 32
        },
    }  # fmt: skip


def make_sam2(folder: Path) -> None:
    from transformers import Sam2Config, Sam2Model

    Sam2Model(Sam2Config(**sam2_parts())).save_pretrained(folder)


def sam3_parts(folder: Path) -> dict[str, Any]:
    from transformers import Sam3VisionConfig
    from transformers.models.sam3.configuration_sam3 import Sam3ViTConfig

    backbone = Sam3ViTConfig(
        image_size=112, patch_size=14, window_size=4, global_attn_indexes=[1], pretrain_image_size=56,
        **(TEXT | {"num_hidden_layers": 2}),
    )  # fmt: skip
    sizes = [[32, 32], [16, 16], [8, 8]]
    text = _clip_tokenizer(folder) | {"model_type": "clip_text_model", "max_position_embeddings": 32}
    return {
        "vision_config": Sam3VisionConfig(backbone_config=backbone, fpn_hidden_size=32, backbone_feature_sizes=sizes),
        "text_config": text | {"projection_dim": 32},
        "geometry_encoder_config": TINY,
        "detr_encoder_config": TINY,
        "detr_decoder_config": TINY | {"num_queries": 10},
        "mask_decoder_config": {"hidden_size": 32, "num_attention_heads": 2},
    }


def make_sam3(folder: Path) -> None:
    from transformers import Sam3Config, Sam3Model

    Sam3Model(Sam3Config(**sam3_parts(folder))).save_pretrained(folder)


MAKERS = {
    "grounding-dino": make_grounding_dino,
    "mm-grounding-dino": make_mm_grounding_dino,
    "owlv2": make_owlv2,
    "sam2": make_sam2,
    "sam3": make_sam3,
}


def make_all(folder: Path) -> dict[str, Path]:
    """Folders of models in `folder`, by their type; each holds what the real one brings, and nothing else."""
    import torch

    torch.manual_seed(0)
    # One thread: there are other tests on this machine.
    torch.set_num_threads(1)
    folders = {kind: folder / kind for kind in MAKERS}
    for kind, make in MAKERS.items():
        folders[kind].mkdir()
        make(folders[kind])
    return folders


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of models, by their type; in QUARTET_TEST_WEIGHTS, where that is set, for others to use as well."""
    given = os.environ.get("QUARTET_TEST_WEIGHTS")
    return make_all(Path(given) if given else tmp_path_factory.mktemp("weights"))
