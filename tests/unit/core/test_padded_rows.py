"""Ids copied into padded rows, against slices of numpy."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("numpy")

import numpy as np

from fastbpe._core.ids.padded_rows import fill_mask, fill_rows


@pytest.mark.parametrize("seed", range(20))
def test_rows_and_masks_equal_slices(seed: int) -> None:
    rng = random.Random(seed)
    n, width = rng.randrange(1, 9), rng.randrange(0, 12)
    ids = np.arange(100, 150, dtype=np.uint32)
    counts = np.array([rng.randint(0, width) for _ in range(n)], dtype=np.int64)
    columns = np.array([rng.randint(0, width - int(k)) for k in counts], dtype=np.int64)
    starts = np.array([rng.randint(0, 50 - int(k)) for k in counts], dtype=np.int64)
    out, expected = np.full((n, width), 7, dtype=np.int64), np.full((n, width), 7, dtype=np.int64)
    mask, ones = np.zeros((n, width), dtype=np.int64), np.zeros((n, width), dtype=np.int64)
    for i in range(n):
        expected[i, columns[i] : columns[i] + counts[i]] = ids[starts[i] : starts[i] + counts[i]]
        ones[i, columns[i] : columns[i] + counts[i]] = 1
    fill_rows(ids, starts, counts, columns, out)
    fill_mask(counts, columns, mask)
    assert (out == expected).all()
    assert (mask == ones).all()


@pytest.mark.parametrize(
    ("starts", "counts", "columns"),
    [
        ([0], [5], [0]),
        ([0], [-1], [0]),
        ([-1], [1], [0]),
        ([3], [2], [0]),
        ([0], [2], [3]),
        ([0], [1], [-1]),
        ([0, 0], [1], [0]),
        ([0], [1, 1], [0]),
        ([0], [1], [0, 0]),
        ([1 << 62], [1], [0]),
        ([0], [1 << 62], [0]),
    ],
)
def test_rows_beyond_ids_or_matrix_raise_value_error(
    starts: list[int], counts: list[int], columns: list[int]
) -> None:
    arrays = [np.array(values, dtype=np.int64) for values in (starts, counts, columns)]
    out = np.zeros((1, 4), dtype=np.int64)
    with pytest.raises(ValueError, match="row"):
        fill_rows(np.arange(4, dtype=np.uint32), *arrays, out)
    assert not out.any()
