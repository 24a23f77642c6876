// Word view: the merges of a word, one step after another.
import { complain, complaintBefore, word } from "./api.js";
import { byId, counted, make, showNote } from "./dom.js";
import { appendParts, N_COLOURS } from "./token_view.js";

export class WordPage {
  constructor() {
    this.slider = byId("word-step");
    this.set({ pieces: [], ids: [], agrees: true });
    byId("word").addEventListener("input", () => this.refresh());
    byId("word-tokenizer").addEventListener("change", () => this.refresh());
    this.slider.addEventListener("input", () => this.show());
    const goes = {
      "word-first": () => 0,
      "word-back": (at) => at - 1,
      "word-next": (at) => at + 1,
      "word-last": () => this.steps.length,
    };
    for (const [id, to] of Object.entries(goes)) {
      byId(id).addEventListener("click", () => {
        this.slider.value = to(Number(this.slider.value));
        this.show();
      });
    }
  }

  async refresh() {
    if (byId("page-word").hidden) return;
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const text = byId("word").value;
    const hideOld = complaintBefore();
    try {
      const found = await word(Number(byId("word-tokenizer").value), text);
      if (turn !== this.turn) return;
      hideOld();
      this.set(found);
    } catch (error) {
      if (turn === this.turn) complain(error.message);
    }
  }

  set(found) {
    this.pieces = found.pieces;
    this.found = found;
    this.steps = found.pieces.flatMap(({ merges }, piece) => merges.map(({ token, ...merge }) => ({ piece, parts: token, ...merge })));
    this.slider.max = this.steps.length;
    this.slider.value = 0;
    this.fillTable();
    this.show();
  }

  /** Return the symbols of each piece after some steps; the newest one is marked. */
  after(n) {
    const rows = this.pieces.map(({ symbols }) => symbols.map((parts) => ({ parts })));
    this.steps.slice(0, n).forEach(({ piece, at, id, parts }, i) => {
      rows[piece].splice(at, 2, { parts, id, isNew: i === n - 1 });
    });
    return rows;
  }

  show() {
    const n = Number(this.slider.value);
    for (const id of ["word-first", "word-back"]) byId(id).disabled = n === 0;
    for (const id of ["word-next", "word-last"]) byId(id).disabled = n === this.steps.length;
    byId("word-symbols").replaceChildren(...this.after(n).map((row) => pieceElement(row)));
    [...byId("word-merges").children].forEach((row, i) => row.toggleAttribute("aria-current", i === n - 1));
    byId("word-said").textContent = this.say(n);
    const { ids, agrees } = this.found;
    const notes = [];
    if (this.pieces.length && n === this.steps.length) {
      notes.push(`encode gives ${counted(ids.length, "token")}: ${ids.join(", ")}.`);
      if (this.pieces.some(({ whole }) => whole !== null) && ids.length < this.after(n).flat().length) {
        notes.push("A piece that is itself a token is found whole, before merging. Merging alone would give other tokens.");
      }
      if (!agrees) notes.push("Characters without a token become bytes or the unknown token.");
    }
    showNote(byId("word-note"), notes.join(" "));
  }

  say(n) {
    if (!this.pieces.length) return "Type a word.";
    const total = this.steps.length;
    if (!n) {
      const symbols = this.pieces.flatMap((piece) => piece.symbols).length;
      return `${counted(symbols, "symbol")}, ${counted(total, "merge")} left.`;
    }
    const [left, right] = this.pair(n);
    const { id, priority } = this.steps[n - 1];
    const named = id === null ? "" : `, id ${id}`;
    return `Merge ${n} of ${total}: ${said(left)} and ${said(right)}${named}, priority ${priority}.`;
  }

  /** Return the two symbols that a step merges. */
  pair(n) {
    const { piece, at } = this.steps[n - 1];
    const row = this.after(n - 1)[piece];
    return [row[at].parts, row[at + 1].parts];
  }

  fillTable() {
    byId("word-merges").replaceChildren(
      ...this.steps.map(({ id, priority }, i) => {
        const cells = this.pair(i + 1).map((parts) => make("td", {}, appendParts(make("bdi"), parts, true)));
        return make("tr", {}, make("td", {}, String(i + 1)), ...cells, make("td", {}, String(id ?? "")), make("td", {}, String(priority)));
      })
    );
  }
}

const said = (parts) => `“${parts.map(([text]) => text).join("")}”`;

function pieceElement(row) {
  const tokens = row.map(({ parts, id, isNew }, i) => {
    const title = id === undefined || id === null ? undefined : `id ${id}`;
    return appendParts(make("bdi", { class: `c${i % N_COLOURS}${isNew ? " new" : ""}`, title }), parts, true);
  });
  return make("span", {}, ...tokens);
}
