// Questions to the server. Answers about tokens are kept for each tokenizer.
import { byId, showNote } from "./dom.js";

let nComplaints = 0;

/** Show an error at the top of the page; "" hides it. */
export function complain(said) {
  nComplaints++;
  showNote(byId("failure"), said);
}

/** Return a function that hides the error shown now. A later error, say of a dropped file, stays. */
export function complaintBefore() {
  const seen = nComplaints;
  return () => seen === nComplaints && complain("");
}

async function ask(name, query, body) {
  const url = `/api/${name}?${new URLSearchParams(query)}`;
  let answer;
  try {
    // A Blob, since Chromium needs several times as long for a large string (98 instead of 18 ms for 1 MB;
    // headless Chromium 156, two busy cores of an AMD EPYC, least of 14 answers to a POST, 2026-11-29).
    answer = await fetch(url, { method: "POST", body: new Blob([body]) });
  } catch {
    throw new Error("The server does not answer. Is fastbpe web still running?");
  }
  if (answer.ok) return answer;
  // The application refuses with JSON; the guard, and the server after a fault of its own, with plain text.
  const isJson = answer.headers.get("content-type") === "application/json";
  const reason = isJson ? (await answer.json()).error : await answer.text();
  throw new Error(`${reason.trim() || `The server answered with status ${answer.status}`}.`);
}

const ARRAYS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }; // by the bytes of a number

/** Learn what the server offers. */
export async function pageFacts() {
  const answer = await fetch("/api/page");
  return answer.json();
}

/**
 * Encode a text with several tokenizers. `encoded` in web/answers.py describes the answer's bytes.
 * @returns {Promise<{n_characters: number, n_bytes: number, texts: Object[]}>} each text with ids, starts and ends
 */
export async function encode(keys, text, special) {
  const answer = await ask("encode", { with: keys.join(","), special: special ? 1 : 0 }, text);
  const buffer = await answer.arrayBuffer();
  const size = new DataView(buffer).getUint32(0, true);
  const found = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  let at = 4 + size; // in the buffer: where the next array begins
  for (const result of found.texts) {
    const [ids, steps, lengths] = result.widths.map((width) => {
      const numbers = new ARRAYS[width](buffer, at, result.n_tokens);
      at += 4 * Math.ceil(numbers.byteLength / 4);
      return numbers;
    });
    const starts = new Uint32Array(result.n_tokens);
    const ends = new Uint32Array(result.n_tokens);
    let start = 0;
    for (let i = 0; i < starts.length; i++) {
      start += steps[i]; // a negative step comes modulo 2**32, and the arrays store starts and ends so, too
      starts[i] = start;
      ends[i] = start + lengths[i];
    }
    Object.assign(result, { ids, starts, ends });
  }
  return found;
}

export const chat = async (key, template, messages) =>
  (await ask("chat", { with: key, template }, JSON.stringify(messages))).json();

export const word = async (key, text) => (await ask("word", { with: key }, text)).json();

export const share = async (keys, text, special) =>
  (await ask("share", { with: keys.join(","), special: special ? 1 : 0 }, text)).blob();

/** Add a tokenizer: a file that was dropped, or a published vocabulary of this machine. */
export const addFile = async (file) => (await ask("add", { name: file.name }, file)).json();
export const addKnown = async (name) => (await ask("known", { name }, "")).json();

export const file = async (key) => (await ask("file", { with: key }, "")).blob();

/** Train on a text; each report of the progress goes to `tell`. Returns the last one. */
export async function train(text, options, tell) {
  const answer = await ask("train", options, text);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = ""; // beginning of a line that is not complete yet
  let last = {};
  for (;;) {
    const { value, done } = await reader.read();
    rest += value ?? "";
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) {
      last = JSON.parse(line);
      tell(last);
    }
    if (done) break;
  }
  if (last.error) throw new Error(last.error);
  if (!last.tokenizer) throw new Error("Training ended early.");
  return last;
}

/**
 * Descriptions of the tokens of one tokenizer, each asked for once; for the unknown token, once for itself, and once for
 * each text that it replaces.
 */
export class TokenBook {
  constructor(key) {
    this.key = key;
    this.known = new Map();
  }

  /** Return the description of an id, or undefined. `source` is the text of an unknown token. */
  get(id, source) {
    const found = this.known.get(id);
    return found?.kind === "unknown" ? this.known.get(`${id} ${source}`) : found;
  }

  /**
   * Ask for what is missing.
   * @param {Array<[number, string]>} wanted ids, each with its text
   * @returns {Promise<boolean>} whether anything new is known
   */
  async learn(wanted) {
    const missing = new Map();
    for (const [id, source] of wanted) {
      const found = this.known.get(id);
      if (!found) missing.set(id, id);
      else if (found.kind === "unknown" && !this.known.has(`${id} ${source}`)) missing.set(`${id} ${source}`, [id, source]);
    }
    if (!missing.size) return false;
    const answer = await ask("tokens", { with: this.key }, JSON.stringify([...missing.values()]));
    const described = await answer.json();
    [...missing.keys()].forEach((name, i) => this.known.set(name, described[i]));
    return true;
  }
}

const books = new Map();

/** Return the book of a tokenizer. */
export function bookOf(key) {
  if (!books.has(key)) books.set(key, new TokenBook(key));
  return books.get(key);
}
