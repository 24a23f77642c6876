// Chat view: messages in the form of a template. No message makes a special token, unless the template changes
// the messages.
import { bookOf, chat, complain, complaintBefore } from "./api.js";
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
    byId("chat-template").addEventListener("change", () => this.refresh());
    byId("chat-tokenizer").addEventListener("change", () => this.chooseTemplate());
    byId("add-message").addEventListener("click", () => {
      const { length } = byId("messages").children;
      // START ends with the user, after an even number of messages.
      this.addMessage(length % 2 ? "user" : "assistant", "").querySelector("textarea").focus();
      this.refresh();
    });
    for (const [role, content] of START) this.addMessage(role, content);
    this.chooseTemplate();
  }

  /** Choose the model's own template, or the one whose special tokens the tokenizer has, if there is one. */
  chooseTemplate() {
    const { template, has_own_template } = this.chosen();
    const { templates, own_template, has_jinja } = this.facts;
    const select = byId("chat-template");
    const before = select.value;
    const own = has_own_template && has_jinja ? [[own_template, "The model's own"]] : [];
    fillSelect(select, [...own, ...templates.map((name) => [name, name])]);
    if (own.length) select.value = own_template;
    else if (template) select.value = template;
    else if (templates.includes(before)) select.value = before;
    byId("chat-jinja").hidden = !has_own_template || has_jinja;
    this.refresh();
  }

  /** The tokenizer that is chosen. */
  chosen() {
    return this.tokenizers.list.find(({ key }) => key === Number(byId("chat-tokenizer").value));
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

  /** Encode the chat again. While one answer is awaited, only the latest chat waits behind it: a template takes time. */
  async refresh() {
    this.isStale = true;
    this.hideOld = complaintBefore();
    this.running ??= this.run().finally(() => (this.running = null));
    return this.running;
  }

  async run() {
    while (this.isStale && !byId("page-chat").hidden) {
      this.isStale = false;
      await this.encode();
    }
  }

  async encode() {
    const messages = [...byId("messages").children].map((item) => ({
      role: item.querySelector("select").value,
      content: item.querySelector("textarea").value,
    }));
    const key = Number(byId("chat-tokenizer").value);
    try {
      const found = await chat(key, byId("chat-template").value, messages);
      if (this.isStale) return;
      this.hideOld();
      byId("chat-counts").textContent = [
        counted(found.n_tokens, "token"),
        `${found.n_content} in the messages`,
        counted(found.n_control, "special token"),
      ].join(", ");
      const said = [];
      if (found.missing.length) {
        said.push(`This vocabulary lacks special tokens of the template, which become plain text: ${found.missing.join(", ")}.`);
      }
      if (found.is_mixed) {
        said.push(
          "This template changes the messages, so the page cannot tell them from the template's own text. Special tokens in the",
          "messages become ids, as in transformers."
        );
      }
      if (found.n_forged > 0) {
        said.push(
          `The messages contain special tokens, which stay text here. Encoding the whole prompt with all special tokens`,
          `allowed would give ${found.n_forged} more special tokens than the template has.`
        );
      }
      showNote(byId("chat-note"), said.join(" "));
      await this.view.set({ ids: found.ids, starts: null, ends: null, text: "", book: bookOf(key) });
    } catch (error) {
      if (!this.isStale) complain(error.message);
    }
  }
}
