// Train view: a small vocabulary learns from a text, and its growth can be watched.
import { bookOf, complain, complaintBefore, encode, file, train } from "./api.js";
import { byId, counted, fillSelect, keepAsFile, make, setDirection, takeLargePastes } from "./dom.js";
import { appendParts, TokenView } from "./token_view.js";

const SAMPLE = 2000; // characters of the text that are watched
const LATEST = 12; // merges that are listed
const N_BYTES = 256;
const FRAMES = 60; // frames of the animation
const FRAME = 120; // milliseconds

export class TrainPage {
  constructor(facts, tokenizers, textPage) {
    this.exact = null;
    this.tokenizers = tokenizers;
    this.view = new TokenView(byId("learned-view"), "Tokens of the text's beginning", facts.kinds);
    fillSelect(byId("train-pattern"), facts.patterns.map((name) => [name, name]));
    byId("train-pattern").value = "cl100k";
    [byId("train-size").min, byId("train-size").max] = facts.vocab_size;
    byId("train-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.train();
    });
    takeLargePastes(byId("train-text"));
    byId("train-text").addEventListener("input", () => {
      this.exact = null;
      setDirection(byId("train-text"), byId("train-text").value);
    });
    byId("take-text").addEventListener("click", () => this.setText(textPage.content));
    byId("learned-size").addEventListener("input", () => this.stop());
    byId("learned-size").addEventListener("input", () => this.show());
    byId("play").addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    byId("save").addEventListener("click", () => this.save());
  }

  /** Called when the tab is chosen, as in all views; this one keeps its state. */
  refresh() {}

  setText(text, name) {
    byId("train-text").value = text;
    this.exact = text;
    setDirection(byId("train-text"), text);
    // maxLength itself limits only what is typed.
    if (name) byId("train-name").value = name.slice(0, byId("train-name").maxLength);
    byId("train-said").textContent = counted(text.length, "character");
  }

  async train() {
    this.stop();
    const text = this.exact ?? byId("train-text").value;
    const bar = byId("train-progress");
    const said = byId("train-said");
    const options = {
      vocab_size: byId("train-size").value,
      pattern: byId("train-pattern").value,
      name: byId("train-name").value,
    };
    byId("train").disabled = true;
    bar.hidden = false;
    bar.removeAttribute("value");
    said.textContent = "Training…";
    const hideOld = complaintBefore();
    try {
      const found = await train(text, options, ({ phase, done, total }) => {
        if (!phase) return;
        if (total) bar.value = done / total;
        said.textContent = `${phase}: ${done.toLocaleString("en")}${total ? ` of ${total.toLocaleString("en")}` : ""}`;
      });
      hideOld();
      this.learned(found, text, Number(options.vocab_size));
    } catch (error) {
      said.textContent = "";
      complain(error.message);
    } finally {
      byId("train").disabled = false;
      bar.hidden = true;
    }
  }

  learned({ tokenizer, merges }, text, wanted) {
    this.tokenizer = tokenizer;
    this.merges = merges;
    this.sample = text.slice(0, SAMPLE).replace(/[\ud800-\udbff]$/, ""); // not half a surrogate pair
    const few = tokenizer.n_vocab < wanted ? "; no pair was left to merge" : "";
    byId("train-said").textContent = `Learned ${counted(merges.length, "merge")}${few}. All views can use “${tokenizer.name}” now.`;
    byId("learned").hidden = false;
    const slider = byId("learned-size");
    [slider.min, slider.max] = [N_BYTES, tokenizer.n_vocab];
    slider.value = tokenizer.n_vocab;
    this.tokenizers.add(tokenizer);
    this.show();
  }

  /** Show the beginning of the text as the vocabulary of the chosen size sees it. */
  async show() {
    this.isStale = true;
    this.running ??= this.run().finally(() => (this.running = null));
    return this.running;
  }

  async run() {
    while (this.isStale) {
      this.isStale = false;
      const { tokenizer, sample } = this;
      const size = Number(byId("learned-size").value);
      try {
        const found = await encode([`${tokenizer.key}:${size}`], sample, false);
        const { ids, starts, ends, n_tokens } = found.texts[0];
        byId("learned-now").textContent = `${counted(size, "id")}: ${counted(n_tokens, "token")}`;
        this.list(size - N_BYTES);
        await this.view.set({ ids, starts, ends, text: sample, book: bookOf(tokenizer.key) });
      } catch (error) {
        this.stop();
        complain(error.message);
      }
    }
  }

  list(n) {
    const items = [];
    for (let i = n - 1; i >= Math.max(0, n - LATEST); i--) {
      const [left, right] = this.merges[i].map((parts, side) =>
        appendParts(make("bdi", { class: `c${side}` }), parts, true)
      );
      items.push(make("li", { value: N_BYTES + i }, left, right));
    }
    byId("learned-merges").replaceChildren(...items);
  }

  play() {
    const slider = byId("learned-size");
    const total = this.merges.length;
    let frame = 0;
    byId("play").textContent = "Stop";
    const next = async () => {
      const running = this.timer;
      // Each frame multiplies the number of merges: the first ones change most.
      slider.value = N_BYTES + Math.round((total + 1) ** (frame / FRAMES)) - 1;
      await this.show();
      if (this.timer !== running) return; // it was stopped meanwhile, and perhaps started again
      if (frame++ >= FRAMES) this.stop();
      else this.timer = setTimeout(next, FRAME);
    };
    this.timer = setTimeout(next, 0);
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    byId("play").textContent = "Watch it learn";
  }

  async save() {
    try {
      keepAsFile(await file(this.tokenizer.key), `${this.tokenizer.name.replace(/[^\w.-]+/g, "_")}.fbpe`);
    } catch (error) {
      complain(error.message);
    }
  }
}
