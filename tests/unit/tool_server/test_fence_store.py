"""The fence on disk."""

import pytest

from quartet_safety.motion import FenceError, FenceStore


def test_goes_up_only_and_outlives_its_process(tmp_path):
    path = tmp_path / "state" / "fence.json"
    store = FenceStore(path, "summit")
    assert store.highest == 0
    assert not path.exists()
    assert store.install(4)
    assert FenceStore(path, "summit").highest == 4
    assert not store.install(4)
    assert not store.install(3)
    assert FenceStore(path, "summit").highest == 4
    assert [file.name for file in path.parent.iterdir()] == ["fence.json"]


def test_a_process_that_is_not_the_first_knows_it(tmp_path):
    first = FenceStore(tmp_path / "fence.json", "summit")
    first.begin()
    second = FenceStore(tmp_path / "fence.json", "summit")
    second.begin()
    assert (first.restarted, second.restarted, second.highest) == (False, True, 0)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"robot": "summit"}', '{"robot": "summit", "fence": -1}', '{"robot": "summit", "fence": "7"}'],
)
def test_an_unreadable_file_is_an_error_with_a_remedy(tmp_path, text):
    path = tmp_path / "fence.json"
    path.write_text(text)
    with pytest.raises(FenceError, match=r"fence\.json.*delete it"):
        FenceStore(path, "summit")


def test_the_file_of_another_robot_is_not_used(tmp_path):
    FenceStore(tmp_path / "fence.json", "summit").install(2)
    with pytest.raises(FenceError, match=r"'summit'.*'tiago'.*QUARTET_STATE_DIR"):
        FenceStore(tmp_path / "fence.json", "tiago")


def test_a_fence_that_cannot_be_written_is_not_in_force(tmp_path):
    blocked = FenceStore(tmp_path / "folder" / "fence.json", "summit")
    (tmp_path / "folder").write_text("in the way")
    with pytest.raises(FenceError, match="cannot be written"):
        blocked.install(5)
    assert blocked.highest == 0
