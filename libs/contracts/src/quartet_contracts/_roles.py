"""Roles of the API's tokens, and how a line of a file of tokens names them."""

from enum import StrEnum

ROLES_FIELD = "roles="
"""Begin of the last word of a token's line, before its roles, which commas separate."""


class Role(StrEnum):
    """Role of an API token."""

    SUBMIT = "submit"
    """Give tasks, pause, resume and cancel them, and answer questions that are no approvals."""
    APPROVE = "approve"
    """Answer approvals, and open a session of the web page, which can answer them."""
    ADMIN = "admin"
    """Everything."""
