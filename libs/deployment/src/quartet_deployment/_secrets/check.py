"""Checks that the files of a folder of secrets exist, fit together and are private."""

import stat
from collections.abc import Iterator
from pathlib import Path

from quartet_bus.access import acl_file, digest, digests_in
from quartet_deployment._secrets.files import blocks, lines, read
from quartet_deployment._secrets.folder import SecretsFolder, public_of
from quartet_deployment._secrets.layout import SECRETS, USERS_FILE, Item, Pair, Token, all_files
from quartet_process import MIN_TOKEN_LENGTH


def check_secrets(folder: SecretsFolder) -> list[str]:
    """Return what is wrong, each with its remedy; [] for a folder in order. Raises SecretsError."""
    missing = sorted({str(path) for path in all_files() if not (folder.root / path).is_file()})
    if missing:
        return [f"{path} is missing; make it with: quartet secrets init {folder.root}" for path in missing]
    found = [problem for items in SECRETS.values() for item in items for problem in _of(folder, item)]
    return [*found, *_users(folder), *_open_to_others(folder.root), *_strangers(folder.root)]


def _of(folder: SecretsFolder, item: Item) -> Iterator[str]:
    root = folder.root
    if isinstance(item, Token):
        presented = {line.split(" ")[0] for path in item.presents for line in lines(read(root / path))[:1]}
        for path in item.accepts:
            accepted = {line.split(" ")[0] for line in lines(read(root / path))}
            if not presented <= accepted:
                yield f"{path} does not accept what {item.presents[0]} presents; put that value into its first line"
            if any(len(value) < MIN_TOKEN_LENGTH for value in accepted):
                yield f"{path} holds a value of fewer than {MIN_TOKEN_LENGTH} characters; replace it"
    elif isinstance(item, Pair):
        public = public_of(read(root / item.private), root / item.private)
        for path in item.public:
            if public not in blocks(read(root / path)):
                yield f"{path} does not hold the public part of {item.private}; remove it and run: quartet secrets init"
    else:
        known = digests_in(read(root / USERS_FILE)).get(item.role, [])
        if digest(folder.text(*item.presents.parts)) not in known:
            yield f"{USERS_FILE} does not know the password in {item.presents}; run: quartet secrets init {root}"


def _users(folder: SecretsFolder) -> Iterator[str]:
    text = read(folder.root / USERS_FILE)
    if text != acl_file(digests_in(text)):
        yield f"{USERS_FILE} has other rights than this version needs; run quartet secrets init, then ACL LOAD in Redis"


def _open_to_others(root: Path) -> Iterator[str]:
    for path in sorted([root, *root.rglob("*")]):
        if path.stat().st_mode & stat.S_IRWXO:
            yield f"{path} is open to every user of this machine; run: chmod o-rwx {path}"


def _strangers(root: Path) -> Iterator[str]:
    """Yield secrets in folders of processes that must not have them; other files are ignored."""
    known = set(all_files())
    names = {path.name for path in known}
    for path in sorted(path.relative_to(root) for path in root.rglob("*") if path.name in names):
        if path not in known:
            yield f"{path} is a secret that this process must not have; remove it, and rotate it where it was used"
