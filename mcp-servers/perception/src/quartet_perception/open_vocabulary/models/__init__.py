"""The models themselves, over transformers. The only package that imports torch; nothing imports it before weights are
to be loaded."""

from quartet_perception.open_vocabulary.models.finder import load

__all__ = ["load"]
