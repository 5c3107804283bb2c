"""Errors of the robot, site and policy files.

SiteError
└── SiteFileError   one file cannot be used; the message lists every fault with file, line, field and valid values
"""

from pydantic_core import PydanticCustomError


class SiteError(Exception):
    """Base of everything this package raises."""


class SiteFileError(SiteError):
    """A robot, site or policy file cannot be used; `count` is how many faults the message has."""

    def __init__(self, text: str, count: int = 1) -> None:
        super().__init__(text)
        self.count = count


def field_error(text: str, *at: str | int) -> PydanticCustomError:
    """Return the error that a validator raises for a fault at the nested field or index `at` of its section."""
    return PydanticCustomError("field_error", "{text}", {"text": text, "at": list(at)})
