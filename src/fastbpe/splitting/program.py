"""Compiler from a parsed pattern to the program that `_core.split.regex_engine` runs.

A program is an array of 32-bit words: operations with their operands. Operation 0 is FAIL, so that a target of 0
means none; the program starts at 1. A choice contains the bytes that can begin each branch (`firsts`): the engine
never tries a branch that the next byte excludes, and a repetition does not backtrack if that cannot help.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from fastbpe.splitting.charset import CharSet
from fastbpe.splitting.firsts import (
    ANYTHING,
    END_BIT,
    ByteMask,
    First,
    first,
    first_of_round,
    width,
)
from fastbpe.splitting.nodes import (
    Alternation,
    Atomic,
    Backreference,
    Chars,
    Concat,
    Group,
    Look,
    Mode,
    Node,
    Repeat,
    always_matches,
    can_match_empty,
    children,
    referenced_groups,
)
from fastbpe.splitting.set_tables import SetTables
from fastbpe.splitting.simplify import simplified

#: Maximum length of the code: the record of a visited state has 16 bits for the operation.
MAX_WORDS = 1 << 16
#: Maximum number of choices of a program; each has a table of 1 KB.
MAX_CHOICES = 1 << 10
MAX_LIST_WORDS = 1 << 20  # of `Program.lists`: 4 MB
#: Deepest nesting of groups that need a register: the number of registers of the engine.
MAX_DEPTH = 128
#: Deepest nesting of rounds that may be empty at which the engine records visited states; each takes a bit.
MAX_OPEN = 8
MAX_LOOK_BEHIND_CHARS = 255  # a choice

NO_LIMIT = 0xFFFFFFFF
_N_SYMBOLS = END_BIT + 1


class Op(IntEnum):
    """Operations, with their numbers in the engine. Comments list the operands.

    Operand `open` is `n_open` of `match_state.was_visited`, by which the engine enters no state twice. It is 0, so
    that no state is recorded, between SAVE or NOT and the operation that ends it, such as CUT; in programs with
    CLOSE; and after more than MAX_OPEN SAVE_PLACEs without a CHECK. Else it is 1 plus the number of these
    SAVE_PLACEs: their registers are part of the state.
    """

    FAIL = 0
    MATCH = 1
    #: [byte]
    BYTE = 2
    #: [number of bytes, the bytes in words]
    TEXT = 3
    #: [set]
    SET = 4
    #: [set, fewest, how many more at most]: takes all it can and never gives back.
    RUN = 5
    #: [set, fewest, more, follow, open]: gives back one by one, to where the next byte is in `follow`.
    RUN_GREEDY = 6
    #: [set, fewest, more, follow, open]
    RUN_LAZY = 7
    #: [table, open]: the targets that the next byte allows, in order.
    CHOICE = 8
    #: [target]
    JUMP = 9
    #: [register]: saves the position, and the number of ways back.
    SAVE = 10
    #: [register]: drops the ways back since SAVE.
    CUT = 11
    #: [register]: CUT, and back to the position of SAVE.
    RETURN = 12
    #: [register, target]: SAVE; when all ways from here have failed, continues at the target from this position.
    NOT = 13
    #: [register]: CUT including the way to the target of NOT, and fails.
    NOT_END = 14
    #: [set, negative]: the next character is (not) in the set.
    AHEAD = 15
    #: [set, negative]: the same for the character before.
    BEHIND = 16
    #: [characters]: goes back by this number of characters, or fails.
    BACK = 17
    #: [register]: saves where a round begins that may be empty.
    SAVE_PLACE = 18
    #: [register, target]: continues at the target if the round was empty.
    CHECK = 19
    #: [set, n = 0 or 1]: RUN of n members or more.
    SPAN = 20
    #: [set]: RUN of at most one.
    OPTION = 21
    #: [register, group]: the group matched the text from the position of SAVE_PLACE to this one.
    CLOSE = 22
    #: [group]: the bytes that it matched last, or fails. A group is the first of two registers: start and end.
    SAME = 23


class UnsupportedError(Exception):
    """Error for a pattern that the engine cannot run."""


@dataclass(frozen=True)
class Program:
    """Arguments of an `Engine`, without the pattern's text."""

    code: array[int]
    #: For each CHOICE, 257 indices into `lists`: for every byte, and for the end of the text.
    tables: array[int]
    #: Targets, each list ended by a 0.
    lists: array[int]
    #: 257 flags for each operand `follow`; the first 257 belong to the whole pattern.
    follows: bytes
    set_bytes: bytes
    set_index: array[int]
    set_blocks: array[int]
    #: Number of groups that back-references name; the last registers are theirs.
    n_groups: int


def compile_program(node: Node) -> Program | None:
    r"""Compile a parsed pattern; return None if the engine cannot run it.

    It cannot run back-references to groups within atomic groups, look-arounds or rounds that may be empty;
    look-behind with an alternative of variable width or of more than 255 characters; and patterns that exceed a
    limit, such as 65,536 words, 1,024 choices, 256 different sets or 128 nested scopes.

    >>> from fastbpe.splitting.syntax import parse
    >>> compile_program(parse(r"(?>(a))\1")) is None
    True
    """
    kept = referenced_groups(node)
    compiler = _Compiler(kept)
    try:
        return compiler.program(simplified(node, kept))
    except UnsupportedError:
        return None


class _Label:
    """Target of a jump: `at` is its position in the code, set when the compiler gets there."""

    def __init__(self) -> None:
        self.at = 0


@dataclass(frozen=True)
class _Choice:
    """The branches of a CHOICE, best first, with the bytes that can begin each."""

    branches: Sequence[tuple[ByteMask, _Label]]


class _Compiler:
    def __init__(self, kept: frozenset[int]) -> None:
        #: The registers of groups that back-references name.
        self.groups = {index: MAX_DEPTH - 2 * (place + 1) for place, index in enumerate(sorted(kept))}
        self.code: list[int] = [Op.FAIL]
        self.jumps: list[tuple[int, _Label]] = []
        self.choices: list[_Choice] = []
        self.follows: dict[ByteMask, int] = {}
        self.sets = SetTables()
        self.depth = 0
        self.n_cuts = 0  # open scopes that end with a cut
        self.n_sure = 0  # of these, cuts after rounds that are never taken back

    def program(self, node: Node) -> Program:
        self._follow(first(node, ANYTHING))
        self.node(node, ANYTHING, sure=True)
        self._emit(Op.MATCH)
        for at, label in self.jumps:  # at: index of the target in the code
            # Replace a jump to the end by an end: this saves an operation for each piece. The word before a target
            # can also be register 9, the number of JUMP; but then nine scopes around the target end before MATCH.
            is_end = self.code[at - 1] == Op.JUMP and self.code[label.at] == Op.MATCH
            self.code[at - 1 if is_end else at] = Op.MATCH if is_end else label.at
        tables, lists = _tables(self.choices)
        follows = b"".join(bytes(mask >> symbol & 1 for symbol in range(_N_SYMBOLS)) for mask in self.follows)
        return Program(
            array("I", self.code), tables, lists, follows,
            self.sets.bytes, self.sets.index, self.sets.blocks, len(self.groups),
        )  # fmt: skip

    def node(self, node: Node, follow: First, sure: bool) -> None:
        """Emit a node.

        follow: what can come next after it.
        sure: whether the part after it always matches.
        """
        if isinstance(node, Chars):
            self._chars((node,))
        elif isinstance(node, Concat):
            self._concat(node.parts, follow, sure)
        elif isinstance(node, Alternation):
            self._alternation(node.branches, follow, sure)
        elif isinstance(node, Repeat) and isinstance(node.child, Chars):
            self._run(node, node.child.characters, follow, sure)
        elif isinstance(node, Repeat):
            self._repeat(node, follow, sure)
        elif isinstance(node, Atomic):
            register = self._enter(Op.SAVE)
            # Not `follow`: the child must not look for another match because of what comes after.
            self.node(node.child, ANYTHING, sure=True)
            self._leave(Op.CUT, register)
        elif isinstance(node, Look):
            self._look(node)
        elif isinstance(node, Group):
            self._group(node, follow, sure)
        elif isinstance(node, Backreference):
            self._emit(Op.SAME, self.groups[node.index])

    def _emit(self, *words: int) -> None:
        self.code += words
        if len(self.code) > MAX_WORDS:
            raise UnsupportedError("the program is too long")

    def _target(self, label: _Label) -> None:
        self.jumps.append((len(self.code), label))
        self._emit(0)

    def _place(self, label: _Label) -> None:
        label.at = len(self.code)

    def _enter(self, op: Op) -> int:
        """Open a scope that needs a register, and return the register; consecutive scopes share one."""
        if self.depth >= MAX_DEPTH - 2 * len(self.groups):
            raise UnsupportedError("nested too deep")
        self._emit(op, self.depth)
        self.depth += 1
        self.n_cuts += op != Op.SAVE_PLACE
        return self.depth - 1

    def _leave(self, op: Op, register: int) -> None:
        self._emit(op, register)
        self.depth = register
        self.n_cuts -= op not in (Op.CHECK, Op.CLOSE)

    def _open(self) -> int:
        # Without an open cut, all open registers are of SAVE_PLACE, so `depth` is their number. With groups, the
        # rest of a match also depends on their texts, which are not part of a recorded state.
        return 0 if self.n_cuts or self.groups or self.depth > MAX_OPEN else 1 + self.depth

    def _set(self, characters: CharSet) -> int:
        if not self.sets.has_room():
            raise UnsupportedError("too many sets")
        return self.sets.number(characters)

    def _follow(self, follow: First) -> int:
        if len(self.follows) > MAX_CHOICES:  # the first is not a choice's but the whole pattern's
            raise UnsupportedError("too many choices")
        return self.follows.setdefault(follow.mask, len(self.follows))

    def _choice(self, *branches: tuple[ByteMask, _Label]) -> None:
        if len(self.choices) == MAX_CHOICES:
            raise UnsupportedError("too many choices")
        self._emit(Op.CHOICE, len(self.choices), self._open())
        self.choices.append(_Choice(branches))

    def _chars(self, chars: Sequence[Chars]) -> None:
        """Emit a sequence of characters; a set of one character is emitted as bytes."""
        text = b""
        for each in chars:
            only = _only_character(each)
            if only is not None:
                text += only.encode()
                continue
            self._text(text)
            text = b""
            self._emit(Op.SET, self._set(each.characters))
        self._text(text)

    def _text(self, text: bytes) -> None:
        if len(text) == 1:
            self._emit(Op.BYTE, text[0])
        elif text:
            self._emit(Op.TEXT, len(text), *array("I", text + bytes(-len(text) % 4)))

    def _concat(self, parts: Sequence[Node], follow: First, sure: bool) -> None:
        after: list[tuple[First, bool]] = []
        for part in reversed(parts):
            after.append((follow, sure))
            follow, sure = first(part, follow), sure and always_matches(part)
        chars: list[Chars] = []
        for part, (follow, sure) in zip(parts, reversed(after), strict=True):
            if isinstance(part, Chars):
                chars.append(part)
                continue
            self._chars(chars)
            chars = []
            self.node(part, follow, sure)
        self._chars(chars)

    def _alternation(self, branches: Sequence[Node], follow: First, sure: bool) -> None:
        labels = [_Label() for _ in branches]
        end = _Label()
        masks = [first(branch, follow).mask for branch in branches]
        self._choice(*zip(masks, labels, strict=True))
        for branch, label in zip(branches, labels, strict=True):
            self._place(label)
            self.node(branch, follow, sure)
            if label is not labels[-1]:
                self._emit(Op.JUMP)
                self._target(end)
        self._place(end)

    def _run(self, node: Repeat, characters: CharSet, follow: First, sure: bool) -> None:
        more = NO_LIMIT if node.maximum is None else node.maximum - node.minimum
        mode = node.mode
        if mode is Mode.LAZY and sure:
            more = 0  # the rest matches right after the fewest
        if mode is Mode.GREEDY and (sure or not characters & follow.characters):
            # The run never gives back: what follows always matches, or begins with no character of the run.
            mode = Mode.POSSESSIVE
        operands = self._set(characters), node.minimum, more
        if mode is Mode.POSSESSIVE and more == NO_LIMIT and node.minimum <= 1:
            self._emit(Op.SPAN, *operands[:2])
        elif mode is Mode.POSSESSIVE and (node.minimum, more) == (0, 1):
            self._emit(Op.OPTION, operands[0])
        elif mode is Mode.POSSESSIVE or more == 0:
            self._emit(Op.RUN, *operands)
        else:
            op = Op.RUN_GREEDY if mode is Mode.GREEDY else Op.RUN_LAZY
            self._emit(op, *operands, self._follow(follow), self._open())

    def _repeat(self, node: Repeat, follow: First, sure: bool) -> None:
        """Emit a repeated group, written out for each round; rounds without a limit are a loop."""
        again = first_of_round(node, follow)
        between = again | follow
        exit_ = _Label()
        # Without a maximum, the first round of the loop is the last of the required ones.
        n_before = node.minimum - (node.maximum is None and node.minimum > 0)
        for number in range(n_before):
            is_last = number == n_before - 1 and node.maximum is not None
            self.node(node.child, between, sure and is_last)
        if node.maximum is None:
            self._loop(node, again, follow, sure, exit_)
        for _ in range((node.maximum or node.minimum) - node.minimum):  # none after a loop
            self._choose_round(node, again, follow, exit_)
            self._round(node, between, sure, exit_)
        self._place(exit_)

    def _loop(self, node: Repeat, again: First, follow: First, sure: bool, exit_: _Label) -> None:
        start = _Label()
        # If the rest always matches, no finished round is ever taken back: drop its ways back, so that
        # (?:ab|cd)+ on 10 MB takes no memory.
        register = self._enter(Op.SAVE) if sure else -1
        self.n_sure += sure
        self._place(start)
        if node.minimum == 0:
            self._choose_round(node, again, follow, exit_)
        self._round(node, again | follow, sure, exit_)
        if sure:
            self._leave(Op.CUT, register)
            self.n_sure -= 1
        if node.minimum == 0:
            self._emit(Op.JUMP)
            self._target(start)
        else:
            self._choose_round(node, again, follow, exit_, start)

    def _choose_round(
        self, node: Repeat, again: First, follow: First, exit_: _Label, start: _Label | None = None
    ) -> None:
        """Emit the choice between one more round, at `start` or right after, and the exit."""
        begin = start or _Label()
        branches = [(again.mask, begin), (follow.mask, exit_)]
        self._choice(*(reversed(branches) if node.mode is Mode.LAZY else branches))
        if start is None:
            self._place(begin)

    def _round(self, node: Repeat, follow: First, sure: bool, exit_: _Label) -> None:
        """Emit an optional round, or the round of a loop; an empty one is the last, so that the loop ends."""
        may_be_empty = can_match_empty(node.child)
        if may_be_empty and _has_group(node.child):
            raise UnsupportedError("a back-reference to a group inside a repetition that may be empty")
        register = self._enter(Op.SAVE_PLACE) if may_be_empty else -1
        self.node(node.child, follow, sure)
        if may_be_empty:
            self._leave(Op.CHECK, register)
            self._target(exit_)

    def _group(self, node: Group, follow: First, sure: bool) -> None:
        if self.n_cuts > self.n_sure:
            # A cut drops the frame that undoes CLOSE.
            raise UnsupportedError("a back-reference to a group inside an atomic group or a look-around")
        register = self._enter(Op.SAVE_PLACE)
        self.node(node.child, follow, sure)
        self._leave(Op.CLOSE, register)
        self._emit(self.groups[node.index])

    def _look(self, node: Look) -> None:
        if isinstance(node.child, Chars):
            op = Op.BEHIND if node.behind else Op.AHEAD
            self._emit(op, self._set(node.child.characters), int(node.negative))
            return
        after = _Label()
        register = self._enter(Op.NOT if node.negative else Op.SAVE)
        if node.negative:
            self._target(after)
        if node.behind:
            self._behind(node.child)
        else:
            self.node(node.child, ANYTHING, sure=True)
        self._leave(Op.NOT_END if node.negative else Op.RETURN, register)
        self._place(after)

    def _behind(self, child: Node) -> None:
        """Emit a look-behind: go back by the child's width, then match it. Alternatives may differ in width."""
        branches = child.branches if isinstance(child, Alternation) else (child,)
        labels, end = [_Label() for _ in branches], _Label()
        self._choice(*((ANYTHING.mask, label) for label in labels))  # the next byte tells nothing of those before
        for branch, label in zip(branches, labels, strict=True):
            n_chars = width(branch)
            if n_chars is None or n_chars > MAX_LOOK_BEHIND_CHARS:
                raise UnsupportedError("look-behind without a fixed width")
            self._place(label)
            self._emit(Op.BACK, n_chars)
            self.node(branch, ANYTHING, sure=True)
            self._emit(Op.JUMP)
            self._target(end)
        self._place(end)


def _has_group(node: Node) -> bool:
    """Tell whether a simplified node has a group that a back-reference refers to."""
    return isinstance(node, Group) or any(map(_has_group, children(node)))


def _only_character(node: Chars) -> str | None:
    """Return the character of a set of one; None for other sets."""
    return next(iter(node.characters)) if len(node.characters) == 1 else None


def _tables(choices: Sequence[_Choice]) -> tuple[array[int], array[int]]:
    """Return the tables that list, for each choice and next byte, the branches that can match."""
    tables, lists = array("I"), array("I", [0])
    places: dict[tuple[int, ...], int] = {(): 0}  # list of targets → its index in `lists`
    for choice in choices:
        targets: list[list[int]] = [[] for _ in range(_N_SYMBOLS)]
        for mask, label in choice.branches:
            while mask:
                lowest = mask & -mask
                targets[lowest.bit_length() - 1].append(label.at)
                mask ^= lowest
        for each in map(tuple, targets):
            if each not in places:
                places[each] = len(lists)
                lists.extend((*each, 0))
                if len(lists) > MAX_LIST_WORDS:
                    raise UnsupportedError("too many branches begin with the same byte")
            tables.append(places[each])
    return tables, lists
