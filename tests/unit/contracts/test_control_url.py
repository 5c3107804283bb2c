"""Where the control endpoints of a server are."""

import pytest

from quartet_contracts import control_url


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
