"""The text of an error about bytes that are not UTF-8."""


def not_utf8(where: str, data: bytes, error: UnicodeDecodeError) -> str:
    r"""Say in which line and at which offset decoding has failed.

    Args:
        where: name of the file.
        data: all of its bytes.
        error: the error of decoding them, by "utf-8" or "utf-8-sig".

    >>> try:
    ...     b"ab\n\xff".decode()
    ... except UnicodeDecodeError as error:
    ...     not_utf8("a.txt", b"ab\n\xff", error)
    'a.txt:2: not UTF-8: invalid byte 0xff at offset 3'
    """
    at = len(data) - len(error.object) + error.start  # "utf-8-sig" removes a byte order mark before it decodes
    line = 1 + data.count(b"\n", 0, at)
    return f"{where}:{line}: not UTF-8: invalid byte 0x{data[at]:02x} at offset {at}"
