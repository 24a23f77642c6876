"""IdMap: arrays, resizing, inverse, composition, files, and bad input."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe import FormatError, IdMap

numpy = pytest.importorskip("numpy")


@st.composite
def id_maps(draw: st.DrawFn, n_old: int | None = None) -> IdMap:
    n_old = draw(st.integers(1, 8)) if n_old is None else n_old
    new_to_old = draw(st.lists(st.integers(0, n_old - 1), unique=True)) if n_old else []
    for _ in range(draw(st.integers(0, 4))):
        new_to_old.insert(draw(st.integers(0, len(new_to_old))), -1)
    ids = st.lists(st.integers(0, n_old - 1), max_size=3) if n_old else st.just([])
    return IdMap(n_old, new_to_old, {new: draw(ids) for new, old in enumerate(new_to_old) if old == -1})


def slow_resize(id_map: IdMap, matrix: list[float]) -> list[float]:
    """Resize a matrix of one column, by `init_from` alone."""
    starts = [ids or range(id_map.n_old) for ids in id_map.init_from]
    return [sum(matrix[i] for i in ids) / len(ids) for ids in starts]


@pytest.mark.daily
@given(id_maps())
def test_arrays_are_inverse_to_each_other(id_map: IdMap) -> None:
    new_to_old, old_to_new = id_map.new_to_old.tolist(), id_map.old_to_new.tolist()
    assert len(new_to_old) == id_map.n_new
    assert len(old_to_new) == id_map.n_old
    pairs = {(new, old) for new, old in enumerate(new_to_old) if old >= 0}
    assert pairs == {(new, old) for old, new in enumerate(old_to_new) if new >= 0}
    assert all(id_map.init_from[new] == (old,) for new, old in pairs)


def test_bytes_are_numbers() -> None:
    assert IdMap(9, bytes(range(8))).new_to_old.tolist() == [*range(8)]


@pytest.mark.daily
@given(id_maps())
def test_inverse_turns_the_map_round(id_map: IdMap) -> None:
    back = id_map.inverse()
    assert back.new_to_old.tolist() == id_map.old_to_new.tolist()
    assert back.old_to_new.tolist() == id_map.new_to_old.tolist()
    assert back.inverse().new_to_old.tolist() == id_map.new_to_old.tolist()


@pytest.mark.daily
@given(id_maps(), st.data())
def test_composition_keeps_the_rows_that_both_keep(first: IdMap, data: st.DataObject) -> None:
    second = data.draw(id_maps(n_old=first.n_new))
    both = first.then(second)
    assert (both.n_old, both.n_new) == (first.n_old, second.n_new)
    matrix = numpy.arange(first.n_old) * 1.0
    if second.n_new and first.n_new:
        twice = second.resize(first.resize(matrix))
        once = both.resize(matrix)
        kept = both.new_to_old >= 0
        assert once[kept].tolist() == twice[kept].tolist()
    for new, ids in enumerate(both.init_from):
        assert list(ids) == [old for middle in second.init_from[new] for old in first.init_from[middle]]


def test_composition_leaves_out_ids_without_a_start() -> None:
    first, second = IdMap(2, [0, -1, -1]), IdMap(3, [-1, -1], {0: [0, 1, 0], 1: [1, 2]})
    assert first.then(second).init_from == ((0, 0), ())


@pytest.mark.daily
@given(id_maps())
def test_resizing_equals_slow_twin(id_map: IdMap) -> None:
    matrix = [float(3**i % 17) for i in range(id_map.n_old)]
    assert id_map.resize(numpy.array(matrix)).tolist() == pytest.approx(slow_resize(id_map, matrix))


@pytest.mark.daily
@given(id_maps())
def test_map_survives_pickle_copy_and_file(id_map: IdMap) -> None:
    with tempfile.TemporaryDirectory() as folder:
        id_map.save(Path(folder, "x.ids"))
        loaded = IdMap.load(Path(folder, "x.ids"))
    for other in (pickle.loads(pickle.dumps(id_map)), copy.deepcopy(id_map), loaded):
        assert other == id_map
        assert hash(other) == hash(id_map)
        assert other.init_from == id_map.init_from


def test_maps_that_differ_are_unequal() -> None:
    maps = [IdMap(3, [0, 1, -1], {2: [0]}), IdMap(3, [0, 1, -1]), IdMap(4, [0, 1, -1]), IdMap(3, [0, 1])]
    assert len({*maps}) == 4
    assert maps[0] != "map"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "complex64"])
@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 2, 2), (3, 0)])
def test_resized_matrix_keeps_type_and_further_shape(dtype: str, shape: tuple[int, ...]) -> None:
    matrix = numpy.arange(numpy.prod(shape)).reshape(shape).astype(dtype)
    resized = IdMap(3, [2, -1, 0, -1], {1: [0, 1]}).resize(matrix)
    assert resized.dtype == matrix.dtype
    assert resized.shape == (4, *shape[1:])
    assert (resized[0] == matrix[2]).all()
    assert (resized[1] == ((matrix[0] + matrix[1]) / 2).astype(dtype)).all() or dtype in ("int8", "uint16")


def test_means_are_computed_in_float64() -> None:
    matrix = numpy.full((4096, 1), 40_000, "float16")
    assert IdMap(4096, [-1]).resize(matrix).tolist() == matrix[:1].tolist()


def test_integers_are_rounded_to_the_nearest() -> None:
    matrix = numpy.array([1, 2, 2], "int32")
    assert IdMap(3, [-1], {0: [0, 1, 2]}).resize(matrix).tolist() == [2]


def test_repeated_id_counts_several_times() -> None:
    matrix = numpy.array([0.0, 3.0])
    assert IdMap(2, [-1], {0: [0, 1, 1]}).resize(matrix).tolist() == [2.0]


def test_padding_is_left_out_of_rows_and_means() -> None:
    matrix = numpy.array([[1.0], [3.0], [100.0]])
    assert IdMap(2, [1, -1]).resize(matrix, padded=True).tolist() == [[3.0], [2.0]]


def test_resizing_leaves_the_matrix_as_it_is() -> None:
    matrix = numpy.array([1.0, 2.0])
    resized = IdMap(2, [0, 1]).resize(matrix)
    resized[:] = 7
    assert matrix.tolist() == [1.0, 2.0]


def test_arrays_are_read_only_int64() -> None:
    id_map = IdMap(2, [1, -1])
    for ids in (id_map.new_to_old, id_map.old_to_new):
        assert ids.dtype == numpy.int64
        with pytest.raises(ValueError, match="read-only"):
            ids[0] = 1


def test_map_has_no_attribute_to_set() -> None:
    id_map: Any = IdMap(2, [1, -1])
    for name in ("n_old", "new_to_old", "extra"):
        with pytest.raises(AttributeError):
            setattr(id_map, name, 1)


def test_numpy_integers_are_ids() -> None:
    ids = numpy.array([0, 1, -1])
    assert IdMap(numpy.int64(2), ids, {numpy.int64(2): ids[:2]}) == IdMap(2, [0, 1, -1], {2: [0, 1]})


def test_empty_vocabularies_have_maps() -> None:
    nothing = IdMap(0, [])
    assert nothing.inverse() == nothing
    assert nothing.then(nothing) == nothing
    assert nothing.resize(numpy.zeros((0, 4))).shape == (0, 4)
    assert nothing.new_to_old.tolist() == []


@pytest.mark.parametrize(
    ("n_old", "new_to_old", "init_from", "message"),
    [
        (-1, [], None, "n_old=-1"),
        (2, [2], None, "the old id 2 .*must be 0 to 1, or -1"),
        (2, [-2], None, "the old id -2"),
        (2, [2**70], None, "not an old id"),
        (0, [-1, 0], None, "n_old=0: each entry must be -1"),
        (2, [0, 1, 0], None, "the old id 0 to the new ids 0 and 2"),
        (2, [0], [[0], [1]], "2 entries for 1 new ids"),
        (2, [0], {1: [0]}, "the new id 1: not in"),
        (2, [-1], {0: [2]}, "the old id 2: not in"),
        (2, [0], {0: [1]}, "keeps the row of the old id .*pass "),
    ],
)
def test_contradiction_raises_value_error(n_old: int, new_to_old: Any, init_from: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IdMap(n_old, new_to_old, init_from)


@pytest.mark.parametrize(
    ("n_old", "new_to_old", "init_from"),
    [
        ("2", [], None),
        (2, ["a"], None),
        (2, [0.5], None),
        (2, [-1], {0: ["a"]}),
        (2, None, None),
        (True, [], None),
    ],
)
def test_value_of_wrong_type_raises_type_error(n_old: Any, new_to_old: Any, init_from: Any) -> None:
    with pytest.raises(TypeError):
        IdMap(n_old, new_to_old, init_from)


def test_matrix_of_another_vocabulary_raises_value_error() -> None:
    id_map = IdMap(3, [0, 1, 2])
    with pytest.raises(ValueError, match=r"matrix has 4 rows.* 3 ids.*padded=True"):
        id_map.resize(numpy.zeros((4, 2)))
    for padded in (False, True):
        with pytest.raises(ValueError, match=r"matrix has 2 rows.* 3 ids: pass the matrix of the old vocabulary$"):
            id_map.resize(numpy.zeros((2, 2)), padded=padded)
    with pytest.raises(ValueError, match="no rows"):
        id_map.resize(numpy.float64(1))


@pytest.mark.parametrize("dtype", ["bool", "U1", "object", "datetime64[s]"])
def test_matrix_without_numbers_raises_type_error(dtype: str) -> None:
    with pytest.raises(TypeError, match="must contain numbers"):
        IdMap(2, [0, 1]).resize(numpy.zeros(2, dtype))


def test_new_row_without_any_old_row_raises_value_error() -> None:
    with pytest.raises(ValueError, match="nothing to start from"):
        IdMap(0, [-1]).resize(numpy.zeros((0, 2)))


def test_maps_without_common_vocabulary_raise_value_error() -> None:
    with pytest.raises(ValueError, match="has 2 new ids, but the second has 3 old ids"):
        IdMap(2, [0, 1]).then(IdMap(3, [0]))
    with pytest.raises(TypeError, match="must be an IdMap"):
        IdMap(2, [0, 1]).then([0, 1])  # type: ignore[arg-type]


def test_damaged_file_raises_format_error(tmp_path: Path) -> None:
    path = tmp_path / "x.ids"
    IdMap(3, [0, 2, -1, -1], {2: [0, 1]}).save(path)
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        with pytest.raises(FormatError, match=r"x\.ids"):
            IdMap.load(path)
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(FormatError, match=r"x\.ids"):
            IdMap.load(path)


def test_file_of_a_false_map_raises_format_error(tmp_path: Path) -> None:
    from array import array

    from fastbpe.formats import atomic_files, id_map_file

    path = tmp_path / "x.ids"
    for new_to_old, counts, ids in [
        ([0, 0], [], []),
        ([5], [], []),
        ([-1], [2], [0]),
        ([-1], [], []),
        ([-1], [1], [9]),
    ]:
        mapped = id_map_file.Mapped(2, array("q", new_to_old), array("I", counts), array("I", ids))
        atomic_files.write(path, id_map_file.dump(mapped))
        with pytest.raises(FormatError, match=r"x\.ids"):
            IdMap.load(path)
