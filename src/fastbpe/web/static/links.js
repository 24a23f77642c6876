// The state of the page as the fragment of its address: browsers send no fragment to any server.

const MAX_LINK = 60_000; // characters of a fragment: a choice, since programs that pass links on cut long ones

const FORM = "#1"; // begins the fragment of a state; a later form of states needs another number

const through = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

/**
 * Write a state as a fragment: JSON, compressed, in base64url.
 * @param {{text: string, names: string[], special: boolean}} state
 */
export async function fragmentOf(state) {
  const packed = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let letters = "";
  for (const byte of packed) letters += String.fromCharCode(byte);
  // Without "=" at the end, which atob does not need.
  const fragment = `${FORM}${btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}`;
  if (fragment.length > MAX_LINK) throw new Error("This text is too long for a link. Use “Share as HTML”.");
  return fragment;
}

/** Read a fragment; null: it holds no state. A damaged one is an error. */
export async function stateOf(fragment) {
  if (!fragment.startsWith(FORM)) return null;
  try {
    const letters = atob(fragment.slice(FORM.length).replace(/-/g, "+").replace(/_/g, "/"));
    const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const plain = await through(packed, new DecompressionStream("deflate-raw"));
    return checked(JSON.parse(new TextDecoder().decode(plain)));
  } catch {
    throw new Error("This link is damaged: it holds no text.");
  }
}

const KEPT = "fastbpe"; // key in the storage of the tab
const MAX_KEPT = 2_000_000; // characters; the storage of a tab holds about five million

/** Keep a state for a reload of this tab. */
export function keep(state) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(state.text.length > MAX_KEPT ? { ...state, text: "" } : state));
  } catch {
    sessionStorage.removeItem(KEPT); // no room: a reload begins empty, not with an older state
  }
}

/** Return the state that was kept; null: none. */
export function kept() {
  try {
    return checked(JSON.parse(sessionStorage.getItem(KEPT)));
  } catch {
    return null;
  }
}

function checked(state) {
  const { text, names, special } = state ?? {};
  const isGood = typeof text === "string" && Array.isArray(names) && names.every((name) => typeof name === "string");
  if (!isGood) throw new Error("no state");
  return { text, names, special: special === true };
}
