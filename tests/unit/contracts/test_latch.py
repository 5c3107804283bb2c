"""The latch file: kept across restarts, and closed when in doubt."""

import pytest

from quartet_contracts import Latch, LatchFile, control_url


def test_a_latch_is_kept_and_released(tmp_path):
    file = LatchFile(tmp_path / "deep" / "latch.json")
    assert file.read() == Latch()
    file.write(Latch(latched=True, reason="pressed", since=12.5))
    assert LatchFile(file.path).read() == Latch(latched=True, reason="pressed", since=12.5)
    file.write(Latch())
    assert file.read().latched is False


@pytest.mark.parametrize("content", ["", "{", '{"latched": "perhaps"}', "[]"])
def test_a_latch_that_cannot_be_read_is_closed(tmp_path, content):
    file = LatchFile(tmp_path / "latch.json")
    file.path.write_text(content)
    latch = file.read()
    assert latch.latched
    assert str(file.path) in latch.reason


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://host:1/mcp", "http://host:1/control/stop"),
        ("http://host:1/mcp/", "http://host:1/control/stop"),
        ("https://host/summit/mcp", "https://host/summit/control/stop"),
    ],
)
def test_control_endpoints_stand_beside_the_mcp_endpoint(url, expected):
    assert control_url(url, "stop") == expected
