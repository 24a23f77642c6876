def bytes_to_unicode() -> dict[int, str]:
    """Return GPT-2's table: the visible character that stands for each byte in its files.

    A byte that is a printable character of Latin-1 stands for itself. The 68 others (controls, space, no-break
    space, soft hyphen) are the characters from U+0100 on. The bytes come in the order of their characters:
    tokenizers numbers them so in the vocabularies that it trains.

    Source: the function of the same name in GPT-2's encoder.py.

    >>> bytes_to_unicode()[ord(" ")]
    'Ġ'
    """
