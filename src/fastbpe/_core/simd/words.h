/* Split text into pieces that no token of a code-point vocabulary crosses.
 *
 * Included once per instruction set, like blocks.h, which explains FB_FN and FB_V. fb_scalar_words does the same
 * character by character. Tried and dropped: prefetching text, as in blocks.h: no gain (docs/how/optimizations.md). */
#ifndef FASTBPE_WORDS_H
#define FASTBPE_WORDS_H

#include "utf8.h"
#include "word_facts.h"

FB_INLINE int fb_has(const uint8_t *bits, uint32_t c) { return bits[c >> 3] >> (c & 7) & 1; }

/* Tell whether no token contains the two characters one after the other. Two characters below U+0800 that are not
 * both ASCII are not in `pairs`: they are assumed to be adjacent in some token, if tokens have any characters beside
 * them. */
FB_INLINE int fb_apart(const fb_words *w, uint32_t c, uint32_t next) {
    uint64_t bit;
    if ((c | next) < 0x80) return !(w->within[c][next >> 6] >> (next & 63) & 1);
    if (!fb_has(w->has_behind, c) || !fb_has(w->has_before, next)) return 1;
    if ((c | next) < 0x800) return 0;
    bit = fb_pair_bit(c, next, w->pair_shift);
    return !(w->pairs[bit >> 6] >> (bit & 63) & 1);
}

/* Split from *at on, character by character: up to `stop` and on to the next ASCII character or the end of the text, or
 * until `room` ends have been written. Returns the number of ends.
 * at: where to begin; receives the position where it stopped.
 * last: the character before *at, 0x110000 at the start; receives the character before the new *at. */
static size_t fb_words_by_character(const uint8_t *text, size_t n, size_t *at, size_t stop, uint32_t *last,
                                    size_t *ends, size_t room, const fb_words *w) {
    size_t here = *at, n_ends = 0, n_bytes;
    uint32_t c = *last, next;
    while (here < n && (here < stop || c > 0x7F) && n_ends < room) {
        next = fb_char(text + here, &n_bytes);
        if (next == w->space_too) next = 0x20;
        if (c < 0x110000 && fb_apart(w, c, next)) ends[n_ends++] = here;
        c = next;
        here += n_bytes;
    }
    *at = here;
    *last = c;
    return n_ends;
}

static size_t fb_scalar_words(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                              const fb_words *w) {
    uint32_t last = 0x110000;
    size_t here = *at, n_ends = fb_words_by_character(text, n, &here, n, &last, ends, room - 1, w);
    if (here == n) ends[n_ends++] = n;
    *at = ends[n_ends - 1];
    return n_ends;
}

#endif

#ifdef FB_FN
/* Split from *at on: append the ends of pieces, until the end of the text or until `room` may not suffice for another
 * block; return their number. at: receives the last end. Requires: *at < n; room > FB_ROOM. */
static size_t FB_FN(words)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                           const fb_words *w) {
    size_t here = *at, n_ends = 0;
    uint32_t last = 0x110000;
    if (!w->by_words) return fb_scalar_words(text, n, at, ends, room, w);
    while (here < n && room - n_ends > FB_ROOM) {
        size_t n_here = n - here < 64 ? n - here : 64;
        FB_V(bytes) v = FB_V(load)(text + here, n_here);
        if (FB_V(high)(v) || (last > 0x7F && last < 0x110000)) {
            n_ends += fb_words_by_character(text, n, &here, here + n_here, &last, ends + n_ends,
                                            room - n_ends - 1, w);
            continue;
        }
        uint64_t space = FB_V(equal)(v, 0x20), cuts, after;
        FB_V(sets)(v, w, &cuts, &after);
        cuts |= space & ~(space << 1 | (last == 0x20));
        cuts |= after << 1;
        cuts &= fb_below(n_here);
        if (last < 0x80) /* bit 0 depends on the character before the block; the first block has no such character */
            cuts = (cuts & ~(uint64_t)1) | (uint64_t)fb_apart(w, last, text[here]);
        else
            cuts &= ~(uint64_t)1;
        n_ends += FB_V(put)(ends + n_ends, here, cuts);
        here += n_here;
        last = text[here - 1];
    }
    if (here == n) ends[n_ends++] = n;
    *at = ends[n_ends - 1];
    return n_ends;
}
#endif
