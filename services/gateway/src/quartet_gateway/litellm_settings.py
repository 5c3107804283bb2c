"""The only importer of LiteLLM, which it keeps quiet and off the network."""

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
    """Return LiteLLM, imported at the first call (takes seconds and some 170 MB)."""
    os.environ.update(_QUIET)
    with warnings.catch_warnings():
        # LiteLLM's own types make pydantic warn at import.
        warnings.simplefilter("ignore")
        import litellm
        from litellm import Router  # noqa: F401  # pyright: ignore[reportPrivateImportUsage]  # made on first use
        from litellm.litellm_core_utils import core_helpers

    litellm.telemetry = False  # pyright: ignore[reportAttributeAccessIssue]  # such attributes too
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    litellm.turn_off_message_logging = True
    # One HTTP client for every provider, whose connections are closed with the process.
    litellm.disable_aiohttp_transport = True
    # Reasons of Anthropic's that LiteLLM does not know and would report as a usual end.
    core_helpers._FINISH_REASON_MAP.update({"model_context_window_exceeded": "length", "pause_turn": "stop"})  # noqa: SLF001 - LiteLLM has no other way
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return litellm
