"""`python -m quartet_gateway`: serve until SIGTERM or SIGINT."""

import asyncio
import gc
import logging
import os
import sys

from quartet_contracts import TASK_HEADER
from quartet_gateway.access import Access
from quartet_gateway.app import create_app
from quartet_gateway.config import OPTIONAL
from quartet_gateway.errors import ConfigurationError
from quartet_gateway.gateway import Gateway
from quartet_gateway.ledger import SpendingLedger
from quartet_gateway.load import find_file, load_file
from quartet_gateway.models import choose_models
from quartet_gateway.settings import ProviderKeys, Settings
from quartet_gateway.task_grants import TaskGrants
from quartet_process import load_settings, metrics_secret, require_credential, run_process, write_ready_file
from quartet_process.serving import HttpServer, bind
from quartet_process.signatures import PublicKeys

log = logging.getLogger("quartet_gateway")


def main() -> int:
    """Return the exit status: 2 when settings or file are wrong, or the port is taken."""
    return run_process("gateway", lambda: load_settings(Settings), _serve, (ConfigurationError,))


async def _serve(settings: Settings, stop: asyncio.Event) -> None:
    # Refused until it can answer: to a caller that waits for its health, silence is the end, and LiteLLM takes seconds.
    with bind(settings.host, settings.port) as listener:
        keys, token = settings.caller_keys(), metrics_secret(settings, settings.host)
        first = keys[0][0] if keys else None
        require_credential(settings.host, first, "gateway_key", what="the gateway", anonymous=settings.allow_anonymous)
        grant_key = settings.secret("grant_public_key")
        require_credential(
            settings.host, grant_key, "grant_public_key", what="the gateway", anonymous=settings.allow_anonymous
        )
        access, grants = Access(keys), TaskGrants(None if grant_key is None else PublicKeys(grant_key))
        # Last, since it imports LiteLLM: what is wrong with the settings is told at once.
        gateway = _make_gateway(settings)
        # LiteLLM stays: the collector would look through it in the midst of a request, for tenths of a second.
        gc.freeze()
        if access.open_to_loopback:
            log.warning("no gateway keys are set: only callers on this machine are served")
        if grant_key is None:
            log.warning(
                "no grant key is set: callers name the task that they spend for (%s), and nothing checks it",
                TASK_HEADER,
            )
        for agent, models in gateway.model_names().items():
            log.info("%s: %s", agent, " -> ".join(models))
        for model in gateway.blind_models():
            log.warning(
                "%s is sent no pictures, since LiteLLM does not know whether it reads them: set takes_images for it in "
                "the gateway's file, or QUARTET_MODEL_TAKES_IMAGES",
                model,
            )
        for agent, problem in gateway.problems().items():
            level = logging.INFO if agent in OPTIONAL else logging.ERROR
            log.log(level, "agent '%s' has no model: %s", agent, problem)
        async with HttpServer(create_app(gateway, access, grants, token), listener) as server:
            log.info("model gateway at %s", server.url)
            write_ready_file(settings.ready_file, {"url": server.url})
            await server.serve_until(stop)


def _make_gateway(settings: Settings) -> Gateway:
    """Read keys and file, and import LiteLLM. Raises SecretError and ConfigurationError."""
    provider_keys = ProviderKeys(os.environ, settings.secrets_dir)
    provider_keys.put_into(os.environ)
    file = load_file(find_file(settings.gateway_file)).with_patience(settings.patience)
    return Gateway(
        file,
        choose_models(file, settings),
        ledger=SpendingLedger(settings.state_dir),
        environment=dict(os.environ),
        renewed=lambda: choose_models(file, settings) if provider_keys.put_into(os.environ) else None,
    )


if __name__ == "__main__":
    sys.exit(main())
