"""Errors of the agent runtime.

AgentError
├── ModelUnavailable     the gateway or the model behind it gave no usable answer; the text says which and the remedy
├── ToolsUnavailable     a tool server cannot be reached, or lacks a tool; the text names it and the remedy
├── PromptProblem        a prompt uses a variable that is not there
└── SettingsProblem      the process cannot start with these settings
"""


class AgentError(Exception):
    """Base of everything this package raises."""


class ModelUnavailable(AgentError):
    """No answer could be had from the model."""


class ToolsUnavailable(AgentError):
    """The tools of the agent cannot be listed."""


class PromptProblem(AgentError):
    """The prompt template cannot be rendered."""


class SettingsProblem(AgentError):
    """The process cannot start; the text names variable, value and remedy."""
