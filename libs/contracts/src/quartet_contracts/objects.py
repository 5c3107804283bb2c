"""How agents name a thing to each other: by an opaque id, or by a short term in a person's words.

What a camera or a model has read off the world never goes from one agent to the next as free text: it may carry an
instruction. An id carries nothing, and nobody can guess one.
"""

import secrets
from typing import Annotated

from pydantic import Field

ObjectId = Annotated[str, Field(pattern=r"^obj_[0-9a-f]{12}$")]
"""Given by the perception server for one thing that it has seen, valid for the robot and the task that saw it."""

Term = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^\w[\w '’,&-]*$")]
"""Letters, digits, spaces, and ' , & _ - : enough for what a person or a site file calls a thing."""


def new_object_id() -> str:
    """A fresh ObjectId that cannot be guessed (48 random bits; an id is refused outside of its task anyway)."""
    return f"obj_{secrets.token_hex(6)}"
