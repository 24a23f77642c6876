"""Shown tokens: ids of `encode`, visible characters, and drawings that no text can steer."""

from __future__ import annotations

import io
import sys
import unicodedata
from html.parser import HTMLParser

import pytest

import fastbpe
from fastbpe.display import html, painting
from fastbpe.display.layout import Details, n_columns
from fastbpe.display.shown_text import show
from fastbpe.display.shown_tokens import KINDS, ShownToken, is_superword
from fastbpe.display.visible import visible, visible_text
from fastbpe.tokenizers import Tokenizer, models
from helpers.codepoint_models import model_of
from helpers.sampling import some
from helpers.shared_data import BYTES, data_file

RANKS = {**BYTES, b"ab": 256, b"\xf0\x9f": 257, b"<s": 258, b"\n\n": 259}
HOSTILE = [
    "<script>alert(1)</script>",
    "a<b<c & \"quoted\" 'single' </bdi></div><!-- ]]>",
    "evil\u202etxt.exe \u2066x\u2069 \u200f",
    "a\x00b\x00\x00\x1b[31m\x1b]0;title\x07\x9b31m\x7f\x85",
    "\ud83d lone \udc4d \ud83d\udc4d pair",
    "\u0301\u0301 begins with a mark",
    "👨‍👩‍👧 1️⃣ 삼겹살 北東爿 Việt",
    "\u2028\u2029\ufeff\xa0\u3000\u200b\u2060\u3164",
    "\r\n\t\v\f tabs\t\t\n\n",
    "\U000e0041\U000e0042\ue000\ufdd0\uffff",
    "שלום عليكم abc",
    "javascript:alert(1) &lt;img src=x onerror=alert(1)&gt;",
    "",
]


def byte_level() -> fastbpe.Tokenizer:
    return fastbpe.Tokenizer.from_ranks(RANKS, pattern="gpt2", special_tokens={"<b>": 300, "\x1b[0m<i>": 301})


def code_points(*, byte_fallback: bool) -> fastbpe.Tokenizer:
    return fastbpe.train(
        ["ab abc <s> ab"] * 9,
        mode="codepoint",
        vocab_size=300,
        hard_vocab_limit=False,
        byte_fallback=byte_fallback,
        progress=False,
    )


TOKENIZERS = {
    "bytes": byte_level,
    "code points": lambda: code_points(byte_fallback=True),
    "code points without bytes": lambda: code_points(byte_fallback=False),
}


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> fastbpe.Tokenizer:
    return TOKENIZERS[request.param]()


class Reader(HTMLParser):
    """Reader of a page: its tags, the text in the frames of tokens, and the titles of tokens."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.tokens: list[str] = []
        self.ids: list[int] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        title = dict(attrs).get("title")
        if tag == "bdi" and title is not None:
            self.ids.append(int(title.split(",")[0].removeprefix("id ")))
            self.tokens.append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open &= tag != "bdi"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.tokens[-1] += data


ALLOWED_TAGS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "h1",
    "h2",
    "p",
    "section",
    "div",
    "bdi",
    "i",
    "details",
    "summary",
    "code",
    "span",
    "small",
}
ALLOWED_ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "dir", "title"}


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.tags <= ALLOWED_TAGS
    assert reader.attributes <= ALLOWED_ATTRIBUTES
    return reader


class TestIds:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_ids_equal_encode(self, tokenizer, text):
        shown = show(tokenizer, text)
        assert shown.ids == tokenizer.encode_ordinary(text)
        assert [(token.start, token.end) for token in shown.tokens] == tokenizer.encode_with_offsets(
            text, disallowed_special=()
        )[1]
        assert read(shown.to_html()).ids == shown.ids

    @pytest.mark.daily
    def test_ids_of_every_line_of_emoji_mixed_equal_encode(self):
        with open(data_file("corpus", "emoji_mixed.txt"), encoding="utf-8", newline="") as file:
            lines = file.readlines()
        tokenizer = fastbpe.load(data_file("vocab", "llama2_tokenizer.model"))
        for line in some(lines, 1500):
            shown = show(tokenizer, line)
            assert shown.ids == tokenizer.encode_ordinary(line)
            assert read(shown._repr_html_()).ids == shown.ids[: html.MAX_NOTEBOOK_TOKENS]

    def test_special_tokens_are_text_unless_allowed(self):
        tokenizer = byte_level()
        assert show(tokenizer, "ab<b>").ids == [256, 60, 98, 62]
        shown = show(tokenizer, "ab<b>", allowed_special="all")
        assert [(token.id, token.kind) for token in shown.tokens] == [(256, "ordinary"), (300, "special")]

    def test_kinds_tell_parts_of_characters_and_unknown_text(self):
        assert [token.kind for token in show(byte_level(), "a🙂").tokens] == [
            "ordinary",
            "byte",
            "byte",
            "byte",
        ]
        shown = show(code_points(byte_fallback=False), "a漢")
        assert (shown.tokens[-1].kind, shown.tokens[-1].source) == ("unknown", "漢")
        assert "漢" in str(shown)

    def test_lone_surrogate_is_not_the_name_of_the_unknown_token(self):
        data = Tokenizer(models.BPE({"a": 0, "?": 1}, [], unk_token="?")).to_str()
        shown = show(fastbpe.load(data.encode()), "?\ud800")
        assert [(token.kind, token.source) for token in shown.tokens] == [("ordinary", ""), ("unknown", "\ufffd")]

    def test_added_tokens_are_marked(self):
        pieces = [(b"<unk>", 0.0, 2), (b"a", 0.0, 1), (b"<sep>", 0.0, 4)]
        tokenizer = fastbpe.load(model_of(pieces, {}, {}))
        kinds = {token.bytes: token.kind for token in show(tokenizer, "a<sep>").tokens}
        assert set(kinds.values()) <= KINDS.keys()

    def test_invalid_text_raises_value_error(self, tokenizer):
        with pytest.raises(ValueError, match="UTF-8"):
            show(tokenizer, b"\xff")
        with pytest.raises(TypeError):
            show(tokenizer, 5)


class TestVisible:
    @pytest.mark.daily
    def test_every_character_is_visible_or_replaced(self):
        for code in some(range(sys.maxunicode + 1), 200_000):
            character = chr(code)
            category = unicodedata.category(character)
            if category == "Cs":
                continue
            shown = "".join(part.text for part in visible(character.encode()))
            assert shown
            for sign in shown:
                assert sign.isprintable(), hex(code)
                assert not sign.isspace(), hex(code)
            if category[0] in "CZ":
                assert character not in shown, hex(code)

    def test_bytes_of_parts_of_characters_are_shown_in_hexadecimal(self):
        assert [part.text for part in visible(b"\xe6\xbca\xff")] == ["⟨e6 bc⟩", "a", "⟨ff⟩"]

    def test_names_keep_their_spaces(self):
        assert visible_text("my file\n\udce9.txt") == "my file↵\\udce9.txt"


class TestDrawings:
    @pytest.mark.parametrize("details", [Details(), Details(ids=True, bytes=True, offsets=True)])
    @pytest.mark.parametrize("text", HOSTILE)
    def test_plain_drawing_holds_visible_characters_only(self, tokenizer, text, details):
        drawn = painting.draw(show(tokenizer, text).tokens, details)
        assert all(line.isprintable() for line in drawn.split("\n"))

    @pytest.mark.parametrize("text", HOSTILE)
    def test_colours_are_the_only_escapes(self, tokenizer, text):
        tokens = show(tokenizer, text, allowed_special="all").tokens
        coloured = painting.draw(tokens, Details(), colours=True)
        parts = coloured.replace("\x1b[0m", "").split("\x1b[")
        assert all(part.split("m", 1)[0].replace(";", "").isdigit() for part in parts[1:])
        plain = parts[0] + "".join(part.split("m", 1)[1] for part in parts[1:])
        assert all(line.isprintable() for line in plain.split("\n"))
        bars = painting.draw(tokens, Details())
        if "|" not in text:
            assert plain == bars.replace("|", "")

    def test_backgrounds_alternate(self):
        tokens = show(byte_level(), "a b").tokens
        codes = [
            part.split("m")[0] for part in painting.draw(tokens, Details(), colours=True).split("\x1b[")[1::2]
        ]
        assert [code.rpartition(";")[2] for code in codes] == ["153", "229", "146"]

    def test_details_stand_below_their_tokens(self):
        drawn = painting.draw(show(byte_level(), "ab漢").tokens, Details(ids=True, bytes=True, offsets=True))
        assert drawn == "ab  |⟨e6⟩|⟨bc⟩|⟨a2⟩\n256 |230 |188 |162\n6162|e6  |bc  |a2\n0-2 |2-3 |2-3 |2-3"

    def test_lines_with_details_are_wrapped_at_the_width(self):
        drawn = painting.draw(show(byte_level(), "x " * 50).tokens, Details(ids=True), width=40)
        assert max(map(n_columns, drawn.split("\n"))) <= 40
        assert drawn.replace("|", " ").split().count("120") == 50

    @pytest.mark.parametrize(
        ("terminal", "environment", "expected"),
        [
            (True, {}, True),
            (True, {"NO_COLOR": ""}, True),
            (True, {"NO_COLOR": "1"}, False),
            (True, {"TERM": "dumb"}, False),
            (False, {}, False),
        ],
    )
    def test_colours_follow_terminal_and_environment(self, terminal, environment, expected, monkeypatch):
        for name in ("NO_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        stream = io.StringIO()
        stream.isatty = lambda: terminal
        assert painting.wants_colours(stream) is expected

    def test_rich_text_equals_the_terminal(self, tokenizer):
        pytest.importorskip("rich")
        shown = show(tokenizer, "ab c\n[red]<b>x")
        plain = shown.__rich__().text().plain
        assert plain == str(shown).replace("|", "")

    @pytest.mark.parametrize("width", [20, 40, 80, 120])
    def test_rich_keeps_ids_below_their_tokens_at_any_width(self, tokenizer, width):
        console = pytest.importorskip("rich.console").Console(file=io.StringIO(), width=width)
        shown = show(tokenizer, "ab c x" * 30, ids=True)
        console.print(shown)
        lines = [line.split() for line in console.file.getvalue().splitlines()]
        assert [int(one) for row in lines[1::2] for one in row] == shown.ids
        assert [len(row) for row in lines[::2]] == [len(row) for row in lines[1::2]]

    def test_closed_stream_shows_no_colours(self):
        assert painting.wants_colours(None) is False


class TestHtml:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_page_escapes_hostile_text(self, tokenizer, text):
        shown = show(tokenizer, text, ids=True, allowed_special="all")
        blocks = [html.Block(text, shown.summary, shown.tokens)]
        page = "".join(html.page(blocks, Details(), title=text))
        page.encode()  # no lone surrogate
        assert all(line.isprintable() for line in page.split("\n"))
        reader = read(page)
        assert reader.tokens == ["".join(part.text for part in visible(_seen(token))) for token in shown.tokens]
        assert read(shown._repr_html_()).tokens == reader.tokens

    @pytest.mark.daily
    def test_notebook_fragment_is_bounded(self):
        shown = show(fastbpe.Tokenizer.from_merges([], pattern=None), "a" * (html.MAX_NOTEBOOK_TOKENS + 5))
        assert len(read(shown._repr_html_()).tokens) == html.MAX_NOTEBOOK_TOKENS
        assert "5 tokens more" in shown._repr_html_()
        assert len(read(shown.to_html()).tokens) == html.MAX_NOTEBOOK_TOKENS + 5


def _seen(token: ShownToken) -> bytes:
    return token.source.encode() if token.source else token.bytes


def _seen_by(rgb: tuple[float, float, float], kind: str) -> tuple[float, float, float]:
    """Simulate a colour for a colour-blind eye, by the matrices of Machado, Oliveira and Fernandes (2009)."""
    rows = {
        "protan": "0.152286 1.052583 -0.204868 0.114503 0.786281 0.099216 -0.003882 -0.048116 1.051998",
        "deutan": "0.367322 0.860646 -0.227968 0.280085 0.672501 0.047413 -0.011820 0.042940 0.968881",
        "tritan": "1.255528 -0.076749 -0.178779 -0.078411 0.930809 0.147602 0.004733 0.691367 0.303900",
    }[kind].split()
    matrix = [[float(number) for number in rows[i : i + 3]] for i in (0, 3, 6)]
    linear = [(part / 255) ** 2.2 for part in rgb]
    sums = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in matrix]
    found = [max(0.0, min(1.0, one)) ** (1 / 2.2) for one in sums]
    return found[0] * 255, found[1] * 255, found[2] * 255


@pytest.mark.parametrize("kind", ["protan", "deutan", "tritan"])
@pytest.mark.parametrize("theme", [0, 1])
def test_neighbouring_backgrounds_differ_for_the_colour_blind(kind, theme):
    colours = []
    for number in range(4):
        written = html.STYLE.split(f".c{number}{{background:#")[1 + theme][:6]
        colours.append(_seen_by(tuple(int(written[i : i + 2], 16) for i in (0, 2, 4)), kind))
    for number in range(4):
        pair = zip(colours[number], colours[(number + 1) % 4], strict=True)
        assert sum((a - b) ** 2 for a, b in pair) ** 0.5 > 35, (number, theme)


def test_white_space_alone_is_no_superword() -> None:
    words = [" of the", "\u3000a b", "a  \u3000b c"]
    assert [is_superword(text.encode()) for text in words] == [True] * 3
    spaces = [" \xa0 \xa0", "\u3000 a", "a \u3000", "a\xa0b"]
    assert [is_superword(text.encode()) for text in spaces] == [False] * 4


def test_superwords_are_marked_everywhere() -> None:
    text = "in the end of the day the end of the end\n"
    tokenizer = fastbpe.train(
        [text * 9], vocab_size=273, superwords=fastbpe.Superwords(265), special_tokens=["a b"], progress=False
    )
    shown = show(tokenizer, text + "a b", allowed_special="all")
    for token in shown.tokens:
        spans = token.kind != "special" and b" " in token.bytes.strip()
        assert (token.kind == "superword") == spans
    assert {token.kind for token in shown.tokens} >= {"superword", "special"}
    assert 'superword" title="id ' in shown.to_html()
    assert "a token that spans several words</bdi>" in shown.to_html()
    assert "\x1b[3;38;5;" in painting.draw(shown.tokens, Details(), colours=True)
