// Beginning of the page: what the server offers, the tabs, and files that are dropped or opened.
import { complain, pageFacts } from "./api.js";
import { byId, fillSelect } from "./dom.js";
import { ChatPage } from "./chat_page.js";
import { TextPage } from "./text_page.js";
import { showSigns } from "./token_view.js";
import { TrainPage } from "./train_page.js";
import { WordPage } from "./word_page.js";

const MAX_FILE = 8 * 1024 * 1024; // bytes of a file that is opened

/** The tokenizers of the page. */
class Tokenizers {
  constructor(list) {
    this.list = list;
    this.listeners = [];
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  add(one, maxTrained) {
    this.list = [...this.list, one];
    const trained = this.list.filter((other) => other.is_trained);
    const gone = trained.slice(0, Math.max(0, trained.length - maxTrained));
    this.list = this.list.filter((other) => !gone.includes(other));
    for (const listener of this.listeners) listener();
  }
}

async function begin() {
  const facts = await pageFacts();
  const tokenizers = new Tokenizers(facts.tokenizers);
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
    for (const one of tabs) {
      const isChosen = one === tab;
      one.setAttribute("aria-selected", isChosen);
      one.tabIndex = isChosen ? 0 : -1;
      byId(one.getAttribute("aria-controls")).hidden = !isChosen;
    }
    complain("");
    pages[tab.id.slice(4)].refresh();
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
  const open = async (file) => {
    if (file.size > MAX_FILE) {
      complain(`${file.name} has more than ${MAX_FILE / 1024 / 1024} MB: the page is for smaller texts.`);
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
  addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    open(file);
  });
  byId("open").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", () => {
    const [file] = byId("file").files;
    if (file) open(file);
    byId("file").value = "";
  });
  for (const box of document.querySelectorAll(".signs")) {
    box.addEventListener("change", () => {
      for (const other of document.querySelectorAll(".signs")) other.checked = box.checked;
      showSigns(box.checked);
    });
  }
  byId("text").focus();
  document.body.dataset.ready = "";
}

begin().catch((error) => complain(error.message));
