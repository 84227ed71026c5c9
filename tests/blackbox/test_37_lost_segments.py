"""A payload segment that is lost: its name is never used again, and no advice costs new documents."""
import shutil

import pytest

from running_node import clean_environment, run_program
from test_66_damage_deep import delivered, node  # noqa: F401 pylint: disable=unused-import

DONE, NO = 0, 1


def segments(one):
    return sorted((one.data / "payload").glob("*.seg"))


def test_the_name_of_a_lost_segment_is_never_used_again(node, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
    old = delivered(node)
    node.stop()
    lost = segments(node)[-1]
    shutil.move(lost, tmp_path / lost.name)
    node.start()
    fresh = delivered(node)
    assert not lost.exists() and segments(node)[-1].name > lost.name
    told = node.cli("doctor")
    assert told.returncode == NO
    for doc in old:
        assert doc in told.stdout
    for doc in fresh:
        assert doc not in told.stdout
    node.stop()
    shutil.move(tmp_path / lost.name, lost)  # what the doctor says: put it back
    node.start()
    healed = node.cli("doctor", "--deep")
    assert healed.returncode == DONE, healed.stdout


def test_every_damage_is_counted_and_named(node):  # noqa: F811 pylint: disable=redefined-outer-name
    docs = delivered(node, 5)
    node.stop()
    segment = segments(node)[-1]
    data = segment.read_bytes()
    segment.write_bytes(data.replace(b"as it came", b"As it came", 3))
    node.start()
    told = node.cli("doctor")
    assert told.returncode == NO
    assert [doc in told.stdout for doc in docs] == [True, True, True, False, False]
    assert "Never copy one over a segment that is there" in told.stdout


def test_a_killed_compact_leaves_nothing(node):  # noqa: F811 pylint: disable=redefined-outer-name
    delivered(node)
    node.stop()
    killed = run_program("compact", "--data", node.data, env=clean_environment(WAYBILL_FAULT="compact.written:kill:1"))
    assert killed.returncode < 0
    assert list(node.data.glob("waybill.db.compact*"))
    node.start()
    assert not list(node.data.glob("waybill.db.compact*"))


@pytest.mark.parametrize("point", ["restore.file:kill:1", "restore.noted:kill:1"])
def test_a_killed_restore_stops_a_start(node, make_node, tmp_path, point):  # noqa: F811 pylint: disable=redefined-outer-name
    delivered(node)
    assert node.cli("backup", tmp_path / "backup").returncode == DONE
    other = make_node()
    killed = run_program("restore", tmp_path / "backup", "--data", other.data, env=clean_environment(WAYBILL_FAULT=point))
    assert killed.returncode < 0
    code, said = other.refuse()
    assert code != DONE and "run `waybill restore` again" in said
