"""Components of a tokenizer: plain objects around the JSON that a tokenizer.json has for each.

A component contains only data, unless it is written in Python. The tokenizer passes the JSON of its components to
fastbpe's reader of tokenizer.json, which builds the steps. Each change of a component or tokenizer replaces the
object in `EPOCH`: then every tokenizer must compare its components with the ones from which it was built.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe._utils import late_json as json
from fastbpe._utils.arguments import is_text
from fastbpe.errors import FastbpeError, FormatError, PatternError
from fastbpe.formats.huggingface.decoder_json import MAX_DEPTH, VALUES_OF, is_value, short
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.huggingface.checked_arguments import number, of_type
from fastbpe.tokenizers.component_texts import REPR, STR, compact, show_component

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, NoReturn, TypeVar

    _Some = TypeVar("_Some", bound="Component")

#: List of one object, as in `transformers.watching`.
EPOCH = [object()]
#: Behavior as an argument → in JSON.
_BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}


def changed() -> None:
    """Replace the object in EPOCH. Call it after a change: whoever then sees the new object sees the change."""
    EPOCH[0] = object()


class Regex:
    """Regular expression in Oniguruma's syntax, for `Split` and `Replace`.

    Args:
        s: the expression.

    Raises:
        TypeError: it is not a str.
        PatternError: fastbpe cannot read it.
    """

    def __init__(self, s: str) -> None:
        from fastbpe.splitting.oniguruma import check_regex  # here: few programs use a regex

        check_regex(of_type(s, str))
        self.pattern: str = s


class Component:
    """Base of all components.

    kind: "type" in the JSON.
    defaults: value of each field that a file may leave out.
    fields: names of the fields and their types, in order.
    checked: name of a field that accepts only certain values in a file → kind of option; see `is_value`.
    """

    kind: ClassVar[str] = ""
    fields: ClassVar[Mapping[str, type]] = {}
    defaults: ClassVar[Mapping[str, Any]] = {}
    checked: ClassVar[Mapping[str, str]] = {}
    #: Object written in Python that does the work; None: the component is built in.
    written: Any = None
    written_name: ClassVar[str] = ""  # name of this class in tokenizers' error

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} is a base class: use one of its subclasses")

    def _set(self, **values: Any) -> None:
        """Check and store the values of all fields, in order."""
        self._state = {"type": self.kind} | {
            key: of_type(value, self.fields[key]) for key, value in values.items()
        }

    def state(self) -> dict[str, Any]:
        """Return the JSON of the component. Raises TypeError for one written in Python."""
        if self.written is not None:
            kept = "files and pickles can contain only built-in components, not those written in Python"
            raise TypeError(f"Custom {self.written_name} cannot be serialized; {kept}")
        return self._state

    def described(self) -> dict[str, Any]:
        """Return the JSON of the component, or, if it is written in Python, a dict with the object."""
        return self.state() if self.written is None else {"type": WRITTEN, "written": self.written}

    @classmethod
    def from_state(cls: type[_Some], described: Mapping[str, Any]) -> _Some:
        """Create the component that a tokenizer.json describes. Raises FormatError if it is invalid."""
        values = {**cls.defaults, **{key: described[key] for key in cls.fields if key in described}}
        missing = [key for key in cls.fields if key not in values]
        if missing:
            raise FormatError(f"{cls.kind}: {missing[0]!r} is missing")
        for key, option in cls.checked.items():
            if not is_value(option, values[key]):
                raise FormatError(f"{cls.kind}: {key!r} must be {VALUES_OF[option]}, not {values[key]!r:.60}")
            if option == "pattern" and "Regex" in values[key]:
                _check_regex(values[key]["Regex"], cls.kind)
        made = cls.__new__(cls)
        try:
            made._set(**{key: values[key] for key in cls.fields})
        except TypeError as error:
            raise FormatError(f"{cls.kind}: {error}") from None
        return made

    def __getstate__(self) -> bytes:
        return compact(self.state())

    def __setstate__(self, state: bytes) -> None:
        self.__dict__.update(type(self).from_state(json.loads(state)).__dict__)
        changed()

    def __reduce__(self) -> tuple[Any, ...]:
        return restore, (type(self), self.__getstate__())

    def __deepcopy__(self: _Some, memo: dict[int, Any]) -> _Some:
        return type(self).from_state(json.loads(self.__getstate__()))

    def __repr__(self) -> str:
        return show_component(self.state(), REPR)

    def __str__(self) -> str:
        return show_component(self.state(), STR)


def _check_regex(text: str, kind: str) -> None:
    try:
        Regex(text)
    except PatternError as error:
        raise FormatError(f"{kind}: {error}") from None


def restore(cls: type[Component], state: bytes) -> Component:
    return cls.from_state(json.loads(state))


def plain(base: type[_Some], kind: str, doc: str) -> type[_Some]:
    """Return a class of components without fields."""

    def __init__(self: Any) -> None:
        self._set()

    body = {"__doc__": doc, "__init__": __init__, "__module__": base.__module__, "kind": kind}
    return type(kind, (base,), body)


def field(name: str, doc: str, check: Callable[[Any], Any] | None = None) -> Any:
    """Return a property for a field of the JSON. check: function that checks and converts a new value."""

    def get(self: Component) -> Any:
        return self._state[name]

    def set(self: Component, value: Any) -> None:
        checked = of_type(value, self.fields[name]) if check is None else check(value)
        self._state = {**self._state, name: checked}
        changed()

    return property(get, set, None, doc)


class Steps:
    """Mixin for a component that applies several others in order. `key` is the key of their list in the JSON."""

    kind: ClassVar[str] = "Sequence"
    key: ClassVar[str] = ""
    base: ClassVar[type[Component]] = Component
    find: ClassVar[Callable[[Mapping[str, Any]], Any]]
    _depth: int  # levels of nested sequences, including this one

    def _take(self, steps: Any) -> None:
        self._steps = [of_type(step, self.base) for step in of_type(steps, list)]
        self._depth = 1 + max((step._depth for step in self._steps if isinstance(step, Steps)), default=0)

    def _flatten(self) -> None:
        """Replace each sequence among the steps by its own steps: one level, as in tokenizers."""
        self._take([one for step in self._steps for one in (step._steps if isinstance(step, Steps) else [step])])

    def state(self) -> dict[str, Any]:
        return {"type": "Sequence", self.key: [step.state() for step in self._steps]}

    def described(self) -> dict[str, Any]:
        """Return the JSON; components written in Python are included as objects."""
        return {"type": "Sequence", self.key: [step.described() for step in self._steps]}

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> Any:
        """Create the components that a tokenizer.json describes. Raises FormatError if it is invalid."""
        steps = described.get(cls.key)
        if not isinstance(steps, list):
            raise FormatError(f"Sequence: {cls.key!r} must be a list")
        made: Any = cls.__new__(cls)
        made._take([found_at(f".{cls.key}[{i}]", cls.find, step) for i, step in enumerate(steps)])
        if made._depth > MAX_DEPTH:
            raise FormatError(f"sequences are nested more than {MAX_DEPTH} levels deep")
        return made


class Indexed(Steps):
    """Sequence whose components can be read and replaced by index. The constructor flattens nested sequences."""

    def __init__(self, steps: list[Any]) -> None:
        self._take(steps)
        self._flatten()

    def __getitem__(self, index: int) -> Any:
        return self._steps[number(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        at = number(index)
        if isinstance(of_type(value, self.base), Steps):
            raise ValueError("a step of a Sequence must not be a Sequence")
        self._steps[at] = value
        changed()


def by_kind(*classes: Any) -> dict[str, Any]:
    """Map the "type" of each class to the class."""
    return {cls.kind: cls for cls in classes}


def finder(
    what: str, *classes: Any, typed: Callable[[Part], Mapping[str, Any]] | None = None
) -> Callable[[Any], Any]:
    """Return a function that creates the component described by a tokenizer.json.

    what: kind of component, for errors.
    typed: function that adds the type to a description; None: each must contain it.
    """
    kinds = by_kind(*classes)

    def find(described: Any) -> Any:
        kind = described.get("type") if isinstance(described, Mapping) else None
        if typed is not None and isinstance(described, Mapping) and not (isinstance(kind, str) and kind in kinds):
            described = typed(Part(dict(described), "tokenizer.json", what))
        if not isinstance(described, Mapping) or not isinstance(described.get("type"), str):
            raise FormatError(f"the {what} {described!r:.60} has no type")
        if described["type"] not in kinds:
            raise FormatError(f"the {what} {described['type']!r:.60} is unknown; fastbpe knows {', '.join(kinds)}")
        return kinds[described["type"]].from_state(described)

    return find


def found_at(place: str, find: Callable[[Any], Any], described: Any) -> Any:
    """Return the component that a part of a tokenizer.json describes. Raises FormatError with the place.

    place: name of the component in the file; for a step in a list, its place within the Sequence, after a dot.
    """
    try:
        return find(described)
    except RecursionError:
        text = f"sequences are nested more than {MAX_DEPTH} levels deep"
    except FormatError as error:
        text = str(error)
    if text.startswith("."):  # a place within this component
        within, _, text = text.partition(": ")
        place += within
    elif text.startswith((f"{place}:", f"{place}.")):  # for decoders and post-processors: the whole place
        raise FormatError(text)
    raise FormatError(f"{short(place)}: {text}")


def needs_tokenizers(what: str) -> NoReturn:
    """Raise ImportError for a feature that only the original library has."""
    raise ImportError(f"fastbpe lacks {what}; for this, use the original library, tokenizers 0.23")


#: "type" in the description of a component that is an object written in Python.
WRITTEN = "Written"


def call_written(written: Any, name: str, text: Any) -> None:
    """Call a method of an object written in Python with a text, which the method changes.

    Raises FastbpeError, with tokenizers' text, if it fails, or if the object lacks the method.
    """
    try:
        getattr(written, name)(text)
    except Exception as error:
        raise FastbpeError(f"{type(error).__name__}: {error}") from error


def pattern(value: Any) -> dict[str, str]:
    """Return the JSON of a pattern, a str or a `Regex`. Raises TypeError for other values."""
    if isinstance(value, Regex):
        return {"Regex": value.pattern}
    if is_text(value):
        return {"String": str.__str__(value)}
    raise TypeError(f"the pattern must be a str without lone surrogates, or a Regex, not {value!r:.60}")


def behavior(value: Any) -> str:
    """Return the name of a behavior in JSON. Raises TypeError or ValueError for other values."""
    value = of_type(value, str)
    if value not in _BEHAVIORS:
        known = ", ".join(_BEHAVIORS)
        raise ValueError(f"Wrong value for SplitDelimiterBehavior, expected one of: `{known}`")
    return _BEHAVIORS[value]


def pattern_field() -> Any:
    """Return the property `pattern`, which exists but raises an error, as in tokenizers."""

    def get(self: Component) -> NoReturn:
        raise AttributeError(f"Cannot get pattern; str() of the {type(self).__name__} shows it")

    def set(self: Component, value: Any) -> NoReturn:
        pattern(value)
        raise AttributeError(f"Cannot set pattern, please instantiate a new {type(self).__name__} instead")

    return property(get, set, None, "Cannot be read or set: create a new component.")


def flat(described: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the steps of a component's JSON as one list, with nested sequences flattened.

    A Sequence has one list, whose key depends on the kind of component.
    """
    inner = [value for value in described.values() if isinstance(value, list)]
    return [step for one in inner[0] for step in flat(one)] if described["type"] == "Sequence" else [described]


def is_theirs(value: Any) -> bool:
    """Tell whether an object is an instance of a class of the original library."""
    return any(one.__module__.partition(".")[0] == "tokenizers" for one in type(value).__mro__)
