// Blocks of tokens: a text is cut into blocks at line ends, so that only the blocks in view have to be drawn.

const MIN_TOKENS = 40; // fewest tokens of a block, unless the text ends
const MAX_TOKENS = 400; // most tokens of a block; a longer line is cut there
const BEFORE_AND_AFTER = 250; // pixels that are drawn beyond the view

/**
 * Cut tokens into blocks.
 * @param {string} text
 * @param {Uint32Array|null} ends end of each token in the text; null: not known
 * @param {number} n number of tokens
 * @returns {Array<{first: number, last: number, lines: number, units: number}>}
 *   tokens from first to before last; units: their UTF-16 code units, or 4 per token if ends is null
 */
export function blocksOf(text, ends, n) {
  const blocks = [];
  let first = 0;
  let at = 0;
  let lines = 0;
  let begin = 0;
  let newline = ends ? text.indexOf("\n") : -1;
  for (let i = 0; i < n; i++) {
    const end = ends ? ends[i] : 4 * (i + 1);
    let endsLine = false;
    while (newline >= 0 && newline < end) {
      lines++;
      at = newline + 1;
      endsLine = true;
      newline = text.indexOf("\n", at);
    }
    const size = i + 1 - first;
    if ((endsLine && size >= MIN_TOKENS) || size >= MAX_TOKENS || i === n - 1) {
      blocks.push({ first, last: i + 1, lines, units: end - begin });
      first = i + 1;
      lines = 0;
      begin = end;
    }
  }
  return blocks;
}

/** Heights of blocks: guessed until a block has been drawn once. A line end leaves about 0.4 of its line empty. */
export class Heights {
  constructor(blocks, unitsPerLine, lineHeight) {
    this.heights = Float64Array.from(blocks, ({ lines, units }) =>
      lineHeight * Math.max(1, Math.ceil(units / unitsPerLine) + lines * 0.4)
    );
  }

  /** Return the blocks to draw for a part of the whole height, and the height before and after them. */
  visible(top, height) {
    const from = top - BEFORE_AND_AFTER;
    const to = top + height + BEFORE_AND_AFTER;
    let before = 0;
    let first = 0;
    const n = this.heights.length;
    while (first < n - 1 && before + this.heights[first] < from) before += this.heights[first++];
    let y = before;
    let last = first;
    while (last < n && y < to) y += this.heights[last++];
    let after = 0;
    for (let i = last; i < n; i++) after += this.heights[i];
    return { first, last, before, after };
  }

  /** Keep the height of a block that was drawn. Returns the difference from the height that it had. */
  keep(block, height) {
    const difference = height - this.heights[block];
    this.heights[block] = height;
    return difference;
  }

  /** Keep the heights of the first blocks, as far as they are the same as before. */
  keepSame(blocks, oldBlocks, old) {
    for (let i = 0; i < Math.min(blocks.length, oldBlocks.length); i++) {
      if (blocks[i].last !== oldBlocks[i].last || blocks[i].units !== oldBlocks[i].units) return;
      this.heights[i] = old.heights[i];
    }
  }

  /** Return the block at a height. */
  at(y) {
    let block = 0;
    for (let sum = 0; block < this.heights.length - 1 && (sum += this.heights[block]) <= y; ) block++;
    return block;
  }

  /** Return the height before a block. */
  before(block) {
    let sum = 0;
    for (let i = 0; i < block; i++) sum += this.heights[i];
    return sum;
  }
}
