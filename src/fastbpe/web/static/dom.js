// Elements of the page. Text only ever becomes text nodes: nothing here parses HTML.

/** Find an element by its id. */
export const byId = (id) => document.getElementById(id);

/**
 * Make an element.
 * @param {string} tag
 * @param {Object} attributes name to value; undefined: left out
 * @param {...(Node|string)} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Write a number with its noun: "1 token", "1,200 bytes". */
export function counted(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** Fill a select with options, and keep its choice if it is still there. */
export function fillSelect(select, options) {
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
  if (options.some(([value]) => String(value) === chosen)) select.value = chosen;
}

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu; // characters without a shape; directional ones would reorder a note

/** Show a note, or hide it if there is nothing to say. A character without a shape is shown as its code point. */
export function showNote(element, said) {
  element.textContent = said.replace(HIDDEN, (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
  element.hidden = !said;
}

const LARGE = 20_000; // characters

/**
 * Take large pastes into a text field without the browser's editing, whose time grows with the square of the number of
 * lines. Undo forgets such a paste. (Lines of 34 bytes, by document.execCommand("insertText"): 0.4 s for 20 KB, 33 s for
 * 200 KB; headless Chromium 156, two busy cores of an AMD EPYC, 2026-11-30.)
 */
export function takeLargePastes(field) {
  field.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (text.length < LARGE) return;
    event.preventDefault();
    field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input"));
  });
}

const LETTER = /\p{L}/u;
// The scripts from right to left that most such languages of today use: regexes know no directions.
const FROM_RIGHT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Nko}\p{Script=Syriac}\p{Script=Thaana}]/u;
const LOOKED_AT = 1000; // characters

/**
 * Let the first letter of a text field decide its direction. dir="auto" would do so, but Chromium looks through the whole
 * text for each line of it: 2.2 instead of 0.2 s to set the value of a field to 1 MB (as above).
 */
export function setDirection(field, text) {
  const letter = LETTER.exec(text.slice(0, LOOKED_AT))?.[0] ?? "";
  const direction = FROM_RIGHT.test(letter) ? "rtl" : "ltr";
  if (field.dir !== direction) field.dir = direction; // to set the same again would lay out the whole text again
}

/** Offer a blob to the user as a download. */
export function keepAsFile(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000); // the browser may read it a while after the click
}
