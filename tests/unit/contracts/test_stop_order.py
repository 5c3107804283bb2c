import pytest

from quartet_contracts import is_stop_order


@pytest.mark.parametrize(
    "sentence",
    [
        "stop",
        "STOP!!!",
        "Stop the robot now, please.",
        "halt",
        "freeze!",
        "emergency stop",
        "E-Stop",
        "stop summit",
        "Summit, stop moving!",
        "don't move",
        "Halt sofort an, bitte",
        "Arrêtez tout de suite",
        "¡Alto!",
        "detente",
        "fermati subito",
        "стой",
        "стоп!",
        "止まれ",
        "停止",
        "멈춰",
    ],
)
def test_an_order_to_stop(sentence):
    assert is_stop_order(sentence, ["summit"])


@pytest.mark.parametrize(
    "sentence",
    [
        "do not stop",
        "don't stop",
        "stop at the kitchen counter",
        "bring me the stop sign",
        "put the red coke can on the table and stop",
        "pick up the can that is all there is",
        "stop ben",
        "now",
        "",
    ],
)
def test_what_says_more_is_a_task(sentence):
    assert not is_stop_order(sentence, ["summit"])
