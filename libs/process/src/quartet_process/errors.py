"""The errors of quartet_process.

ProcessError
├── InvalidTokenError        a signed token that is not valid here
│   └── TokenOutOfTimeError  one that has expired, or is not valid yet
├── ListenError              a port cannot be bound
├── SecretError              a secret is missing or cannot be used
├── ServingError             the HTTP server ended by itself
├── SettingsError            an environment variable is missing or wrong
└── ToolListError            what an MCP server says of its tools exceeds a limit
"""


class ProcessError(Exception):
    """Root of the errors of a process' shell; the message is all that a person needs."""


class InvalidTokenError(ProcessError):
    """A signed token that is not valid here; the message says why."""


class TokenOutOfTimeError(InvalidTokenError):
    """A token with the right signature that this machine's clock takes for expired, or for not valid yet."""


class ListenError(ProcessError):
    """A port cannot be bound; the message names the setting to change."""


class SecretError(ProcessError):
    """A secret that is needed is missing or cannot be used; the message names what to set."""


class ServingError(ProcessError):
    """The HTTP server did not start, or ended before it was told to; the log says why."""


class SettingsError(ProcessError):
    """An environment variable is missing or wrong; the message names each one."""


class ToolListError(ProcessError):
    """A list of tools that is not taken; the message says what is too large or wrong in it."""
