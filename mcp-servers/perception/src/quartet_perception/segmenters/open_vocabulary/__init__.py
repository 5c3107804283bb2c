"""The segmenter `open_vocabulary`: models that find whatever a text names, run here on a GPU (docs/perception.md).

Only `models` imports torch and transformers, which come with the package's extra of the same name, and only the
thread that loads the weights imports `models`.
"""

from quartet_perception.segmenters.open_vocabulary.background import Background
from quartet_perception.segmenters.open_vocabulary.model_choice import ModelChoice, choice_of
from quartet_perception.segmenters.open_vocabulary.queries import QueryDetection, one_per_place
from quartet_perception.segmenters.open_vocabulary.segmenter import OpenVocabularySegmenter

__all__ = ["Background", "ModelChoice", "OpenVocabularySegmenter", "QueryDetection", "choice_of", "one_per_place"]
