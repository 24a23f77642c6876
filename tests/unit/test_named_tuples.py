"""NamedTuple of `_utils` against the one of typing."""

from __future__ import annotations

import inspect
import pickle
import typing

import pytest

from fastbpe._utils import named_tuples


class Ours(named_tuples.NamedTuple):
    """Point."""

    x: int
    tags: typing.Mapping[str, int] | None
    name: str = "p"

    @property
    def double(self) -> int:
        return 2 * self.x

    @classmethod
    def made(cls) -> Ours:
        return cls(1, None)

    def __str__(self) -> str:
        return f"point {self.x}"


class Theirs(typing.NamedTuple):
    """Point."""

    x: int
    tags: typing.Mapping[str, int] | None
    name: str = "p"


@pytest.mark.parametrize(
    "attribute", ["_fields", "_field_defaults", "__doc__", "__module__", "__match_args__", "__mro__"]
)
def test_class_has_what_that_of_typing_has(attribute: str) -> None:
    ours, theirs = getattr(Ours, attribute), getattr(Theirs, attribute)
    assert ours == (theirs if attribute != "__mro__" else (Ours, *theirs[1:]))


def test_types_and_signature_are_as_in_typing() -> None:
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert [*inspect.signature(Ours).parameters] == [*inspect.signature(Theirs).parameters]
    assert inspect.signature(Ours).parameters["name"].default == "p"


def test_objects_are_tuples_with_names() -> None:
    one = Ours(3, {"a": 1})
    assert one == (3, {"a": 1}, "p")
    assert one._replace(x=4)._asdict() == {"x": 4, "tags": {"a": 1}, "name": "p"}
    assert repr(one) == "Ours(x=3, tags={'a': 1}, name='p')"
    assert pickle.loads(pickle.dumps(one)) == one
    assert (one.double, str(one), Ours.made()) == (6, "point 3", (1, None, "p"))
    with pytest.raises(TypeError):
        Ours(1)  # type: ignore[call-arg]
