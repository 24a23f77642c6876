"""Kinds of JSON values: the first and last values that each accepts and refuses."""

from __future__ import annotations

import os
from typing import Any

import pytest

from fastbpe import FormatError
from fastbpe._utils.json_objects import COUNT, NAME, RELATIVE_PATH, SHA256, TEXT, Kind, check_object

KINDS: list[tuple[Kind, list[Any], list[Any]]] = [
    (COUNT, [0, (1 << 62) - 1], [-1, 1 << 62, True, 1.0]),
    (TEXT, ["", "a/b"], ["\0", "\ud800", 1]),
    (RELATIVE_PATH, ["a/b", "a/" + "b" * 255], ["", "/a", "a//b", "../a", "a/.", "a/" + "b" * 256, "a\0", 1]),
    (NAME, ["a", "é"], ["a/b", ".."]),
    (SHA256, ["0f" * 32], ["0f" * 31, "0F" * 32, "0g" * 32, "0f" * 32 + "\n", 1]),
]


@pytest.mark.parametrize(("kind", "right", "wrong"), KINDS, ids=[kind.said for kind, *_ in KINDS])
def test_kind_accepts_right_values_and_refuses_wrong_ones(kind: Kind, right: list[Any], wrong: list[Any]) -> None:
    for value in right:
        check_object({"field": value}, {"field": kind}, "a.json", "write it again")
    for value in wrong:
        with pytest.raises(FormatError, match=r"^a\.json: 'field' is .*, not "):
            check_object({"field": value}, {"field": kind}, "a.json", "write it again")


def test_path_with_a_drive_is_relative_except_on_windows() -> None:
    assert RELATIVE_PATH.fits("c:x") is (os.name != "nt")
