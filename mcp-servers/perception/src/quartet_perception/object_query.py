"""What a tool call asks for, by name or by object_id, and the caller whose object_ids count."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AliasChoices, Field

from quartet_contracts import ObjectId
from quartet_perception.catalogue import KINDS, OBJECTS, PLACES, Kind
from quartet_perception.segmenters.base import SegmentedObject
from quartet_tool_server import current_grant

NAME_ARGUMENTS = {
    "object_id": ("object_name", "prompt"),
    "target_id": ("object_name",),
    "held_object_id": ("held_object",),
    "held_id": ("held_object",),
    "object_ids": ("names",),
}
"""Arguments that take object_ids, also under their old names, and the arguments that take names in their place."""
HeldIdArgument = Annotated[
    ObjectId | None,
    Field(
        validation_alias=AliasChoices("held_id", "held_object_id"),
        description="object_id of what the gripper holds, as pick reported it: nothing seen elsewhere is taken for it.",
    ),
]
GRASP_POSE, PLACING_POSE = "get_topdown_grasp_pose", "get_topdown_placing_pose"
_KINDS_OF_NAMES = {
    (GRASP_POSE, "object_name"): OBJECTS,
    (PLACING_POSE, "object_name"): PLACES,
    (PLACING_POSE, "held_object"): OBJECTS,
}


@dataclass(frozen=True)
class ObjectQuery:
    """What is looked for: every object of some names, or the one object with an id."""

    names: Sequence[str]
    """Prompts for the segmenter."""
    text: str
    """How messages call it."""
    object_id: str | None = None

    def select(self, found: Sequence[SegmentedObject]) -> list[SegmentedObject]:
        """Return those of `found` that are asked for."""
        return [f for f in found if self.object_id is None or f.object_id == self.object_id]


def kinds_of_names(tool: str, argument: str) -> tuple[Kind, ...]:
    """Return the kinds of the catalogue in which a tool looks for a name that comes in `argument`."""
    return _KINDS_OF_NAMES.get((tool, argument), KINDS)


def id_scope() -> str:
    """Return the namespace of object_ids: the caller's task, or its grant when it has no task."""
    grant = current_grant.get()
    if grant is None:
        return ""
    return f"task {grant.task}" if grant.task else f"client {grant.sub} {grant.jti}"
