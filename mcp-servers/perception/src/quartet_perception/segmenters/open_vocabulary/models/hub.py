"""Loading of models from a folder or the Hugging Face cache, with errors that name the remedy.

Weights are read from safetensors files only, and no code that comes with them is run.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import constants
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.image_processing_auto import get_image_processor_config

from quartet_perception.errors import SegmenterMemoryError, SegmenterUnavailableError, SegmenterWeightsError
from quartet_perception.segmenters.open_vocabulary.model_choice import ModelChoice, check_licence

logger = logging.getLogger(__name__)

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# PyTorch has a type for a full GPU, a text for full main memory (c10/core/impl/alloc_cpu.cpp).
_NO_MEMORY = re.compile(r"DefaultCPUAllocator|not enough memory|out of memory", re.IGNORECASE)
_OFFLINE = bool(constants.HF_HUB_OFFLINE)
"""Whether the environment forbids the network."""


def keep_off_the_network(choice: ModelChoice) -> None:
    """Forbid all network use, except to fetch weights where that is wanted.

    `local_files_only` alone still lets huggingface_hub 1 ask its server for a list that it puts into its user agent.
    """
    constants.HF_HUB_DISABLE_TELEMETRY = True
    constants.HF_HUB_OFFLINE = _OFFLINE or not choice.download


@dataclass(frozen=True)
class Place:
    """Where the models run and in which numbers."""

    device: torch.device
    dtype: torch.dtype


def place_of(choice: ModelChoice) -> Place:
    """Return device and number type. Raises SegmenterUnavailableError for a GPU that PyTorch does not see."""
    name = choice.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise SegmenterUnavailableError(
            f"QUARTET_SEGMENTER_DEVICE is '{choice.device}', but PyTorch {torch.__version__} sees "
            f"{torch.cuda.device_count()} GPUs; see to the driver (nvidia-smi) and, in a container, to `--gpus all`, "
            "or set it to auto or cpu"
        )
    return Place(device, _DTYPES[choice.dtype])


@contextmanager
def memory_errors_typed(doing: str, place: Place) -> Iterator[None]:
    """Turn PyTorch's errors of missing memory into SegmenterMemoryError."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        full = isinstance(error, torch.OutOfMemoryError | MemoryError) or _NO_MEMORY.search(str(error))
        if not full:
            raise
        if place.device.type == "cuda":
            torch.cuda.empty_cache()
        raise SegmenterMemoryError(
            f"{doing} needs more memory than {place.device} has left ({_first_line(error)}); end what else uses it, "
            "choose a smaller model (QUARTET_SEGMENTER_MODEL, QUARTET_SEGMENTER_MASK_MODEL=none) or "
            "QUARTET_SEGMENTER_DTYPE=bfloat16, or set QUARTET_SEGMENTER_DEVICE=cpu"
        ) from error


class Source:
    """One model: a folder or an id of the hub."""

    def __init__(self, name: str, choice: ModelChoice, place: Place) -> None:
        self.name, self.place = name, place
        self._where: dict[str, Any] = {"local_files_only": not choice.download, "trust_remote_code": False}
        self._download = choice.download
        with self._readable("configuration"):
            self.config: PreTrainedConfig = AutoConfig.from_pretrained(name, **self._where)
        self.model_type: str = self.config.model_type
        try:
            check_licence(name, self.model_type, choice.accepted)
        except ValueError as error:
            raise SegmenterWeightsError(str(error)) from error

    def model(self, kind: type[PreTrainedModel]) -> Any:
        """Return the model with all of its weights, ready for inference.

        Raises SegmenterWeightsError, SegmenterMemoryError.
        """
        with memory_errors_typed(f"loading '{self.name}'", self.place), self._readable("weights"):
            model, report = kind.from_pretrained(
                self.name,
                **self._where,
                dtype=self.place.dtype,
                use_safetensors=True,
                output_loading_info=True,
            )
        # transformers fills gaps with random numbers and a warning: a model that sees, but nonsense.
        gaps = sorted(str(key) for key in report["missing_keys"])
        if gaps:
            raise SegmenterWeightsError(
                f"the weights of '{self.name}' are not whole: {len(gaps)} tensors are missing, such as {gaps[0]}; "
                f"{self._again()}"
            )
        with memory_errors_typed(f"loading '{self.name}'", self.place):
            return model.to(self.place.device).eval()

    def images(self, kind: Any) -> Any:
        """Return its image processor. Raises SegmenterWeightsError."""
        with self._readable("image processor"):
            return kind.from_pretrained(self.name, **self._where)

    def tokenizer(self, words: int) -> Any:
        """Return its tokenizer, for a text model that knows `words` words. Raises SegmenterWeightsError."""
        with self._readable("tokenizer"):
            tokenizer = AutoTokenizer.from_pretrained(self.name, **self._where)
            # Without its files transformers makes one that knows no word, and says nothing.
            if 2 * len(tokenizer) < words:
                raise ValueError(f"it knows {len(tokenizer)} words, the model {words}; its files are missing")
            return tokenizer

    def picture_settings(self) -> dict[str, Any]:
        """Return the settings of its image processor, {} when the model has none."""
        with self._readable("image processor"):
            return get_image_processor_config(self.name, local_files_only=not self._download)

    @contextmanager
    def _readable(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError, ImportError, SafetensorError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and _NO_MEMORY.search(str(error)):
                raise
            raise SegmenterWeightsError(
                f"the {what} of the model '{self.name}' cannot be loaded ({type(error).__name__}: "
                f"{_first_line(error)}); {self._again()}"
            ) from error

    def _again(self) -> str:
        if Path(self.name).is_dir():
            return f"put a whole copy there with `hf download <model> --local-dir {self.name}`, or name another model"
        fetch = "" if self._download else ", or set QUARTET_SEGMENTER_DOWNLOAD=1 to have it done here"
        return f"fetch it with `hf download {self.name}` where there is a network{fetch}, or name the folder of a copy"


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or "no text"
