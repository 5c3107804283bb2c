"""Errors of the agent runtime.

AgentError
├── ArgumentsError           arguments or a report that a model wrote cannot be taken; the text is for the model
├── ModelUnavailableError    the gateway or its model gave no usable answer; the text says which and the remedy
├── PromptError              a prompt uses a variable that is not there
├── ToolServerError          an MCP server gave no result
│   ├── CallTimeoutError         it took too long; what the call did is not known
│   ├── ServerLostError          the connection broke during a call; what the call did is not known
│   ├── ServerRefusedError       it answered with an error
│   └── ServerUnavailableError   no session could be opened; nothing was called
├── ToolsUnavailableError    the tools of the agent cannot be listed; the text names server or tool and the remedy
└── VerificationError        the world could not be looked at, so the report cannot be verified
"""


class AgentError(Exception):
    """Base of everything this package raises."""


class ArgumentsError(AgentError):
    """What is wrong with the arguments of a call, in words for the model."""


class ModelUnavailableError(AgentError):
    """No answer could be had from the model."""


class PromptError(AgentError):
    """The prompt template cannot be rendered."""


class ToolServerError(AgentError):
    """An MCP server gave no result."""


class CallTimeoutError(ToolServerError):
    """The call took too long and was canceled; its effect is not known."""


class ServerLostError(ToolServerError):
    """The connection broke during a call; its effect is not known."""


class ServerRefusedError(ToolServerError):
    """The server answered with an error instead of a result."""


class ServerUnavailableError(ToolServerError):
    """No session could be opened; nothing was called."""


class ToolsUnavailableError(AgentError):
    """The tools of the agent cannot be listed."""


class VerificationError(AgentError):
    """The world could not be looked at or acted on, so the result is UNKNOWN.

    `uncertain`: what the last call did to the world is not known either.
    """

    def __init__(self, reason: str, *, uncertain: bool) -> None:
        super().__init__(reason)
        self.uncertain = uncertain
