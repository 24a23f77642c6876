/* Find the end of one piece, character by character: the meaning of each family of split patterns, in plain C.
 *
 * The block scanners are tested against this file. They call it where their algebra does not decide a piece: for
 * example at white space outside ASCII (without vectors, at any character outside ASCII), or in a piece that is
 * longer than a block.
 *
 * All functions require that n is fb_whole_end() of the text and, if they take i, that i < n. They return an offset,
 * which is at most n.
 */
#ifndef FASTBPE_PIECES_H
#define FASTBPE_PIECES_H

#include "classes.h"

typedef struct {
    int family;           /* FB_GPT2, FB_CL100K, FB_O200K or FB_DEEPSEEK */
    int n_digits;         /* maximum number of digits in a piece; 0: no limit */
    int contractions;     /* cl100k: separate pieces; o200k: ends of words; gpt2, deepseek: not used */
    int end_is_one_piece; /* white space up to the end of the text is one piece, even with newlines */
} fb_pattern;

enum { FB_GPT2, FB_CL100K, FB_O200K, FB_DEEPSEEK };

/* The beginning of the character that ends at `end`. */
static inline size_t fb_last_char(const uint8_t *text, size_t end) {
    do end--; while ((text[end] & 0xC0) == 0x80);
    return end;
}

/* The end of a piece that begins with white space: \s*[\r\n]+ (except for gpt2), or else \s+(?!\S), or else \s. */
static inline size_t fb_blank_end(const uint8_t *text, size_t n, size_t i, const fb_pattern *pattern) {
    size_t end = fb_run(text, n, i, FB_BLANKS);
    if (end == n && (pattern->end_is_one_piece || pattern->family == FB_GPT2)) return n;
    if (pattern->family != FB_GPT2) {
        for (size_t k = end; k > i; k--)
            if (text[k - 1] == '\n' || text[k - 1] == '\r') return k;
        if (end == n) return n;
    }
    size_t last = fb_last_char(text, end);
    return last > i ? last : end;
}

/* The end of up to n_digits numbers. */
static inline size_t fb_numbers_end(const uint8_t *text, size_t n, size_t i, int n_digits) {
    size_t n_bytes;
    for (int k = 0; (n_digits == 0 || k < n_digits) && i < n; k++) {
        if (fb_class_at(text + i, &n_bytes) != FB_NUMBER) break;
        i += n_bytes;
    }
    return i;
}

static inline size_t fb_gpt2_end(const uint8_t *text, size_t n, size_t i, const fb_pattern *pattern) {
    size_t n_bytes, at, found;
    if (text[i] == '\'' && (found = fb_contraction(text, n, i, 0))) return i + found;
    at = i + (text[i] == ' ');
    if (at < n) {
        unsigned cls = fb_class_at(text + at, &n_bytes);
        if (FB_IS(cls, FB_LETTERS)) return fb_run(text, n, at, FB_LETTERS);
        if (cls == FB_NUMBER) return fb_run(text, n, at, FB_SET(FB_NUMBER));
        if (!FB_IS(cls, FB_BLANKS)) return fb_run(text, n, at, FB_OTHERS | FB_SET(FB_MARK));
    }
    return fb_blank_end(text, n, i, pattern);
}

/* The end of a piece that is not a word, for cl100k and o200k: numbers, a run of other characters, white space. */
static inline size_t fb_rest_end(const uint8_t *text, size_t n, size_t i, const fb_pattern *pattern) {
    size_t n_bytes, at, end;
    if (fb_class_at(text + i, &n_bytes) == FB_NUMBER) return fb_numbers_end(text, n, i, pattern->n_digits);
    at = i + (text[i] == ' ');
    end = fb_run(text, n, at, FB_OTHERS | FB_SET(FB_MARK));
    if (end == at) return fb_blank_end(text, n, i, pattern);
    while (end < n && (text[end] == '\n' || text[end] == '\r' || (text[end] == '/' && pattern->family == FB_O200K)))
        end++;
    return end;
}

static inline size_t fb_cl100k_end(const uint8_t *text, size_t n, size_t i, const fb_pattern *pattern) {
    size_t n_bytes, found, after;
    if (pattern->contractions && text[i] == '\'' && (found = fb_contraction(text, n, i, 1))) return i + found;
    unsigned cls = fb_class_at(text + i, &n_bytes);
    if (FB_IS(cls, FB_LETTERS)) return fb_run(text, n, i, FB_LETTERS);
    if (cls != FB_NEWLINE && cls != FB_NUMBER && i + n_bytes < n &&
        FB_IS(fb_class_at(text + i + n_bytes, &after), FB_LETTERS))
        return fb_run(text, n, i + n_bytes, FB_LETTERS);
    return fb_rest_end(text, n, i, pattern);
}

/* The end of a word of o200k: [upper, caseless, mark]*[lower, caseless, mark]+ if lower_needed, otherwise
 * [upper, caseless, mark]+[lower, caseless, mark]*; i if there is no word. */
static inline size_t fb_word_end(const uint8_t *text, size_t n, size_t i, int lower_needed) {
    const unsigned both = FB_SET(FB_LETTER) | FB_SET(FB_MARK);
    size_t at = i, last_both = 0, n_bytes;
    unsigned cls = FB_OTHER;
    while (at < n && FB_IS(cls = fb_class_at(text + at, &n_bytes), both | FB_SET(FB_UPPER))) {
        at += n_bytes;
        if (FB_IS(cls, both)) last_both = at;
    }
    if (at < n && cls == FB_LOWER) return fb_run(text, n, at, both | FB_SET(FB_LOWER));
    if (last_both && lower_needed) return last_both; /* do not include the upper-case letters after it */
    return lower_needed ? i : at;
}

static inline size_t fb_o200k_end(const uint8_t *text, size_t n, size_t i, const fb_pattern *pattern) {
    size_t n_bytes, end = i;
    unsigned cls = fb_class_at(text + i, &n_bytes);
    int prefix = cls != FB_NEWLINE && cls != FB_NUMBER && !FB_IS(cls, FB_LETTERS);
    size_t after = i + n_bytes;
    for (int lower_needed = 1; lower_needed >= 0 && end == i; lower_needed--) {
        if (prefix && (end = fb_word_end(text, n, after, lower_needed)) == after) end = i;
        if (end == i) end = fb_word_end(text, n, i, lower_needed);
    }
    if (end == i) return fb_rest_end(text, n, i, pattern);
    if (pattern->contractions && end < n && text[end] == '\'') end += fb_contraction(text, n, end, 1);
    return end;
}

/* DeepSeek splits with three patterns, one after another. The third one sees the numbers, and the stretches of kana and
 * Han, that the first two cut out as separate texts: no match crosses the edge of such a stretch.
 *
 * The end of the run of characters of these classes from i on, inside or outside such a stretch as `east` says. */
static inline size_t fb_same_run(const uint8_t *text, size_t n, size_t i, unsigned set, int east) {
    size_t n_bytes;
    while (i < n && FB_IS(fb_class_at(text + i, &n_bytes), set) && fb_is_east_asian(text + i) == east) i += n_bytes;
    return i;
}

static inline int fb_is_ascii_letter(uint8_t c) { return (uint8_t)((c | 0x20) - 'a') < 26; }

/* The end of a piece of white space. */
static inline size_t fb_deepseek_blank_end(const uint8_t *text, size_t n, size_t i) {
    size_t end = fb_run(text, n, i, FB_BLANKS), n_bytes;
    for (size_t at = end; at > i; at--)
        if (text[at - 1] == '\n' || text[at - 1] == '\r') return at;
    if (end == n || fb_is_east_asian(text + end) || fb_class_at(text + end, &n_bytes) == FB_NUMBER) return end;
    size_t last = fb_last_char(text, end);
    return last > i ? last : end;
}

/* The end of text that no pattern matches: before a character that begins a match together with the word after it, or
 * that has another class. */
static inline size_t fb_unmatched_end(const uint8_t *text, size_t n, size_t i, unsigned words, int east) {
    size_t n_bytes;
    do {
        fb_class_at(text + i, &n_bytes);
        i += n_bytes;
        if (i == n || fb_class_at(text + i, &n_bytes) != FB_OTHER || fb_is_east_asian(text + i) != east) return i;
    } while (fb_same_run(text, n, i + n_bytes, words, east) == i + n_bytes);
    return i;
}

static inline size_t fb_deepseek_end(const uint8_t *text, size_t n, size_t i, const fb_pattern *pattern) {
    const unsigned words = FB_LETTERS | FB_SET(FB_MARK);
    size_t n_bytes, at, end;
    unsigned cls = fb_class_at(text + i, &n_bytes);
    int east = fb_is_east_asian(text + i);
    if (cls == FB_NUMBER) return fb_numbers_end(text, n, i, pattern->n_digits);
    if (FB_IS(cls, words)) return fb_same_run(text, n, i, words, east);
    if (cls == FB_SIGN && text[i] < 0x80 && i + 1 < n && fb_is_ascii_letter(text[i + 1])) {
        for (at = i + 1; at < n && fb_is_ascii_letter(text[at]);) at++;
        return at;
    }
    if (cls == FB_OTHER || cls == FB_SPACE) { /* one of them belongs to the word after it */
        end = fb_same_run(text, n, i + n_bytes, words, east);
        if (end > i + n_bytes) return end;
    }
    at = i + (text[i] == ' ');
    end = fb_same_run(text, n, at, FB_SET(FB_SIGN), east);
    if (end > at) {
        while (!east && end < n && (text[end] == '\n' || text[end] == '\r')) end++;
        return end;
    }
    return cls == FB_OTHER ? fb_unmatched_end(text, n, i, words, east) : fb_deepseek_blank_end(text, n, i);
}

/* The end of the piece that begins at i. */
static inline size_t fb_piece_end(const uint8_t *text, size_t n, size_t i, const fb_pattern *pattern) {
    if (pattern->family == FB_GPT2) return fb_gpt2_end(text, n, i, pattern);
    if (pattern->family == FB_CL100K) return fb_cl100k_end(text, n, i, pattern);
    if (pattern->family == FB_O200K) return fb_o200k_end(text, n, i, pattern);
    return fb_deepseek_end(text, n, i, pattern);
}

#endif
