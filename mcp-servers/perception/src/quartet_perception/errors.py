"""Errors of the perception server.

PerceptionError                    every one carries the error code of the tool's result
├── UnknownObjectError             the catalogue has no such name
├── UnknownObjectIdError           no object of this robot and task has that object_id
├── NothingFoundError              the named object is not in the picture
├── TooFewPointsError              the object is seen, but its depth is missing or too sparse
├── NotAPlaceError                 neither a surface, a container nor the floor
├── NoFreeSpaceError               the place is seen, but nothing fits there
├── BadImageError                  a camera picture cannot be used
├── BadParametersError             a tool argument is out of its range
│   └── ObjectTooWideError             the object fits between the open fingers at no yaw
└── SegmenterError                 a segmenter failed; the next one of a chain is asked
    ├── SegmenterUnavailableError      it cannot be reached, or it refuses
    │   ├── SegmenterLoadingError          its weights are still being loaded
    │   ├── SegmenterWeightsError          its weights are missing or broken, or their licence was not accepted
    │   └── SegmenterMemoryError           the GPU or this machine has too little memory for it
    ├── SegmenterTimeoutError          it did not answer in time
    └── SegmenterAnswerError           its answer is not what is documented
        └── UnreadableAnswerError          a vision LLM's text has no usable boxes; the model is asked again
"""

from quartet_contracts.tools.perception import PerceptionCode
from quartet_contracts.tools.results import CommonCode
from quartet_tool_server import ToolError


class PerceptionError(ToolError):
    """Base of everything this server raises; `code` becomes the error code of the tool's result."""


class UnknownObjectError(PerceptionError):
    """The catalogue has no object, surface or container of that name."""

    code = PerceptionCode.UNKNOWN_OBJECT


class UnknownObjectIdError(PerceptionError):
    """No object that this robot has seen in this task has that object_id."""

    code = PerceptionCode.UNKNOWN_OBJECT_ID


class NothingFoundError(PerceptionError):
    """The named object is not in the picture."""

    code = PerceptionCode.NO_OBJECTS_FOUND


class TooFewPointsError(PerceptionError):
    """The object is seen, but its depth is missing or too sparse for geometry."""

    code = PerceptionCode.TOO_FEW_POINTS


class NotAPlaceError(PerceptionError):
    """The target is neither a surface, a container nor the floor."""

    code = PerceptionCode.NOT_A_PLACE


class NoFreeSpaceError(PerceptionError):
    """The place is seen, but the object fits nowhere on it."""

    code = PerceptionCode.NO_FREE_SPACE


class BadImageError(PerceptionError):
    """A camera picture cannot be used: its colour, depth and calibration do not fit together."""

    code = PerceptionCode.CAMERA_UNAVAILABLE


class BadParametersError(PerceptionError):
    """A tool argument is out of its range, or contradicts another one."""

    code = CommonCode.INVALID_PARAMETERS


class ObjectTooWideError(BadParametersError):
    """The object fits between the open fingers at no yaw; the message says how wide it is."""


class SegmenterError(PerceptionError):
    """Base of segmenter failures; a chain asks its next segmenter after any of these."""

    code = PerceptionCode.SEGMENTER_UNAVAILABLE


class SegmenterUnavailableError(SegmenterError):
    """The segmenter's endpoint or model cannot be reached, or it refuses."""


class SegmenterLoadingError(SegmenterUnavailableError):
    """The model's weights are still being loaded."""


class SegmenterWeightsError(SegmenterUnavailableError):
    """The model's weights are missing or broken, or their licence was not accepted."""


class SegmenterMemoryError(SegmenterUnavailableError):
    """The GPU or this machine has too little memory for the model."""


class SegmenterTimeoutError(SegmenterError):
    """The segmenter did not answer in time."""

    code = PerceptionCode.SEGMENTER_TIMEOUT


class SegmenterAnswerError(SegmenterError):
    """The segmenter's answer is not what is documented."""

    code = PerceptionCode.SEGMENTER_ANSWER


class UnreadableAnswerError(SegmenterAnswerError):
    """The text of a vision LLM has no usable boxes; the message says why, in words for the model."""
