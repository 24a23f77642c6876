r"""Automaton that accepts every piece that a split pattern can make, to prove that a text is not in any piece.

The automaton may accept texts that are not pieces, but never rejects a piece. It is exact for characters,
sequences, alternations and repetitions with counts up to 32. Look-arounds, possessive repetitions and atomic
groups only make a pattern match less, so it ignores them; a back-reference is read as any text. The first branch
that matches wins: if an exact branch (`_Branch.is_exact`) matches the beginning of a text, no later branch matches
there. Text between two matches may be a piece, too (see `make_splitter`), but no such piece begins where an exact
branch matches.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from fastbpe.patterns import Pattern
from fastbpe.splitting.charset import ANY, CharSet
from fastbpe.splitting.firsts import First, first
from fastbpe.splitting.nodes import Alternation, Atomic, Backreference, Chars, Concat, Look, Mode, Node, Repeat
from fastbpe.splitting.simplify import simplified
from fastbpe.splitting.syntax import parse

# States of the automaton of a pattern: a choice. Named patterns need at most 57; an automaton with more than this
# accepts any text.
MAX_STATES = 4096
_MAX_COPIES = 32  # repetitions that are told apart, a choice: x{100} is read as x{32,}

#: For each pattern, the states in which its automaton may be.
States = tuple[frozenset[int], ...]


@dataclass
class _Branch:
    """Automaton of one branch of a pattern. State 0 is the start, state 1 the end of a match.

    empty: state → states that are reached without a character.
    moves: state → (set of characters, next state).
    is_exact: the branch matches the beginning of a text if and only if the automaton accepts this beginning.
    """

    empty: list[list[int]] = field(default_factory=lambda: [[], []])
    moves: list[list[tuple[CharSet, int]]] = field(default_factory=lambda: [[], []])
    is_exact: bool = True

    def reached(self, states: Iterable[int]) -> frozenset[int]:
        """Return some states, and all that are reached from them without a character."""
        found = set(states)
        todo = [*found]
        while todo:
            for state in self.empty[todo.pop()]:
                if state not in found:
                    found.add(state)
                    todo.append(state)
        return frozenset(found)

    def new_state(self) -> int:
        self.empty.append([])
        self.moves.append([])
        return len(self.empty) - 1

    def add(self, node: Node, start: int, end: int, following: CharSet | None = None) -> None:
        """Insert the automaton of a node between two states.

        following: characters with which the rest of the branch after the node can begin; None: not known.
        """
        if isinstance(node, Chars):
            self.moves[start].append((node.characters, end))
        elif isinstance(node, Concat):
            for number, part in enumerate(node.parts):
                rest = node.parts[number + 1 :]
                after = self.new_state() if rest else end
                # Characters with which the parts after this one, and then `following`, can begin.
                next_ones = None if following is None else first(Concat(rest), First(following, True)).characters
                self.add(part, start, after, next_ones)
                start = after
            if not node.parts:
                self.empty[start].append(end)
        elif isinstance(node, Alternation):
            for branch in node.branches:
                self.add(branch, start, end, following)
        elif isinstance(node, Repeat):
            self._repeat(node, start, end, following)
        elif isinstance(node, Look):
            self.is_exact = False
            self.empty[start].append(end)
        elif isinstance(node, Backreference):
            self.is_exact = False
            self.empty[start].append(end)
            self.moves[end].append((ANY, end))
        elif isinstance(node, Atomic):
            self.is_exact = False
            self.add(node.child, start, end)

    def _repeat(self, node: Repeat, start: int, end: int, following: CharSet | None) -> None:
        minimum, maximum = node.minimum, node.maximum
        if node.mode is Mode.POSSESSIVE:
            # Giving back a character helps only if what follows can begin with it.
            child = node.child
            if following is None or not isinstance(child, Chars) or child.characters & following:
                self.is_exact = False
        if minimum > _MAX_COPIES or (maximum or 0) > _MAX_COPIES:
            self.is_exact = False
            minimum, maximum = min(minimum, _MAX_COPIES), None
        # The required rounds, then a loop without a maximum, else a way to the end before each optional round.
        for _ in range(minimum):
            after = self.new_state()
            self.add(node.child, start, after)
            start = after
        if maximum is None:
            loop = self.new_state()
            self.empty[start].append(loop)
            self.add(node.child, loop, loop)
            start = loop
        else:
            for _ in range(maximum - minimum):
                after = self.new_state()
                self.empty[start].append(end)
                self.add(node.child, start, after)
                start = after
        self.empty[start].append(end)


class _Automaton:
    """Deterministic automaton of the pieces of one pattern. State 0 is the start of a piece.

    nexts: by state and class of characters: the next state; -1: no piece continues with such a character.
    accepted: states in which a piece may end.
    useful: states from which a piece can still end.
    """

    def __init__(self, pattern: str) -> None:
        node = simplified(parse(pattern))
        branches = [_branch(part) for part in (node.branches if isinstance(node, Alternation) else (node,))]
        branches.append(_gap(branches))
        self.branches = branches
        self._cut({characters for branch in branches for moves in branch.moves for characters, _ in moves})
        self._find_states()

    def _cut(self, sets: Iterable[CharSet]) -> None:
        """Divide the code points into runs of characters that are in the same sets; number these classes."""
        listed = [*sets]
        bounds = sorted({0} | {edge for each in listed for low, high in each.ranges for edge in (low, high + 1)})
        numbers: dict[tuple[bool, ...], int] = {}
        self._runs = bounds
        self._class_of_run = [
            numbers.setdefault(tuple(low in each for each in listed), len(numbers)) for low in bounds
        ]
        # Keys of `numbers` tell for each set in `listed` whether the class is in it.
        members = {
            each: {number for is_in, number in numbers.items() if is_in[i]} for i, each in enumerate(listed)
        }
        self.n_classes = len(numbers)
        self._moves = [
            [[(members[characters], end) for characters, end in moves] for moves in branch.moves]
            for branch in self.branches
        ]

    def classes(self, low: int, high: int) -> set[int]:
        """Return the classes of the characters from low to high."""
        first, last = bisect_right(self._runs, low) - 1, bisect_right(self._runs, high)
        return set(self._class_of_run[first:last])

    def _step(self, sets: tuple[frozenset[int], ...], class_: int) -> tuple[frozenset[int], ...]:
        """Return the sets of states, one for each branch, after a character of a class."""
        out: list[frozenset[int]] = []
        is_won = False  # an earlier branch has matched here
        for number, states in enumerate(sets):
            moved = {end for state in states for members, end in self._moves[number][state] if class_ in members}
            out.append(self.branches[number].reached(moved) if moved and not is_won else frozenset())
            is_won = is_won or (self.branches[number].is_exact and 1 in out[-1])
        # After an exact branch has matched, the sets of later branches are empty, and stay empty.
        return tuple(out)

    def _find_states(self) -> None:
        """Find the states by subset construction: each is a tuple of one set for each branch, as in `_step`."""
        start = tuple(branch.reached([0]) for branch in self.branches)
        numbers = {start: 0}
        listed = [start]
        nexts: list[list[int]] = []
        while len(nexts) < len(listed) <= MAX_STATES:
            row = []
            for class_ in range(self.n_classes):
                state = self._step(listed[len(nexts)], class_)
                if not any(state):
                    row.append(-1)
                    continue
                if state not in numbers:
                    numbers[state] = len(listed)
                    listed.append(state)
                row.append(numbers[state])
            nexts.append(row)
        if len(listed) > MAX_STATES:  # too large: any text
            nexts, listed = [[0] * self.n_classes], [tuple(frozenset((1,)) for _ in self.branches)]
        accepted = {number for number, state in enumerate(listed) if any(1 in states for states in state)}
        self.accepted = frozenset(accepted)
        useful = set(accepted)
        while True:  # find the states from which a piece can end, last ones first
            found = {
                number for number, row in enumerate(nexts) if number not in useful and not useful.isdisjoint(row)
            }
            if not found:
                break
            useful |= found
        self.nexts = [[to if to in useful else -1 for to in row] for row in nexts]
        self.useful = frozenset(useful)


def _branch(node: Node) -> _Branch:
    branch = _Branch()
    branch.add(node, 0, 1, CharSet(()))  # an empty set: nothing follows a branch
    return branch


def _gap(branches: Iterable[_Branch]) -> _Branch:
    """Create the automaton of text between matches: it has no character that alone matches an exact branch."""
    singles = [characters for branch in branches if branch.is_exact for characters in _single_characters(branch)]
    left = ~CharSet.from_ranges(ends for characters in singles for ends in characters.ranges)
    gap = _Branch()
    gap.moves[0].append((left, 1))
    gap.moves[1].append((left, 1))
    return gap


def _single_characters(branch: _Branch) -> Iterator[CharSet]:
    """Yield the sets of characters that are each a whole match of the branch."""
    for state in branch.reached([0]):
        for characters, end in branch.moves[state]:
            if 1 in branch.reached([end]):
                yield characters


class PieceLanguage:
    """Automaton that reads a text and tells whether it can be a piece or a part of one.

    If several patterns are applied in order, a piece is a piece of the last one, and part of a piece of each
    earlier one. None: any text is a piece.
    """

    def __init__(self, pattern: Pattern) -> None:
        patterns = (pattern,) if isinstance(pattern, str) else pattern or ()
        self._automata = [_automaton(each) for each in patterns]
        #: States anywhere in a piece.
        self.anywhere: States = tuple(each.useful for each in self._automata)
        #: States at the start of a piece.
        self.start: States = self.anywhere[:-1] + ((frozenset((0,)),) if self._automata else ())

    def step(self, states: States, low: int, high: int) -> States | None:
        """Read one of the characters from low to high; None if no such character can come next."""
        out = []
        for automaton, before in zip(self._automata, states, strict=True):
            classes = automaton.classes(low, high)
            nexts = automaton.nexts
            after = frozenset(nexts[state][each] for state in before for each in classes) - {-1}
            if not after:
                return None
            out.append(after)
        return tuple(out)

    def are_alike(self, low: int, high: int) -> bool:
        """Tell whether the patterns treat all characters from low to high in the same way."""
        return all(len(automaton.classes(low, high)) == 1 for automaton in self._automata)

    def may_end(self, states: States) -> bool:
        """Tell whether a piece may end here."""
        return not self._automata or not states[-1].isdisjoint(self._automata[-1].accepted)


@lru_cache(maxsize=8)
def _automaton(pattern: str) -> _Automaton:
    return _Automaton(pattern)
