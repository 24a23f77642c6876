"""Numbers as read by serde_json (in tokenizers): rounded twice, so the last bit may differ from Python's.

The digits become an integer, which is rounded to a float, and then divided or multiplied by a power of ten. This
matters for the scores of a Unigram model, whose last bits decide between paths with nearly equal sums.
"""

from __future__ import annotations

_MAX_INTEGER = (1 << 64) - 1  # of the digits; further ones are left out
_MAX_EXPONENT = (1 << 31) - 1
_MAX_POWER = 308
_POWERS = [float(f"1e{i}") for i in range(_MAX_POWER + 1)]
_SURE_DIGITS = 19  # as many digits always form an integer up to _MAX_INTEGER


def serde_float(text: str) -> float:
    """Read a number.

    Raises:
        ValueError: it is too large for a float.

    >>> serde_float("-3.14"), serde_float("-19.04529968121170757"), float("-19.04529968121170757")
    (-3.14, -19.045299681211706, -19.04529968121171)
    """
    whole, _, part = text.partition(".")
    if len(text) <= _SURE_DIGITS and part.isdigit():
        digits = int(whole.lstrip("-") + part)
        value = digits / _POWERS[len(part)]
        return -value if text[0] == "-" else value
    return _any_float(text)


def _any_float(text: str) -> float:
    """Do what `serde_float` does, for numbers of any length and form."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, part = mantissa.lstrip("-").partition(".")
    number = power = 0
    for place, digit in enumerate(whole):
        if number * 10 + int(digit) > _MAX_INTEGER:
            power = len(whole) - place  # this digit and those up to the point count as zeros
            break
        number = number * 10 + int(digit)
    for digit in part:
        if number * 10 + int(digit) > _MAX_INTEGER:
            break  # this digit and those after it do not count
        number, power = number * 10 + int(digit), power - 1
    digits = exponent.lstrip("+-").lstrip("0")
    if len(digits) > 10 or int(digits or 0) > _MAX_EXPONENT:  # int() refuses 4,301 digits
        if number and not exponent.startswith("-"):
            raise ValueError(f"{text:.60}: the number is too large")
        number = 0
    else:
        power += -int(digits or 0) if exponent.startswith("-") else int(digits or 0)
    value = float(number)
    while abs(power) > _MAX_POWER and value:
        if power >= 0:
            raise ValueError(f"{text:.60}: the number is too large")
        value /= _POWERS[_MAX_POWER]
        power += _MAX_POWER
    if value:  # 0e999 has no power in _POWERS
        value = value * _POWERS[power] if power >= 0 else value / _POWERS[-power]
    if value == float("inf"):
        raise ValueError(f"{text:.60}: the number is too large")
    return -value if text[0] == "-" else value
