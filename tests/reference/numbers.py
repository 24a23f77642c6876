"""Read numbers as serde_json does, which tokenizers uses: the slow twin of `formats.huggingface.serde_numbers`."""

GREATEST_INTEGER = (1 << 64) - 1


def json_number(text: str) -> float:
    """Read a number of JSON. OverflowError: it is too large.

    The digits make an integer, up to the first that would make it too large: before the point, the others count as
    zeros, and digits after the point may fit again; there, the others do not count. The integer is rounded to a
    float, and then multiplied or divided by a power of ten, which rounds again.

    >>> json_number("-3.5"), json_number("9007199254740993e-1")
    (-3.5, 900719925474099.2)
    >>> json_number("18446744073709551616.30e-20")  # tokenizers 0.23.3 has the same
    0.1844674407370955
    >>> json_number("0.9999999999999999999") == 1.0
    True
    """
    mantissa, _, exponent = text.lower().removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    number, power = 0, int(exponent or 0)
    for place, digit in enumerate(whole):
        if number * 10 + int(digit) > GREATEST_INTEGER:
            power += len(whole) - place
            break
        number = number * 10 + int(digit)
    for digit in fraction:
        if number * 10 + int(digit) > GREATEST_INTEGER:
            break
        number = number * 10 + int(digit)
        power -= 1
    value = float(number)
    while value and power:
        step = max(-308, min(308, power))  # greatest power of ten that is a float
        if power > 308:
            raise OverflowError(text)
        value = value * float(f"1e{step}") if step > 0 else value / float(f"1e{-step}")
        power -= step
    if value == float("inf"):
        raise OverflowError(text)
    return -value if text.startswith("-") else value
