"""Settings of the bridge proxy's process."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from quartet_process import HttpSettings, load_settings


class Settings(HttpSettings):
    """Environment of `python -m quartet_bridge_proxy`, prefix QUARTET_."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", extra="ignore", env_ignore_empty=True)

    robot_file: Path
    """With the names that the servers use: the file that the servers have, too."""
    site_file: Path
    """With ros_writes: the file that the servers have, too."""
    rosbridge_url: Annotated[str, Field(pattern=r"^wss?://")] | None = None
    """Where the real rosbridge is; None: bridge.url of the robot file."""
    bridge_token: SecretStr | None = None
    """Bearer token that every client must present. This or the file is needed."""
    bridge_token_file: Path | None = None
    bridge_origins: list[Annotated[str, Field(pattern=r"^https?://")]] = []
    """Origins of web pages that may connect, as JSON; by default none may."""
    max_message_bytes: Annotated[int, Field(ge=1024)] = 4 * 1024 * 1024
    """Longest message of a client; rosbridge of deploy/ros2 takes 10 MB."""


def load_bridge_proxy_settings() -> Settings:
    """Return the settings of the environment. Raises SettingsError naming each wrong variable."""
    return load_settings(Settings, {"bridge_origins": '["https://page.example"]'})
