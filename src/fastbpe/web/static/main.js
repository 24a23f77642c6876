// Beginning of the page: what the server offers, the tabs, and files that are dropped or opened.
import { addFile, addKnown, complain, pageFacts } from "./api.js";
import { byId, fillSelect } from "./dom.js";
import { ChatPage } from "./chat_page.js";
import { kept, stateOf } from "./links.js";
import { TextPage } from "./text_page.js";
import { showSigns } from "./token_view.js";
import { TrainPage } from "./train_page.js";
import { WordPage } from "./word_page.js";

const MAX_FILE = 8 * 1024 * 1024; // bytes of a text that is opened; a choice below the server's limit
const MAX_VOCABULARY = 16 * 1024 * 1024; // bytes of a tokenizer: the server's limit, MAX_BODY_BYTES of web/guard.py
const VOCABULARY = /\.(model|tiktoken|fbpe|gguf)$|(tokenizer|tekken).*\.json$/i; // names of files that are tokenizers

/** The tokenizers of the page. */
class Tokenizers {
  constructor(list, maxAdded) {
    this.list = list;
    this.maxAdded = maxAdded;
    this.listeners = [];
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  /** Add a tokenizer, and drop the oldest added ones beyond maxAdded, as the server does. */
  add(tokenizer) {
    this.list = [...this.list, tokenizer];
    const added = this.list.filter((other) => other.is_added);
    const gone = added.slice(0, Math.max(0, added.length - this.maxAdded));
    this.list = this.list.filter((other) => !gone.includes(other));
    for (const listener of this.listeners) listener();
  }
}

async function begin() {
  const facts = await pageFacts();
  const tokenizers = new Tokenizers(facts.tokenizers, facts.max_added);
  const fill = () => {
    for (const select of document.querySelectorAll("select.tokenizers")) {
      fillSelect(select, tokenizers.list.map(({ key, name }) => [key, name]));
    }
  };
  fill();
  tokenizers.onChange(fill);
  const text = new TextPage(facts, tokenizers);
  const train = new TrainPage(facts, tokenizers, text);
  const pages = { text, chat: new ChatPage(facts, tokenizers), word: new WordPage(), train };
  tokenizers.onChange(() => [pages.chat, pages.word].forEach((page) => page.refresh()));

  const tabs = [...byId("tabs").children];
  const choose = (tab) => {
    for (const each of tabs) {
      const isChosen = each === tab;
      each.setAttribute("aria-selected", isChosen);
      each.tabIndex = isChosen ? 0 : -1;
      byId(each.getAttribute("aria-controls")).hidden = !isChosen;
    }
    complain("");
    pages[tab.id.slice("tab-".length)].refresh();
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(i + step + tabs.length) % tabs.length];
      next.focus();
      choose(next);
    });
  });

  const isTraining = () => !byId("page-train").hidden;
  const add = async (answer) => {
    try {
      const { tokenizer } = await answer;
      tokenizers.add(tokenizer);
      choose(byId("tab-text"));
      text.showTokenizer(tokenizer.key);
    } catch (error) {
      complain(error.message);
    }
  };
  const open = async (file) => {
    if (VOCABULARY.test(file.name)) {
      if (file.size <= MAX_VOCABULARY) await add(addFile(file));
      else complain(`${file.name} is larger than ${MAX_VOCABULARY / 1024 / 1024} MB; start fastbpe web with -m and its path instead.`);
      return;
    }
    if (file.size > MAX_FILE) {
      complain(`${file.name} is larger than ${MAX_FILE / 1024 / 1024} MB, the limit for a text on this page.`);
      return;
    }
    const content = await file.text();
    if (isTraining()) train.setText(content, file.name);
    else {
      choose(byId("tab-text"));
      text.setText(content);
    }
  };
  for (const name of ["dragenter", "dragover"]) {
    addEventListener(name, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      document.body.classList.add("dropping");
    });
  }
  // relatedTarget is null only when the pointer leaves the window.
  addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    const [file] = event.dataTransfer.files;
    if (!file) return; // text, which the browser itself inserts into a field
    event.preventDefault();
    open(file);
  });
  byId("open").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", () => {
    const [file] = byId("file").files;
    if (file) open(file);
    byId("file").value = ""; // else the same file, chosen again, would be no change
  });
  for (const box of document.querySelectorAll(".signs")) {
    box.addEventListener("change", () => {
      for (const other of document.querySelectorAll(".signs")) other.checked = box.checked;
      showSigns(box.checked);
    });
  }
  fillSelect(byId("known"), [["", "choose…"], ...facts.known.map((name) => [name, name])]);
  byId("more").hidden = !facts.known.length;
  byId("known").addEventListener("change", () => {
    const { value } = byId("known");
    byId("known").value = "";
    if (value) add(addKnown(value));
  });
  let said = "";
  const linked = await stateOf(location.hash).catch((error) => {
    said = error.message;
    return null;
  });
  const state = linked ?? kept();
  const missing = state ? text.setState(state) : [];
  if (linked && missing.length) said = `The link names tokenizers that this page does not have: ${missing.join(", ")}.`;
  if (said) complain(said);
  byId("text").focus();
  document.body.dataset.ready = "";
}

begin().catch((error) => complain(error.message));
