"""Errors of the perception server.

PerceptionError          each carries the code of the tool's answer
├── UnknownObject        the catalogue has no such name
├── UnknownObjectId      no thing of this robot and task has that object_id
├── NothingFound         the named thing is not in the picture
├── TooFewPoints         seen, but its depth is missing or too sparse
├── NotAPlace            neither a surface, a container nor the floor
├── NoFreeSpace          the place is seen, but nothing fits there
├── BadImage              a picture came that cannot be used
├── BadParameters        an argument out of its range
└── SegmenterFailure     the endpoint or model that segments did not do it
    ├── SegmenterUnavailable  it cannot be reached, or it refuses
    │   ├── SegmenterLoading      its weights are still being loaded
    │   ├── SegmenterWeights      its weights are missing, broken, or under a licence that nobody accepted
    │   └── SegmenterMemory       the GPU, or this machine, has too little memory for it
    ├── SegmenterTimeout      no answer in time
    └── SegmenterAnswer       an answer that is not what is documented
"""

from quartet_contracts.tools.common_codes import CommonCode
from quartet_contracts.tools.perception import PerceptionCode
from quartet_tool_server import ToolFailure


class PerceptionError(ToolFailure):
    """Base; `code` is what the caller of the tool reads."""


class UnknownObject(PerceptionError):
    code = PerceptionCode.UNKNOWN_OBJECT


class UnknownObjectId(PerceptionError):
    code = PerceptionCode.UNKNOWN_OBJECT_ID


class NothingFound(PerceptionError):
    code = PerceptionCode.NO_OBJECTS_FOUND


class TooFewPoints(PerceptionError):
    code = PerceptionCode.TOO_FEW_POINTS


class NotAPlace(PerceptionError):
    code = PerceptionCode.NOT_A_PLACE


class NoFreeSpace(PerceptionError):
    code = PerceptionCode.NO_FREE_SPACE


class BadImage(PerceptionError):
    code = PerceptionCode.CAMERA_UNAVAILABLE


class BadParameters(PerceptionError):
    code = CommonCode.INVALID_PARAMETERS


class SegmenterFailure(PerceptionError):
    """Base; a fallback segmenter is asked after any of these."""

    code = PerceptionCode.SEGMENTER_UNAVAILABLE


class SegmenterUnavailable(SegmenterFailure):
    code = PerceptionCode.SEGMENTER_UNAVAILABLE


class SegmenterLoading(SegmenterUnavailable):
    code = PerceptionCode.SEGMENTER_UNAVAILABLE


class SegmenterWeights(SegmenterUnavailable):
    code = PerceptionCode.SEGMENTER_UNAVAILABLE


class SegmenterMemory(SegmenterUnavailable):
    code = PerceptionCode.SEGMENTER_UNAVAILABLE


class SegmenterTimeout(SegmenterFailure):
    code = PerceptionCode.SEGMENTER_TIMEOUT


class SegmenterAnswer(SegmenterFailure):
    code = PerceptionCode.SEGMENTER_ANSWER
