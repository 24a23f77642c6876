// First view: a text, and its tokens as each of up to four tokenizers sees them.
import { bookOf, complain, complaintBefore, encode, share } from "./api.js";
import { byId, counted, fillSelect, keepAsFile, make, setDirection, takeLargePastes } from "./dom.js";
import { fragmentOf, keep } from "./links.js";
import { TokenView } from "./token_view.js";

const SAMPLE = `def greet(name):
    return f"Grüße, {name}! 你好 🦙"  # naïve café

In 2024, 1,234,567 people read "The Lord of the Rings" at readers@example.com.
Unbelievable: すべての人間は自由である。
`;
const MAX_IDS = 300; // shown below the tokens
const QUIET = 700; // milliseconds without typing after which a screen reader hears the counts

export class TextPage {
  constructor(facts, tokenizers) {
    this.facts = facts;
    this.tokenizers = tokenizers;
    this.panels = [];
    this.text = byId("text");
    this.exact = null;
    takeLargePastes(this.text);
    this.text.addEventListener("input", () => {
      this.exact = null;
      this.refresh();
    });
    byId("sample").addEventListener("click", () => this.setText(SAMPLE));
    byId("copy-link").addEventListener("click", () => this.copyLink());
    addEventListener("pagehide", () => keep(this.state));
    byId("special").addEventListener("change", () => this.refresh());
    byId("add-panel").addEventListener("click", () => this.addPanel());
    byId("share").addEventListener("click", () => this.share());
    for (const { key } of tokenizers.list.slice(0, facts.max_tokenizers)) this.addPanel(key);
    tokenizers.onChange(() => this.panels.forEach((panel) => panel.fill(tokenizers.list)));
  }

  /** Show a text that was not typed. The field turns CR LF into LF: until the user edits it, keep the original text. */
  setText(text) {
    this.text.value = text;
    this.exact = text;
    return this.refresh();
  }

  /** State that a link or a reload restores: text, names of tokenizers, and whether special tokens become ids. */
  get state() {
    return { text: this.content, names: this.panels.map((panel) => panel.name), special: byId("special").checked };
  }

  /** Show a state again. Returns the names of tokenizers that the page does not have. */
  setState({ text, names, special }) {
    const { list } = this.tokenizers;
    const found = names.map((name) => list.find((tokenizer) => tokenizer.name === name)).filter(Boolean);
    if (found.length) {
      this.panels.forEach((panel) => panel.remove());
      this.panels = [];
      for (const { key } of found.slice(0, this.facts.max_tokenizers)) this.addPanel(key);
    }
    byId("special").checked = special;
    this.setText(text);
    return names.filter((name) => !list.some((tokenizer) => tokenizer.name === name));
  }

  async copyLink() {
    try {
      const fragment = await fragmentOf(this.state);
      history.replaceState(null, "", fragment);
      await navigator.clipboard.writeText(location.href).catch(() => {}); // the address bar has it, too
      byId("news").textContent = "Link copied.";
      byId("sizes").textContent = "Link copied; it is in the address bar, too. The link holds the text; nothing was sent.";
    } catch (error) {
      complain(error.message);
    }
  }

  /** Mark the text of a token in the other panels; start -1: take the marks away. */
  markSame(from, start, end) {
    for (const panel of this.panels) panel.view.markSame(panel === from ? -1 : start, end);
  }

  /** Return the text, with U+FFFD for each lone surrogate, as in the request. */
  get content() {
    const text = this.exact ?? this.text.value;
    return text.toWellFormed?.() ?? text; // browsers before 2023 lack it
  }

  /** Add a panel for a tokenizer; without a key, for the last one that has no panel, or else the first. */
  addPanel(key) {
    if (this.panels.length >= this.facts.max_tokenizers) return;
    const used = this.panels.map((panel) => panel.key);
    const { list } = this.tokenizers;
    const free = list.findLast((tokenizer) => !used.includes(tokenizer.key)) ?? list[0];
    const panel = new Panel(this, key ?? free.key, list);
    this.panels.push(panel);
    this.number();
    if (key === undefined) panel.select.focus();
    this.refresh();
  }

  /** Show a tokenizer that was just added: in a new panel, or in the last one if there are four. */
  showTokenizer(key) {
    if (this.panels.length < this.facts.max_tokenizers) this.addPanel(key);
    else {
      const panel = this.panels.at(-1);
      panel.key = key;
      panel.fill(this.tokenizers.list);
      this.refresh();
    }
  }

  removePanel(panel) {
    this.panels = this.panels.filter((other) => other !== panel);
    panel.remove();
    this.number();
    byId("add-panel").focus();
    this.refresh();
  }

  number() {
    byId("add-panel").disabled = this.panels.length >= this.facts.max_tokenizers;
    this.panels.forEach((panel, i) => panel.number(i + 1, this.panels.length > 1));
  }

  /** Encode the text again. While one answer is awaited, only the latest text waits behind it. */
  async refresh() {
    this.isStale = true;
    this.hideOld = complaintBefore();
    this.running ??= this.run().finally(() => (this.running = null));
    return this.running;
  }

  async run() {
    while (this.isStale) {
      this.isStale = false;
      const { panels } = this;
      const text = this.content;
      setDirection(this.text, text);
      try {
        const found = await encode(panels.map((panel) => panel.key), text, byId("special").checked);
        this.hideOld();
        byId("sizes").textContent = [counted(found.n_characters, "character"), counted(found.n_bytes, "byte")].join(", ");
        const best = Math.min(...found.texts.map(({ n_tokens }) => n_tokens));
        // Nothing is shown in a panel for which another tokenizer was chosen meanwhile.
        await Promise.all(
          panels.map((panel, i) => panel.key === found.texts[i].key && panel.show(text, found, found.texts[i], best))
        );
      } catch (error) {
        if (!this.isStale) complain(error.message);
      }
    }
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => this.tell(), QUIET);
  }

  tell() {
    byId("news").textContent = this.panels.map((panel) => `${panel.name}: ${panel.said}`).join("; ");
  }

  async share() {
    try {
      const keys = this.panels.map((panel) => panel.key);
      keepAsFile(await share(keys, this.content, byId("special").checked), "tokens.html");
    } catch (error) {
      complain(error.message);
    }
  }
}

class Panel {
  constructor(page, key, list) {
    this.page = page;
    this.key = key;
    this.said = "";
    this.select = make("select", {});
    this.price = make("input", { type: "number", class: "price", min: 0, step: "any", placeholder: "0.00" });
    this.priced = make("label", {}, "$ per 1M tokens", this.price);
    this.drop = make("button", { type: "button" }, "Remove");
    this.counts = make("p", { class: "counts" });
    this.note = make("div", { class: "note", hidden: "" });
    const body = make("div", {});
    this.ids = make("p", { class: "ids", role: "region", tabindex: 0 });
    this.copy = make("button", { type: "button" }, "Copy ids");
    this.element = make(
      "section",
      { class: "panel" },
      make("div", { class: "tools" }, this.select, this.drop),
      this.counts,
      this.note,
      body,
      this.ids,
      make("div", { class: "tools" }, this.copy, this.priced)
    );
    this.fill(list);
    this.view = new TokenView(body, "Tokens", page.facts.kinds, (start, end) => page.markSame(this, start, end));
    this.select.addEventListener("change", () => {
      this.key = Number(this.select.value);
      page.refresh();
    });
    this.price.addEventListener("input", () => this.count());
    this.drop.addEventListener("click", () => page.removePanel(this));
    this.copy.addEventListener("click", () => this.copyIds());
    byId("panels").append(this.element);
  }

  get name() {
    return this.select.selectedOptions[0].textContent;
  }

  fill(list) {
    fillSelect(this.select, list.map(({ key, name }) => [key, name]));
    if (!list.some(({ key }) => key === this.key)) this.key = list[0].key; // `Tokenizers.add` dropped it
    this.select.value = this.key;
  }

  /** Tell the panel its number, for the names of its parts. */
  number(n, canRemove) {
    const name = `tokenizer ${n}`;
    this.element.setAttribute("aria-label", `Tokenizer ${n}`);
    this.select.setAttribute("aria-label", `Tokenizer ${n}`);
    this.price.setAttribute("aria-label", `Dollars per million tokens, ${name}`);
    this.ids.setAttribute("aria-label", `Ids of ${name}`);
    this.drop.setAttribute("aria-label", `Remove ${name}`);
    this.copy.setAttribute("aria-label", `Copy ids of ${name}`);
    this.view.list.setAttribute("aria-label", `Tokens of ${name}`);
    this.drop.hidden = !canRemove;
  }

  remove() {
    this.view.remove();
    this.element.remove();
  }

  async show(text, sizes, found, best) {
    this.now = { sizes, found, best };
    this.count();
    showTrust(this.note, found);
    const { ids, starts, ends } = found;
    this.showIds(ids);
    await this.view.set({ ids, starts, ends, text, book: bookOf(this.key) });
  }

  /** Write the first ids below the tokens. */
  showIds(ids) {
    const nHidden = ids.length - MAX_IDS;
    const said = ids.subarray(0, MAX_IDS).join(" ") + (nHidden > 0 ? ` … ${nHidden.toLocaleString("en")} more` : "");
    if (this.ids.textContent !== said) this.ids.textContent = said;
    this.ids.hidden = !ids.length;
  }

  /** Write the counts: tokens, bytes and characters per token, the ratio to the fewest tokens, and the cost. */
  count() {
    if (!this.now) return;
    const { sizes, found, best } = this.now;
    const n = found.n_tokens;
    const said = [];
    if (n) {
      said.push(`${(sizes.n_bytes / n).toFixed(2)} bytes per token`);
      said.push(`${(sizes.n_characters / n).toFixed(2)} characters per token`);
    }
    if (this.page.panels.length > 1 && best) said.push(n === best ? "fewest tokens" : `${(n / best).toFixed(2)}× the fewest`);
    const price = Number(this.price.value);
    if (this.price.value && price >= 0) said.push(`$${((n * price) / 1e6).toPrecision(3)} for this text`);
    this.said = [counted(n, "token"), ...said].join(", ");
    this.counts.replaceChildren(make("strong", {}, counted(n, "token")), ...said.map((phrase) => make("span", {}, phrase)));
  }

  async copyIds() {
    const ids = `[${this.now?.found.ids.join(", ") ?? ""}]`;
    try {
      await navigator.clipboard.writeText(ids);
      byId("news").textContent = "Copied.";
    } catch {
      keepAsFile(new Blob([ids], { type: "application/json" }), "ids.json");
    }
  }
}

/** Say which special and added tokens occur in a text, and what trusting the text changes. */
function showTrust(note, { found, sizes }) {
  note.hidden = !sizes;
  note.replaceChildren();
  if (!sizes) return;
  const named = (list) => list.map(({ name, count }) => (count > 1 ? `${name} (${count} times)` : name)).join(", ");
  const said = [];
  const { trusted, text, untrusted } = sizes;
  if (found.special.length) {
    said.push(`Contains special tokens: ${named(found.special)}. ${counted(text, "token")} as plain text,`);
    said.push(`${trusted} if you allow them. Do not allow them in text that you do not trust.`);
  }
  if (found.added.length) {
    said.push(`Added tokens become ids in any text: ${named(found.added)}.`);
    said.push(`${counted(untrusted, "token")} in an untrusted part of encode_parts.`);
  }
  note.append(said.join(" "));
}
