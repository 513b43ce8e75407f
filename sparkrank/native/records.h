// Records of CSV: what stands in a block that readers take differently, and its fields as numbers and texts.

#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "vectors.h"

// Whether the quote at `at` of `size` bytes does not enclose a field, or which byte comes after the field that it does.
// A field is between separators, line ends or the ends of the block, and has line ends inside only where it `may` have.
static inline int64_t behind_quoted(
    const char* block, int64_t size, int64_t at, char quote, char separator, bool doubled, bool may_have_lines
) {
    const auto is_border = [&](int64_t place) {
        return place < 0 || place >= size || block[place] == separator || block[place] == '\n' || block[place] == '\r';
    };
    if (!is_border(at - 1)) return -1;
    int64_t from = at + 1;
    while (true) {
        const char* closes = (const char*)std::memchr(block + from, quote, size - from);
        if (!closes) return -1;
        const int64_t found = closes - block;
        if (!may_have_lines)
            if (std::memchr(block + from, '\n', found - from) || std::memchr(block + from, '\r', found - from)) return -1;
        from = found + 1;
        if (doubled && from < size && block[from] == quote)
            from++;
        else
            return is_border(from) ? from : -1;
    }
}

// Whether a quote of the block does not enclose a field.
static inline bool has_loose_quote(
    const char* block, int64_t size, char quote, char separator, bool doubled, bool may_have_lines
) {
    int64_t from = 0;
    while (const char* found = (const char*)std::memchr(block + from, quote, size - from)) {
        from = behind_quoted(block, size, found - block, quote, separator, doubled, may_have_lines);
        if (from < 0) return true;
    }
    return false;
}

// How often a letter stands in the block.
WIDEST static inline int64_t count_letter(const char* block, int64_t size, char letter) {
    int64_t found = 0;
    for (int64_t first = 0; first < size; first += 255) {  // as many as a byte counts: so a vector counts many at once
        uint8_t here = 0;
        const int64_t last = first + 255 < size ? first + 255 : size;
        for (int64_t at = first; at < last; at++) here += block[at] == letter;
        found += here;
    }
    return found;
}

// The ends of lines, of one letter or two, or -1 where a line has blanks and control letters alone.
static inline int64_t count_lines(const char* block, int64_t size) {
    const char *at = block, *const end = block + size;
    const auto is_blank = [](char letter) { return (uint8_t)letter <= ' ' && letter != '\n' && letter != '\r'; };
    int64_t lines = 0;
    while (at < end) {
        if (is_blank(*at)) {
            const char* past = at;
            while (past < end && is_blank(*past)) past++;
            if (past < end && *past == '\r') past++;
            if (past == end || *past == '\n') return -1;
        }
        const char* next = (const char*)std::memchr(at, '\n', end - at);
        if (!next) break;
        lines++;
        at = next + 1;
    }
    at = block;
    while (const char* next = (const char*)std::memchr(at, '\r', end - at)) {
        at = next + 1;
        lines += at == end || *at != '\n';
    }
    return lines;
}

// A column that is read: what it holds, and where its values go.
struct Field {
    enum Kind : int64_t { SKIPPED, TEXT, WHOLE, DOUBLE, LABEL };  // as in sparkrank.engines.arrow.csv_records
    int64_t kind, low, high;  // of whole numbers the least and the greatest
    void* values;             // of a text its end
    uint8_t* state;           // of a number one of State
    char* text;
    int64_t length;  // of all texts
    int64_t others;  // rows that are not VALID
};
enum State : uint8_t { VALID, EMPTY, SPOILED };

// Eight letters, the first in the lowest byte.
static inline uint64_t word_at(const char* at) {
    uint64_t word;
    std::memcpy(&word, at, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

constexpr uint64_t EACH = UINT64_C(0x0101010101010101), HIGHEST = UINT64_C(0x8080808080808080);

// The highest bit of the first byte of `word` that is `letter`, and maybe of some above it.
static inline uint64_t where(uint64_t word, char letter) {
    const uint64_t differs = word ^ (EACH * (uint8_t)letter);
    return (differs - EACH) & ~differs & HIGHEST;
}

static inline bool is_digit(char letter) { return (uint8_t)(letter - '0') < 10; }

static inline bool are_digits(uint64_t word) {
    return !(((word + UINT64_C(0x4646464646464646)) | (word - UINT64_C(0x3030303030303030))) & HIGHEST);
}

static inline uint64_t number_of(uint64_t digits) {  // three products instead of eight
    digits -= UINT64_C(0x3030303030303030);
    digits = digits * 10 + (digits >> 8);
    return (((digits & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064)) +
            (((digits >> 16) & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001))) >> 32;
}

// Take the digits from `at` on into `value`, modulo 2^64. Returns where they end.
static inline const char* take_digits(const char* at, const char* end, uint64_t& value) {
    while (end - at >= 8 && are_digits(word_at(at))) {
        value = value * 100000000 + number_of(word_at(at));
        at += 8;
    }
    while (at < end && is_digit(*at)) value = value * 10 + (uint64_t)(*at++ - '0');
    return at;
}

static inline bool is_word(const char* at, const char* end, const char* lower) {
    for (; at < end && *lower; at++, lower++)
        if ((*at | 0x20) != *lower) return false;  // no other letter than a capital one becomes a small one
    return at == end && !*lower;
}

// Whether a number begins at a place, none does, or one that the caller should read in another way.
enum Found { IS_NUMBER, IS_NONE, IS_UNKNOWN };

// The whole number that begins at `at`, which becomes the place behind it.
static inline Found whole_number(const char*& at, const char* end, int64_t low, int64_t high, int64_t& found) {
    const bool is_negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end || !is_digit(*at)) return IS_NONE;
    while (end - at > 1 && *at == '0' && is_digit(at[1])) at++;
    uint64_t value = 0;
    const char* const first = at;
    at = take_digits(at, end, value);
    if (at - first > 19) return IS_NONE;  // beyond 64 bits, with a sign
    const uint64_t most = is_negative ? (uint64_t)-(low + 1) + 1 : (uint64_t)high;
    if (value > most) return IS_NONE;
    found = is_negative ? (int64_t)(0 - value) : (int64_t)value;
    return IS_NUMBER;
}

// The number that begins at `at`, rounded to the nearest double; `at` becomes the place behind it.
static inline Found number(const char*& at, const char* end, double& found) {
    static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool has_sign = at < end && (*at == '-' || *at == '+'), is_negative = has_sign && *at == '-';
    at += has_sign;
    const char* const first = at;
    uint64_t digits = 0, power = 0;
    const char* const point = at = take_digits(at, end, digits);
    int64_t count = at - first, fraction = 0;
    if (at < end && *at == '.') {
        at = take_digits(at + 1, end, digits);
        fraction = at - point - 1;
        count += fraction;
    }
    if (!count) {
        at = end;
        found = is_negative ? -INFINITY : INFINITY;
        if (is_word(first, end, "inf") || is_word(first, end, "infinity")) return IS_NUMBER;
        found = NAN;
        return !has_sign && is_word(first, end, "nan") ? IS_NUMBER : IS_NONE;
    }
    int64_t exponent = -fraction;
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        const bool is_small = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) at++;
        const char* const of_power = at;
        at = take_digits(at, end, power);
        if (at == of_power) return IS_NONE;
        if (at - of_power > 5) return IS_UNKNOWN;
        exponent += is_small ? -(int64_t)power : (int64_t)power;
    }
    if (count <= 19 && digits <= (UINT64_C(1) << 53) && exponent >= -22 && exponent <= 22) {  // one rounding
        found = exponent < 0 ? (double)digits / TENS[-exponent] : (double)digits * TENS[exponent];
    } else {
#if defined(__cpp_lib_to_chars)
        const auto read = std::from_chars(first, at, found);
        if (read.ec != std::errc() || read.ptr != at) return IS_UNKNOWN;
#else
        return IS_UNKNOWN;
#endif
    }
    if (is_negative) found = -found;
    return IS_NUMBER;
}

static inline bool has_others(const char* at, const char* end) {  // than ASCII
    for (; at < end; at++)
        if (*at & 0x80) return true;
    return false;
}

// The records of a block from one place on. `rows` is how many have been read, or -1 where Arrow should read the block.
class Records {
    const char *at, *const end;
    const char separator, quote;
    const bool has_quote;

    bool ends_field(char letter) const { return letter == separator || letter == '\n' || letter == '\r'; }

    // The first letter from `from` on that ends a field; a quote ends one too, to be seen.
    const char* field_end(const char* from) const {
        while (end - from >= 8) {
            const uint64_t word = word_at(from);
            uint64_t found = where(word, separator) | where(word, '\n') | where(word, '\r');
            if (has_quote) found |= where(word, quote);
            if (found) return from + (__builtin_ctzll(found) >> 3);
            from += 8;
        }
        while (from < end && !ends_field(*from) && !(has_quote && *from == quote)) from++;
        return from;
    }

    // The number of a field that begins at `first`, which becomes the place behind it.
    static Found begin(const Field& field, int64_t row, const char*& first, const char* last) {
        if (field.kind == Field::WHOLE)
            return whole_number(first, last, field.low, field.high, ((int64_t*)field.values)[row]);
        return number(first, last, ((double*)field.values)[row]);
    }

    // The number from `first` to `last`, with blanks around it; of a label also true and false.
    static Found read(const Field& field, int64_t row, const char* first, const char* last) {
        const auto is_blank = [](char letter) { return letter == ' ' || letter == '\t'; };
        while (first < last && is_blank(*first)) first++;
        while (first < last && is_blank(last[-1])) last--;
        const char* at = first;
        const Found found = begin(field, row, at, last);
        if (found == IS_UNKNOWN || (found == IS_NUMBER && at == last)) return found;
        const bool is_true = is_word(first, last, "true");
        if (field.kind != Field::LABEL || !(is_true || is_word(first, last, "false"))) return IS_NONE;
        ((double*)field.values)[row] = is_true;
        return IS_NUMBER;
    }

    static bool keep(Field& field, int64_t row, const char* first, const char* last) {
        if (field.kind == Field::TEXT) {
            std::memcpy(field.text + field.length, first, last - first);
            field.length += last - first;
            ((int32_t*)field.values)[row + 1] = (int32_t)field.length;
            field.others += first == last;
            return true;
        }
        State& state = ((State*)field.state)[row];
        state = VALID;
        if (first == last) {
            state = EMPTY;
        } else {
            const Found found = read(field, row, first, last);
            if (found == IS_NUMBER) return true;
            if (found == IS_UNKNOWN || has_others(first, last)) return false;
            state = SPOILED;
        }
        field.others++;
        if (field.kind == Field::WHOLE)
            ((int64_t*)field.values)[row] = 0;
        else
            ((double*)field.values)[row] = 0;
        return true;
    }

    // Past an end of line, or false where it is none of \n and \r\n.
    bool pass_line_end() {
        if (at < end && *at == '\r') at++;
        if (at == end) return at[-1] != '\r';
        return *at++ == '\n';
    }

    bool pass_field(Field& field, int64_t row) {
        const char *first = at, *last = at;
        if (field.kind >= Field::WHOLE && at < end && is_digit(*at)) {  // as nearly all are: one look at each letter
            if (begin(field, row, last, end) == IS_NUMBER && (last == end || ends_field(*last))) {
                field.state[row] = VALID;
                at = last;
                return true;
            }
        }
        if (has_quote && at < end && *at == quote) {
            first++;
            last = (const char*)std::memchr(first, quote, end - first);
            if (!last) return false;
            at = last + 1;
            if (at < end && !ends_field(*at)) return false;
        } else {
            at = last = field_end(first);
            if (at < end && has_quote && *at == quote) return false;
        }
        return field.kind == Field::SKIPPED || keep(field, row, first, last);
    }

  public:
    Records(const char* block, int64_t size, char separator, char quote, bool has_quote)
        : at(block), end(block + size), separator(separator), quote(quote), has_quote(has_quote) {}

    bool pass_line() {
        while (at < end && *at != '\n' && *at != '\r') at++;
        return at == end || pass_line_end();
    }

    int64_t read(std::vector<Field>& fields, int64_t most) {
        int64_t row = 0;
        while (at < end) {
            if (*at == '\n' || *at == '\r') {
                if (!pass_line_end()) return -1;
                continue;
            }
            if (row == most) return -1;
            for (size_t index = 0; index < fields.size(); index++) {
                if (index) {
                    if (at == end || *at != separator) return -1;
                    at++;
                }
                if (!pass_field(fields[index], row)) return -1;
            }
            if (at < end && (*at == separator || !pass_line_end())) return -1;
            row++;
        }
        return row;
    }
};
