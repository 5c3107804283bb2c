"""The models, over transformers: the only package that imports torch, and only when weights are loaded."""

from quartet_perception.segmenters.open_vocabulary.models.finder import load

__all__ = ["load"]
