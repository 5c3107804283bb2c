"""Errors of the gateway and what a caller sees of them.

GatewayError
├── ConfigurationError          the gateway cannot start with this file or environment
├── InvalidRequestError    400  the request cannot be sent to any model
├── NotAuthenticatedError  401  the caller's key is missing or wrong
│   └── GrantOutOfTimeError  401  its grant has expired, or is not valid yet, by the gateway's clock
├── BudgetSpentError       402  the agent has used what it may
├── NotAllowedError        403  the caller's key is another agent's
├── ModelRefusedError      424  the provider does not accept the request (key, model name, content)
│   └── ContextTooLongError  400  the conversation does not fit the model
├── ModelBusyError         429  the provider still limits the rate after the retries
├── ModelFailedError       502  the provider failed after the retries
│   └── ModelTimeoutError    504  the provider did not answer in time
└── NotConfiguredError     503  a key or endpoint is missing; the message names the variable to set
"""

from typing import Any, ClassVar

from quartet_contracts import OUT_OF_TIME


class GatewayError(Exception):
    """Root of what this package raises; `status` and `code` are what goes over the wire."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "gateway_error"


class ConfigurationError(GatewayError):
    """File or environment cannot be used; the text names file, field and valid values."""

    code = "configuration_error"


class InvalidRequestError(GatewayError):
    """The request cannot be sent to any model; the text names the field."""

    status = 400
    code = "invalid_request_error"


class NotAuthenticatedError(GatewayError):
    """The caller's key is missing or wrong."""

    status = 401
    code = "authentication_error"


class GrantOutOfTimeError(NotAuthenticatedError):
    """The caller's grant is signed, and expired or not valid yet by this machine's clock: the clocks may differ."""

    code = OUT_OF_TIME


class NotAllowedError(GatewayError):
    """The caller's key is for other agents."""

    status = 403
    code = "permission_error"


class BudgetSpentError(GatewayError):
    """The agent has used what it may in this period."""

    status = 402
    code = "budget_spent"


class NotConfiguredError(GatewayError):
    """A key or an endpoint is missing; the text names the variable to set."""

    status = 503
    code = "model_not_configured"


class ModelRefusedError(GatewayError):
    """The provider does not accept the request: its key, the name of the model or the content."""

    status = 424
    code = "model_refused"


class ContextTooLongError(ModelRefusedError):
    """The conversation is longer than the model can read."""

    status = 400
    code = "context_length_exceeded"


class ModelBusyError(GatewayError):
    """The provider still limits the rate after the retries."""

    status = 429
    code = "rate_limit_exceeded"


class ModelFailedError(GatewayError):
    """The provider failed after the retries."""

    status = 502
    code = "model_failed"


class ModelTimeoutError(ModelFailedError):
    """The provider did not answer in time."""

    status = 504
    code = "model_timeout"


def wire(error: GatewayError) -> dict[str, Any]:
    """Return the OpenAI-style body of an error."""
    return {"error": {"message": str(error), "type": error.code, "code": error.code}}
