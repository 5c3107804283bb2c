"""Errors of the gateway and what a caller sees of them.

GatewayError
├── ConfigurationProblem   the gateway cannot start with this file or environment
├── BadRequest             400: the request cannot be sent to any model
├── NotAllowed             401 / 403: the caller's key is missing, wrong or another agent's
├── BudgetSpent            402: the agent has used what it may
├── NotConfigured          503: a key or endpoint is missing; the message names the variable to set
├── ModelRefused           424: the provider does not accept the request (key, model name, content)
├── ModelBusy              429: the provider is still rate limiting after the retries
└── ModelFailed            502 / 504: the provider failed or hung after the retries
"""

from typing import Any, ClassVar


class GatewayError(Exception):
    """Base of everything this package raises; `status` and `code` are what goes over the wire."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "gateway_error"


class ConfigurationProblem(GatewayError):
    """File or environment cannot be used; the text names file, field and valid values."""

    code = "configuration_error"


class BadRequest(GatewayError):
    status = 400
    code = "invalid_request_error"


class NotAuthenticated(GatewayError):
    status = 401
    code = "authentication_error"


class NotAllowed(GatewayError):
    status = 403
    code = "permission_error"


class BudgetSpent(GatewayError):
    status = 402
    code = "budget_spent"


class NotConfigured(GatewayError):
    status = 503
    code = "model_not_configured"


class ModelRefused(GatewayError):
    status = 424
    code = "model_refused"


class ContextTooLong(ModelRefused):
    status = 400
    code = "context_length_exceeded"


class ModelBusy(GatewayError):
    status = 429
    code = "rate_limit_exceeded"


class ModelFailed(GatewayError):
    status = 502
    code = "model_failed"


class ModelTimeout(ModelFailed):
    status = 504
    code = "model_timeout"


def wire(error: GatewayError) -> dict[str, Any]:
    """The OpenAI-style body of an error."""
    return {"error": {"message": str(error), "type": error.code, "code": error.code}}
