"""The one place that imports LiteLLM, set up so that it stays quiet and off the network."""

import logging
import os
import warnings
from types import ModuleType

_QUIET = {
    # Without it the import fetches the price list from GitHub.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LITELLM_MODE": "PRODUCTION",
}
"""LITELLM_MODE other than DEV keeps LiteLLM from loading a .env file of its own choice."""


def load() -> ModuleType:
    """LiteLLM, imported once (seconds and some 170 MB)."""
    os.environ.update(_QUIET)
    with warnings.catch_warnings():
        # LiteLLM's own types make pydantic warn at import.
        warnings.simplefilter("ignore")
        import litellm
        from litellm import Router  # noqa: F401  # pyright: ignore[reportPrivateImportUsage]  # made on first use

    litellm.telemetry = False  # pyright: ignore[reportAttributeAccessIssue]  # such attributes too
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    litellm.turn_off_message_logging = True
    # One HTTP client for every provider, whose connections are closed with the process.
    litellm.disable_aiohttp_transport = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return litellm
