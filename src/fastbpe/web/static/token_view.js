// Tokens of one text in colours: a list in which each token can be pointed at, or reached by arrow keys.
import { complain } from "./api.js";
import { byId, make } from "./dom.js";
import { blocksOf, Heights } from "./token_blocks.js";

export const N_COLOURS = 4; // as in fastbpe.display
const PLAIN = { "·": " ", "→": "\t", "↵": "" }; // signs of white space, and what stands there without signs
const UNIT_WIDTH = 9; // pixels, about
const LINE_HEIGHT = 28.5; // pixels, as tokens.css has it
const PAGE = 100; // tokens that PageUp and PageDown pass

let views = 0;
let showsSigns = true;
const shownViews = new Set();

/** Show or hide the signs for white space, in all views. */
export function showSigns(wanted) {
  showsSigns = wanted;
  for (const view of shownViews) {
    view.drawn.clear();
    view.redraw();
  }
}

/** Append the visible text of a token to an element; signs are in <i>. */
export function appendParts(element, parts, signs = showsSigns) {
  for (const [text, isSign] of parts) {
    if (!isSign) element.append(text);
    else if (!signs && text in PLAIN) element.append(PLAIN[text]);
    else element.append(make("i", {}, text));
  }
  return element;
}

const plainText = (token) => token.parts.map(([text]) => text).join("");

export class TokenView {
  /**
   * @param {Element} parent
   * @param {string} label name for screen readers
   * @param {Object} kinds kind to meaning
   * @param {function(number, number)} tell called with the place in the text of the token that is pointed at, or
   *   else chosen; -1: none
   */
  constructor(parent, label, kinds, tell = () => {}) {
    this.tell = tell;
    this.prefix = `view${views++}`;
    this.kinds = kinds;
    this.list = make("div", { class: "view fastbpe-tokens", role: "listbox", tabindex: 0, "aria-label": label, dir: "ltr" });
    this.top = make("div", { role: "presentation" });
    this.middle = make("div", { role: "presentation" });
    this.bottom = make("div", { role: "presentation" });
    this.list.append(this.top, this.middle, this.bottom);
    this.detail = make("p", { class: "detail" });
    parent.append(this.list, this.detail);
    this.active = -1;
    this.drawn = new Map(); // index of a block's first token → the block as it is in the page: tokens and element
    this.clear();
    this.list.addEventListener("scroll", () => this.later(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.list.addEventListener("click", (event) => this.activate(indexOf(event.target)));
    this.list.addEventListener("pointerover", (event) => this.point(event));
    this.list.addEventListener("pointerleave", () => {
      byId("tip").hidden = true;
      this.tellPlace(this.active);
    });
    this.resizing = new ResizeObserver(() => this.measure());
    this.resizing.observe(this.list);
    shownViews.add(this);
  }

  remove() {
    shownViews.delete(this);
    this.resizing.disconnect();
    this.list.remove();
    this.detail.remove();
  }

  clear() {
    this.set({ ids: [], starts: null, ends: null, text: "", book: null });
  }

  /**
   * Show tokens.
   * @param {{ids, starts, ends, text: string, book: TokenBook}} tokens starts and ends are null if not known
   * @returns {Promise} resolved when the tokens are drawn
   */
  set(tokens) {
    this.tokens = tokens;
    const { blocks, heights } = this;
    this.blocks = blocksOf(tokens.text, tokens.ends, tokens.ids.length);
    if (this.active >= tokens.ids.length) this.active = -1;
    this.guess();
    if (heights) this.heights.keepSame(this.blocks, blocks, heights);
    return this.draw();
  }

  /** Guess the heights of all blocks again. */
  guess() {
    this.width = this.list.clientWidth;
    this.heights = new Heights(this.blocks, Math.max(10, this.width / UNIT_WIDTH), LINE_HEIGHT);
  }

  measure() {
    if (this.list.clientWidth !== this.width) this.redraw();
  }

  /** Draw after the heights of all blocks have changed, with the same block at the top of the view. */
  async redraw() {
    const { scrollTop } = this.list;
    const block = this.heights.at(scrollTop);
    const within = scrollTop - this.heights.before(block);
    this.guess();
    await this.draw();
    if (!scrollTop) return;
    this.list.scrollTop = this.heights.before(block) + within;
    await this.draw();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  /** Draw the blocks in view; tokens that are new to the page are requested first. */
  async draw() {
    const { tokens } = this;
    const { first, last } = this.heights.visible(this.list.scrollTop, this.list.clientHeight);
    if (tokens.book) {
      const wanted = [];
      const end = last ? this.blocks[last - 1].last : 0;
      for (let i = this.blocks[first]?.first ?? 0; i < end; i++) {
        if (!tokens.book.get(tokens.ids[i], this.source(i))) wanted.push([tokens.ids[i], this.source(i)]);
      }
      if (wanted.length) {
        try {
          await tokens.book.learn(wanted);
        } catch (error) {
          complain(error.message);
          return;
        }
        if (this.tokens === tokens) await this.draw();
        return;
      }
    }
    this.paint();
  }

  paint() {
    const shown = this.heights.visible(this.list.scrollTop, this.list.clientHeight);
    const drawn = [];
    for (let block = shown.first; block < shown.last; block++) drawn.push(this.drawBlock(block));
    this.top.style.height = `${shown.before}px`;
    this.bottom.style.height = `${shown.after}px`;
    this.drawn = new Map(drawn.map((block) => [block.first, block]));
    setChildren(this.middle, drawn.map(({ element }) => element));
    let above = 0; // pixels by which the blocks above the view are higher than was guessed
    drawn.forEach(({ element }, i) => {
      const growth = this.heights.keep(shown.first + i, element.offsetHeight);
      if (element.offsetTop + element.offsetHeight < this.list.scrollTop) above += growth;
    });
    if (Math.abs(above) >= 1) this.list.scrollTop += above;
    this.mark();
  }

  /** Return a block with its element: the one in the page if its tokens are the same. */
  drawBlock(block) {
    const { first, last } = this.blocks[block];
    const { ids, book } = this.tokens;
    const tokens = Array.from({ length: last - first }, (_, i) => book.get(ids[first + i], this.source(first + i)));
    const old = this.drawn.get(first);
    if (old?.tokens.length === tokens.length && tokens.every((token, i) => token === old.tokens[i])) return old;
    const element = make("div", { role: "presentation" });
    tokens.forEach((token, i) => {
      const option = make("bdi", {
        class: `c${(first + i) % N_COLOURS} ${token.kind}${token.is_superword ? " superword" : ""}`,
        role: "option",
        id: `${this.prefix}-${first + i}`,
      });
      element.append(appendParts(option, token.parts));
      if (token.ends_line && i < tokens.length - 1) element.append("\n"); // the end of the block ends its line
    });
    return { first, tokens, element };
  }

  /** Return the text of a token's place. */
  source(i) {
    const { starts, ends, text } = this.tokens;
    return starts ? text.slice(starts[i], ends[i]) : "";
  }

  label(token) {
    const kind = token.kind === "ordinary" ? "" : `, ${this.kinds[token.kind]}`;
    const words = token.is_superword ? ", several words" : "";
    return `${plainText(token)}, id ${token.id}${kind}${words}`;
  }

  /** Say all about one token. */
  describe(i) {
    const { ids, starts, ends, book } = this.tokens;
    const token = book?.get(ids[i], this.source(i));
    if (!token) return "";
    const place = starts ? `, at ${starts[i]}–${ends[i]}` : "";
    return `token ${i + 1} of ${ids.length}: ${this.label(token)}, bytes ${token.hex}${place}`;
  }

  point(event) {
    const i = indexOf(event.target);
    const tip = byId("tip");
    tip.hidden = i < 0;
    this.tellPlace(i);
    if (i < 0) return;
    tip.textContent = this.describe(i);
    const box = event.target.closest("bdi").getBoundingClientRect();
    const left = Math.max(4, Math.min(event.clientX, innerWidth - tip.offsetWidth - 8));
    const below = box.bottom + 6;
    const top = below + tip.offsetHeight < innerHeight ? below : box.top - tip.offsetHeight - 6;
    tip.style.transform = `translate(${left}px, ${top}px)`;
  }

  tellPlace(i) {
    const { starts, ends } = this.tokens;
    if (i >= 0 && starts) this.tell(starts[i], ends[i]);
    else this.tell(-1, -1);
  }

  /** Mark the tokens in the page that share text with a place; start -1: none. */
  markSame(start, end) {
    for (const old of this.middle.querySelectorAll(".same")) old.classList.remove("same");
    const { starts, ends } = this.tokens;
    if (start < 0 || !ends) return;
    let low = 0;
    for (let high = ends.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (ends[middle] > start) high = middle;
      else low = middle + 1;
    }
    for (let i = low; i < ends.length && starts[i] < end; i++) byId(`${this.prefix}-${i}`)?.classList.add("same");
  }

  /** Choose a token and scroll to it. */
  async activate(i) {
    if (i < 0 || i >= this.tokens.ids.length) return;
    this.active = i;
    if (!byId(`${this.prefix}-${i}`)) {
      const block = this.blocks.findIndex(({ last }) => i < last);
      const before = this.heights.before(block);
      // The list may still be as short as the text before: a place beyond its end would be lost.
      this.bottom.style.height = `${before + this.list.clientHeight}px`;
      this.list.scrollTop = before;
      await this.draw();
    }
    this.mark();
    this.tellPlace(i);
    byId(`${this.prefix}-${i}`)?.scrollIntoView({ block: "nearest" });
  }

  mark() {
    for (const old of this.middle.querySelectorAll(".active")) {
      old.classList.remove("active");
      old.setAttribute("aria-selected", "false");
    }
    const { ids, book } = this.tokens;
    // Undefined until the server has described the token; until then the element may belong to an old token.
    const token = book?.get(ids[this.active], this.source(this.active));
    const element = token && byId(`${this.prefix}-${this.active}`);
    if (element) {
      element.classList.add("active");
      element.setAttribute("aria-selected", "true");
      element.setAttribute("aria-label", this.label(token));
      element.setAttribute("aria-posinset", this.active + 1); // most tokens are not in the page
      element.setAttribute("aria-setsize", ids.length);
      this.list.setAttribute("aria-activedescendant", element.id);
    } else this.list.removeAttribute("aria-activedescendant");
    this.detail.textContent = this.active < 0 ? "" : this.describe(this.active);
  }

  onKey(event) {
    const last = this.tokens.ids.length - 1;
    const to = {
      ArrowRight: () => this.active + 1,
      ArrowLeft: () => this.active - 1,
      ArrowDown: () => this.beside(1),
      ArrowUp: () => this.beside(-1),
      PageDown: () => this.active + PAGE,
      PageUp: () => this.active - PAGE,
      Home: () => 0,
      End: () => last,
    }[event.key];
    if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.activate(Math.max(0, Math.min(last, to())));
  }

  /**
   * Return the nearest token on the line below (1) or above (-1), or the next token if none is drawn there. Tokens of one
   * line differ by less than 2 pixels in height.
   */
  beside(step) {
    const box = (i) => byId(`${this.prefix}-${i}`)?.getClientRects()[0];
    const from = box(this.active);
    if (!from) return this.active + step;
    let best = this.active + step;
    let line = null;
    let nearest = Infinity;
    for (let i = this.active + step, at; (at = box(i)); i += step) {
      if (Math.abs(at.top - from.top) < 2) continue;
      line ??= at.top;
      if (Math.abs(at.top - line) > 2) break;
      const distance = Math.abs(at.left - from.left);
      if (distance < nearest) [nearest, best] = [distance, i];
    }
    return best;
  }
}

/** Give an element these children. Children that it has already stay where they are, and need no new layout. */
function setChildren(parent, children) {
  const wanted = new Set(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  children.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
  });
}

/** Return the index of the token that an element belongs to, or -1. */
function indexOf(element) {
  const found = element.closest("[role=option]");
  return found ? Number(found.id.split("-")[1]) : -1;
}
