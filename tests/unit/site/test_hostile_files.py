"""Files of strangers: whatever they hold, they are loaded or refused by name, in short time and without much memory."""

import os
import time
from pathlib import Path

import pytest

from quartet_site import SiteFileError, load_site

SITE = (Path(__file__).parents[3] / "deploy" / "sites" / "studio" / "site.yaml").read_text()
LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
MERGED = "m0: &m0 {a: 1}\n" + "".join(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}\n" for n in range(1, 9))
NOT_YAML = "is not YAML: "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{LAUGHS}{SITE}", "more than 50000 values"),
        (f"{LAUGHS}name: *a8\n", "more than 50000 values"),
        (f"{MERGED}{SITE}", "more than 50000 values"),
        (f"{SITE}\nzz: &z [*z]\n", "its aliases (*) nest deeper than 50 levels"),
        ("name: &z {a: *z}\n", "its aliases (*) nest deeper than 50 levels"),
        ("name: " + "[" * 100_000, "line 1: it is nested deeper than 50 levels"),
        ("name:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 900)), "it is nested deeper than 50 levels"),
        (f"{SITE}\nzz: '{'x' * 2_000_000}'", "is too long: at most 1000000 bytes are read"),
        ("".join(f"k{n}: 1\n" for n in range(24_000)), "\n  and more"),
        (f"name: {'x' * 900_000}\n", "name: 'xxxx"),
        ("name: 2001-99-99\n", NOT_YAML),
        ("name: !!timestamp x\n", NOT_YAML),
        ("name: !!bool x\n", NOT_YAML),
        ("name: !!int x\n", NOT_YAML),
        (f"name: {'9' * 90_000}\n", NOT_YAML),
        (f"name: 0x{'f' * 90_000}\n", "a number that is too long to be written"),
        (f"name: 1{':59' * 9_000}\n", "a number that is too long to be written"),
        (f"? [{'a, ' * 1000}]\n: 1\n", NOT_YAML),
        (f"name: !!python/{'x' * 9000} y\n", NOT_YAML),
    ],
)
def test_a_file_that_is_meant_to_hang_or_crash_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(text)
    began = time.process_time()
    with pytest.raises(SiteFileError) as refused:
        load_site(path)
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"site file {path} ")
    assert len(str(refused.value)) < 40_000
    assert time.process_time() - began < 5.0


def test_a_pipe_is_not_waited_for_and_a_device_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_pipe").symlink_to(tmp_path / "pipe")
    (tmp_path / "to_device").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path / "to_pipe", tmp_path / "to_device"):
        with pytest.raises(SiteFileError, match="it is no regular file"):
            load_site(path)
    (tmp_path / "to_itself").symlink_to(tmp_path / "to_itself")
    with pytest.raises(SiteFileError, match="cannot be read"):
        load_site(tmp_path / "to_itself")


def test_an_alias_may_be_used_as_it_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(SITE.replace("name: ", "name: &name ", 1) + "\ndescription: *name\n" * ("description:" not in SITE))
    assert load_site(path).name == "studio"
