"""Keys and tokens of a stack, made on first use and kept with its state."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass(frozen=True)
class KeyFiles:
    """The pair that signs grants, the pair that signs the stop service's, and the tokens of persons and guard."""

    private: Path
    public: Path
    stop_private: Path
    stop_public: Path
    stop_token: Path
    guard_token: Path


def ensure_keys(folder: Path) -> KeyFiles:
    """Ed25519 pairs (PEM) and tokens in `folder`; the secret files are readable by their owner alone."""
    folder.mkdir(parents=True, exist_ok=True)
    return KeyFiles(
        *_pair(folder, "grant"), *_pair(folder, "stop"), _token(folder / "stop_token"), _token(folder / "guard_token")
    )


def _pair(folder: Path, name: str) -> tuple[Path, Path]:
    private, public = folder / f"{name}_private.pem", folder / f"{name}_public.pem"
    if private.exists() and public.exists():
        return private, public
    key = Ed25519PrivateKey.generate()
    private.touch(mode=0o600)
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def _token(file: Path) -> Path:
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(24))
    return file
