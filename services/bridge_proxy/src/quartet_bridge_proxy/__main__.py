"""`python -m quartet_bridge_proxy`: serve until SIGTERM or SIGINT."""

import asyncio
import logging
import sys

from quartet_bridge_proxy.proxy import BridgeProxy, Limits
from quartet_bridge_proxy.settings import Settings, load_bridge_proxy_settings
from quartet_process import MIN_TOKEN_LENGTH, run_process, without_password, write_ready_file
from quartet_process.serving import listen
from quartet_robot_link.permits import BridgePermits
from quartet_site import SiteFileError, load_robot, load_site

log = logging.getLogger("quartet_bridge_proxy")


def main() -> int:
    """Return the exit status: 2 when settings or files are wrong or the port is taken."""
    return run_process("bridge_proxy", load_bridge_proxy_settings, _serve, (SiteFileError,))


async def _serve(settings: Settings, stop: asyncio.Event) -> None:
    robot, site = load_robot(settings.robot_file), load_site(settings.site_file)
    token = settings.needed_secret("bridge_token", "make one with: quartet secrets init", least=MIN_TOKEN_LENGTH)
    proxy = BridgeProxy(
        settings.rosbridge_url or robot.bridge.url,
        BridgePermits(robot, site.ros_writes),
        token,
        origins=settings.bridge_origins,
        limits=Limits(message_bytes=settings.max_message_bytes),
    )
    with listen(settings.host, settings.port) as listener:
        async with await proxy.serve(listener):
            host, port = listener.getsockname()[:2]
            url = f"ws://{f'[{host}]' if ':' in host else host}:{port}"
            log.info("bridge proxy at %s, in front of %s", url, without_password(proxy.upstream_url))
            write_ready_file(settings.ready_file, {"url": url})
            await stop.wait()


if __name__ == "__main__":
    sys.exit(main())
