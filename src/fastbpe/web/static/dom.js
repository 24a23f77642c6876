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

/** Show a note, or hide it if there is nothing to say. */
export function showNote(element, said) {
  element.textContent = said;
  element.hidden = !said;
}

/** Offer bytes as a file to keep. */
export function keepAsFile(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
