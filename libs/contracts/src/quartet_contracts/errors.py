"""Errors of the contracts.

ContractError
├── MessageTooLargeError      the encoded message is over MAX_MESSAGE_BYTES
├── UnsupportedVersionError   the message's schema has another major version
├── MalformedMessageError     not JSON, or fields missing, wrong or inconsistent
└── IllegalTransitionError          a task or step cannot go from its state to that one
"""


class ContractError(Exception):
    """Base of all errors of the contracts."""


class MessageTooLargeError(ContractError):
    """The encoded message is over the size cap."""


class UnsupportedVersionError(ContractError):
    """The message was written for another major version of the schema."""


class MalformedMessageError(ContractError):
    """The message cannot be read; the text names each wrong field."""


class IllegalTransitionError(ContractError):
    """The state may not follow the current one; the text names those that may."""
