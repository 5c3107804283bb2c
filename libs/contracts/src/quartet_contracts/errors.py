"""Errors of the contracts.

ContractError
├── MessageTooLarge      the encoded message is over MAX_MESSAGE_BYTES
├── UnsupportedVersion   the message's schema has another major version
├── MalformedMessage     not JSON, or fields missing, wrong or inconsistent
└── IllegalMove          a task or step cannot go from its state to that one
"""


class ContractError(Exception):
    """Base of everything this package raises."""


class MessageTooLarge(ContractError):
    """The encoded message is over the size cap."""


class UnsupportedVersion(ContractError):
    """The message was written for another major version of the schema."""


class MalformedMessage(ContractError):
    """The message cannot be read; the text names each wrong field."""


class IllegalMove(ContractError):
    """A state that may not follow; the text names those that may."""
