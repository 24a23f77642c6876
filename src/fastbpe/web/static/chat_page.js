// Chat view: messages in the form of a template, encoded so that no message makes a special token.
import { bookOf, chat, complain } from "./api.js";
import { byId, counted, fillSelect, make, showNote } from "./dom.js";
import { TokenView } from "./token_view.js";

const START = [
  ["system", "You are brief."],
  ["user", "Why is the sky blue?"],
];

export class ChatPage {
  constructor(facts, tokenizers) {
    this.facts = facts;
    this.tokenizers = tokenizers;
    this.view = new TokenView(byId("chat-view"), "Tokens of the chat", facts.kinds);
    fillSelect(byId("chat-template"), facts.templates.map((name) => [name, name]));
    byId("chat-template").addEventListener("change", () => this.refresh());
    byId("chat-tokenizer").addEventListener("change", () => this.chooseTemplate());
    byId("add-message").addEventListener("click", () => {
      const { length } = byId("messages").children;
      this.addMessage(length % 2 ? "user" : "assistant", "").querySelector("textarea").focus();
      this.refresh();
    });
    for (const [role, content] of START) this.addMessage(role, content);
    this.chooseTemplate();
  }

  /** Choose the template whose special tokens the tokenizer has, if there is one. */
  chooseTemplate() {
    const { template } = this.tokenizers.list.find(({ key }) => key === Number(byId("chat-tokenizer").value));
    if (template) byId("chat-template").value = template;
    this.refresh();
  }

  addMessage(role, content) {
    const select = make("select", { "aria-label": "Role" });
    fillSelect(select, this.facts.roles.map((name) => [name, name]));
    select.value = role;
    const text = make("textarea", { rows: 3, spellcheck: "false", "aria-label": "Message", dir: "auto" });
    text.value = content;
    const drop = make("button", { type: "button", "aria-label": "Remove this message" }, "Remove");
    const item = make("li", {}, select, text, drop);
    select.addEventListener("change", () => this.refresh());
    text.addEventListener("input", () => this.refresh());
    drop.addEventListener("click", () => {
      item.remove();
      byId("add-message").focus();
      this.refresh();
    });
    byId("messages").append(item);
    return item;
  }

  async refresh() {
    if (byId("page-chat").hidden) return;
    const messages = [...byId("messages").children].map((item) => ({
      role: item.querySelector("select").value,
      content: item.querySelector("textarea").value,
    }));
    const key = Number(byId("chat-tokenizer").value);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const found = await chat(key, byId("chat-template").value, messages);
      if (turn !== this.turn) return; // a later question is under way
      complain("");
      byId("chat-counts").textContent = [
        counted(found.n_tokens, "token"),
        `${found.n_content} of the messages`,
        counted(found.n_control, "special token"),
      ].join(", ");
      const said = [];
      if (found.missing.length) {
        said.push(`This vocabulary has no ${found.missing.join(", ")}: the template's marks are plain text in it.`);
      }
      if (found.n_forged > 0) {
        said.push(
          `The messages name special tokens. They stay text here; encoding the whole prompt with all of them allowed`,
          `would give ${found.n_forged} more special tokens than the template has.`
        );
      }
      showNote(byId("chat-note"), said.join(" "));
      await this.view.set({ ids: found.ids, starts: null, ends: null, text: "", book: bookOf(key) });
    } catch (error) {
      complain(error.message);
    }
  }
}
