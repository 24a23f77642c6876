"""IdMap: new ids and old ids of a vocabulary that changed, and the rows of its embedding matrix.

It stores one number for each new id (its old id, or -1) and, for each id without an old id, the old ids whose mean
is the initial value of its embedding row. Everything else follows from these two.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastbpe._core.merge.vocabulary import MAX_IDS
from fastbpe._utils.arguments import integer
from fastbpe._utils.optional_imports import require_numpy
from fastbpe.errors import FormatError
from fastbpe.formats import atomic_files, id_map_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NONE = -1  # instead of an id: there is no such id


class IdMap:
    """Map between the ids of a vocabulary before and after a change. It is immutable.

    Each id of one vocabulary maps to at most one id of the other. Ids without a token are included: an embedding
    matrix has a row for each id below `n_vocab`.

    Args:
        n_old: int – number of ids of the old vocabulary (`n_vocab`: greatest id + 1).
        new_to_old: sequence of int – the old id of each new id; -1: it is new.
        init_from: mapping or sequence – for new ids without an old id, the old ids whose mean is the initial value
            of the embedding row. An old id may be listed several times, which gives it a greater weight. A mapping
            may leave out new ids. A sequence has an entry for each new id; the entry of a kept id contains only
            its old id. None: no new id has such old ids.

    Raises:
        ValueError: an id or n_old is out of range, two new ids have the same old id, or init_from does not fit
            new_to_old.
        TypeError: a number is not an integer.

    >>> import fastbpe
    >>> id_map = fastbpe.IdMap(3, [0, 2, -1], {2: [0, 1]})
    >>> id_map.init_from
    ((0,), (2,), (0, 1))
    >>> id_map.old_to_new
    array([ 0, -1,  1])
    """

    __slots__ = ("_init", "_init_from", "_n_old", "_new_to_old")

    def __init__(
        self,
        n_old: int,
        new_to_old: Iterable[int],
        init_from: Mapping[int, Iterable[int]] | Sequence[Iterable[int]] | None = None,
    ) -> None:
        self._n_old = integer("n_old", n_old)
        if not 0 <= self._n_old <= MAX_IDS:
            raise ValueError(f"n_old={n_old}: not in 0..{MAX_IDS}")
        self._new_to_old = _checked(new_to_old, self._n_old)
        self._init = _starts(init_from, self._new_to_old, self._n_old)
        self._init_from: tuple[tuple[int, ...], ...] | None = None

    @property
    def n_old(self) -> int:
        """Number of ids of the old vocabulary.

        >>> IdMap(3, [0, 2]).n_old
        3
        """
        return self._n_old

    @property
    def n_new(self) -> int:
        """Number of ids of the new vocabulary.

        >>> IdMap(3, [0, 2]).n_new
        2
        """
        return len(self._new_to_old)

    @property
    def new_to_old(self) -> npt.NDArray[np.int64]:
        """Old id of each new id, -1 if it is new. A read-only array. Needs numpy.

        >>> IdMap(3, [0, 2, -1]).new_to_old
        array([ 0,  2, -1])
        """
        return _read_only(self._new_to_old, "IdMap.new_to_old")

    @property
    def old_to_new(self) -> npt.NDArray[np.int64]:
        """New id of each old id, -1 if it was removed. A read-only array. Needs numpy.

        >>> IdMap(3, [0, 2, -1]).old_to_new
        array([ 0, -1,  1])
        """
        return _read_only(self._turned(), "IdMap.old_to_new")

    @property
    def init_from(self) -> tuple[tuple[int, ...], ...]:
        """For each new id, old ids: its row in an embedding matrix starts as the mean of their rows.

        For a kept id: its old id. For a new token: the old tokenizer's ids for its bytes. (): no such ids;
        `resize` then uses the mean of all old rows.

        >>> IdMap(3, [0, 2, -1], {2: [0, 1]}).init_from
        ((0,), (2,), (0, 1))
        """
        if self._init_from is None:
            starts = self._init
            self._init_from = tuple(
                [(old,) if old != NONE else starts.get(new, ()) for new, old in enumerate(self._new_to_old)]
            )
        return self._init_from

    def resize(self, matrix: npt.NDArray[Any], *, padded: bool = False) -> npt.NDArray[Any]:
        """Compute the rows of the new ids from the rows of the old ids. Needs numpy.

        The row of a kept id is copied. The row of a new id is the mean of the rows of its `init_from`, computed in
        float64 and rounded to the type of the matrix; without `init_from`, it is the mean of all n_old rows.

        Args:
            matrix: array of shape (n_old, …), of any numeric type: embeddings, the output layer, a bias.
            padded: bool – allow rows after the first n_old. They are padding: no id uses them, so they are not
                part of any mean, and the result has no such rows.

        Returns:
            An array of shape (n_new, …) and the same type. The matrix does not change.

        Raises:
            ValueError: the matrix has the wrong number of rows, so it belongs to another vocabulary; or a new row
                needs the mean of all old rows, but the matrix is empty.
            TypeError: matrix is not an array of numbers.

        >>> import numpy
        >>> IdMap(2, [1, -1], {1: [0, 1]}).resize(numpy.array([[1.0, 0.0], [3.0, 8.0]]))
        array([[3., 8.],
               [2., 4.]])
        """
        numpy = require_numpy("IdMap.resize")
        matrix = numpy.asarray(matrix)
        self._check(matrix, padded)
        rows = matrix[: self._n_old]
        old = numpy.frombuffer(self._new_to_old, numpy.int64)
        is_kept = old != NONE
        resized: npt.NDArray[Any] = numpy.empty((self.n_new, *matrix.shape[1:]), matrix.dtype)
        resized[is_kept] = rows[old[is_kept]]
        wide = numpy.result_type(matrix.dtype, numpy.float64)  # complex128 for complex numbers
        rounded = numpy.rint if numpy.issubdtype(matrix.dtype, numpy.integer) else numpy.asarray
        mean_of_all = None
        for new in numpy.flatnonzero(~is_kept).tolist():
            ids = self._init.get(new)
            if ids is not None:
                resized[new] = rounded(rows[[*ids]].mean(axis=0, dtype=wide)).astype(matrix.dtype)
                continue
            if mean_of_all is None:
                if not self._n_old:
                    raise ValueError(f"new id {new} has nothing to start from: the old vocabulary has no ids")
                mean_of_all = rounded(rows.mean(axis=0, dtype=wide)).astype(matrix.dtype)
            resized[new] = mean_of_all
        return resized

    def _check(self, matrix: npt.NDArray[Any], padded: bool) -> None:
        """Raise an error unless the matrix has a row of numbers for each old id."""
        numpy = require_numpy("IdMap.resize")
        # Types of other packages, such as ml_dtypes' bfloat16, have the kind V but can be cast.
        is_number = matrix.dtype.kind in "iufc" or numpy.can_cast(matrix.dtype, numpy.float64)
        if not is_number or matrix.dtype.kind == "b":
            raise TypeError(f"matrix must contain numbers, not {matrix.dtype}")
        if not matrix.ndim:
            raise ValueError("matrix has no rows: it must have the shape (n_old, …)")
        n_rows = matrix.shape[0]
        if n_rows != self._n_old and not (padded and n_rows > self._n_old):
            way_out = "; if the rows after them are padding, pass padded=True" if n_rows > self._n_old else ""
            raise ValueError(
                f"matrix has {n_rows} rows, but the old vocabulary has {self._n_old} ids: "
                f"pass the matrix of the old vocabulary{way_out}"
            )

    def inverse(self) -> IdMap:
        """Return the inverse map, from the new vocabulary to the old.

        Old ids that were removed have no `init_from` in it.

        >>> IdMap(3, [0, 2, -1], {2: [0, 1]}).inverse()
        <fastbpe.IdMap from 3 ids to 3: 2 kept, 1 removed, 1 new>
        >>> IdMap(3, [0, 2, -1]).inverse().new_to_old
        array([ 0, -1,  1])
        """
        return IdMap(self.n_new, self._turned())

    def then(self, other: IdMap) -> IdMap:
        """Compose this map with the map of a later change.

        If the second change adds an id, the result replaces each id in its `init_from` by that id's `init_from`
        in this map; an id without `init_from` there is left out. So the row of the added id may differ from its
        row after two resizes: they take a mean of means, in which an id that is left out here counts with the
        mean of all rows.

        Args:
            other: IdMap – the second change; its old vocabulary is the new one of this map.

        Raises:
            ValueError: the new vocabulary of this map has another size than the old vocabulary of the other.
            TypeError: other is not an IdMap.

        >>> first, second = IdMap(2, [0, 1, -1], {2: [0, 1]}), IdMap(3, [2, 1, -1], {2: [2, 2]})
        >>> both = first.then(second)
        >>> both.new_to_old, both.init_from
        (array([-1,  1, -1]), ((0, 1), (1,), (0, 1, 0, 1)))
        """
        if not isinstance(other, IdMap):
            raise TypeError(f"other must be an IdMap, not {type(other).__name__}")
        if other.n_old != self.n_new:
            raise ValueError(
                f"the first map has {self.n_new} new ids, but the second has {other.n_old} old ids: the new "
                "vocabulary of the first must be the old one of the second"
            )
        new_to_old = [NONE if middle == NONE else self._new_to_old[middle] for middle in other._new_to_old]
        init = {}
        for new, middle in enumerate(other._new_to_old):
            if new_to_old[new] == NONE:
                middles = (middle,) if middle != NONE else other._init.get(new, ())
                init[new] = [old for each in middles for old in self.init_from[each]]
        return IdMap(self.n_old, new_to_old, init)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map into a file, which `IdMap.load` reads. The file is written atomically.

        Args:
            path: str or PathLike – the file to write; an older one is replaced.

        Raises:
            OSError: the file cannot be written.

        >>> import pathlib, tempfile
        >>> id_map = IdMap(3, [0, 2, -1], {2: [0, 1]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     id_map.save(pathlib.Path(folder, "model.ids"))
        ...     IdMap.load(pathlib.Path(folder, "model.ids")) == id_map
        True
        """
        starts = [self._init.get(new, ()) for new, old in enumerate(self._new_to_old) if old == NONE]
        counts = array("I", [len(ids) for ids in starts])
        ids = array("I", [old for ids in starts for old in ids])
        atomic_files.write(path, id_map_file.dump(id_map_file.Mapped(self._n_old, self._new_to_old, counts, ids)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> IdMap:
        """Read a file that `save` wrote.

        Args:
            path: str or PathLike – the file.

        Raises:
            FormatError: the file is not an id map, was altered or truncated, or has a newer version.
            OSError: the file cannot be read.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     IdMap(3, [0, 2]).save(pathlib.Path(folder, "model.ids"))
        ...     IdMap.load(pathlib.Path(folder, "model.ids"))
        <fastbpe.IdMap from 3 ids to 2: 2 kept, 1 removed, 0 new>
        """
        where = os.fspath(path)
        mapped = id_map_file.parse(atomic_files.map_file(path), where)
        init, at = {}, 0
        new_ids = [new for new, old in enumerate(mapped.new_to_old) if old == NONE]
        for new, count in zip(new_ids, mapped.init_counts, strict=True):
            init[new] = mapped.init_ids[at : at + count]
            at += count
        try:
            return cls(mapped.n_old, mapped.new_to_old, init)
        except ValueError as error:
            raise FormatError(f"{where}: {error}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdMap):
            return NotImplemented
        return (self._n_old, self._new_to_old, self._init) == (other._n_old, other._new_to_old, other._init)

    def __hash__(self) -> int:
        return hash((self._n_old, self._new_to_old.tobytes(), len(self._init)))

    def __reduce__(self) -> tuple[Callable[..., IdMap], tuple[Any, ...]]:
        return type(self), (self._n_old, self._new_to_old, self._init)

    def __repr__(self) -> str:
        n_new = self._new_to_old.count(NONE)
        n_kept = self.n_new - n_new
        return (
            f"<fastbpe.IdMap from {self._n_old} ids to {self.n_new}: {n_kept} kept, "
            f"{self._n_old - n_kept} removed, {n_new} new>"
        )

    def _turned(self) -> array[int]:
        """Return the new id of each old id, or NONE."""
        turned = array("q", [NONE]) * self._n_old
        for new, old in enumerate(self._new_to_old):
            if old != NONE:
                turned[old] = new
        return turned


def _read_only(ids: array[int], method: str) -> npt.NDArray[np.int64]:
    numpy = require_numpy(method)
    made: npt.NDArray[np.int64] = numpy.frombuffer(ids.tobytes(), numpy.int64)
    return made


def _checked(new_to_old: Iterable[int], n_old: int) -> array[int]:
    """Pack the old ids of the new ids.

    Raises:
        ValueError: an id is out of range or appears twice, or there are too many.
        TypeError: an id is not an integer.
    """
    try:
        packed = array("q", iter(new_to_old))  # iter: array() takes bytes for numbers in memory
    except OverflowError:
        raise ValueError(
            f"new_to_old contains a number that is not an old id: there are {n_old} old ids"
        ) from None
    if n_old == 0 and any(old != NONE for old in packed):
        raise ValueError("new_to_old has an old id, but n_old=0: each entry must be -1, for a new token")
    if len(packed) > MAX_IDS:
        raise ValueError(f"new_to_old has {len(packed)} ids: the limit is {MAX_IDS}")
    taken = bytearray(n_old)
    for new, old in enumerate(packed):
        if old == NONE:
            continue
        if not 0 <= old < n_old:
            raise ValueError(
                f"new_to_old has the old id {old} for the new id {new}: it must be 0 to {n_old - 1}, or -1 for a "
                "new token"
            )
        if taken[old]:
            raise ValueError(
                f"new_to_old gives the old id {old} to the new ids {packed.index(old)} and {new}: for the "
                "second, use init_from instead"
            )
        taken[old] = 1
    return packed


def _starts(
    init_from: Mapping[int, Iterable[int]] | Sequence[Iterable[int]] | None, new_to_old: array[int], n_old: int
) -> dict[int, tuple[int, ...]]:
    """Return the old ids from which the rows of added ids start; added ids without any are left out.

    Raises:
        ValueError: an id is out of range, a kept id starts from an id other than its old one, or a sequence has
            the wrong length.
        TypeError: an id is not an integer.
    """
    if init_from is None:
        return {}
    if not isinstance(init_from, Mapping) and len(init_from) != len(new_to_old):
        raise ValueError(
            f"init_from has {len(init_from)} entries for {len(new_to_old)} new ids: a sequence needs one for each "
            "new id; a mapping may leave out ids"
        )
    items = init_from.items() if isinstance(init_from, Mapping) else enumerate(init_from)
    starts = {}
    for key, value in items:
        new, ids = integer("a key of init_from", key), tuple([integer("an id of init_from", i) for i in value])
        if not 0 <= new < len(new_to_old):
            raise ValueError(f"init_from has the new id {new}: not in 0..{len(new_to_old) - 1}")
        for old in ids:
            if not 0 <= old < n_old:
                raise ValueError(f"init_from of the new id {new} has the old id {old}: not in 0..{n_old - 1}")
        if new_to_old[new] == NONE:
            if ids:
                starts[new] = ids
        elif ids != (new_to_old[new],):
            raise ValueError(
                f"init_from of the new id {new} is {ids}, but this id keeps the row of the "
                f"old id {new_to_old[new]}; pass {(new_to_old[new],)}, or a mapping without this id"
            )
    return dict(sorted(starts.items()))
