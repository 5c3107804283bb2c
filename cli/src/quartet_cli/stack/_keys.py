"""The key pair that signs and checks grants."""

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass(frozen=True)
class KeyFiles:
    private: Path
    public: Path


def ensure_keys(folder: Path) -> KeyFiles:
    """The Ed25519 pair (PEM) in `folder`, made on first use; the private file is readable by its owner alone."""
    files = KeyFiles(folder / "grant_private.pem", folder / "grant_public.pem")
    if files.private.exists() and files.public.exists():
        return files
    folder.mkdir(parents=True, exist_ok=True)
    key = Ed25519PrivateKey.generate()
    files.private.touch(mode=0o600)
    files.private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    files.public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return files
