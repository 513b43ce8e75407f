// A radix sort of the bits of scores, in ascending order. A comparison sort of distinct scores takes two to three times
// as long.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

class ScoreSort {
    static constexpr int DIGIT = 8;
    static constexpr int DIGITS = (64 + DIGIT - 1) / DIGIT;
    static constexpr int64_t VALUES = 1 << DIGIT;
    static constexpr uint64_t SIGN = UINT64_C(1) << 63;
    static constexpr int64_t FEW = 1 << 8;  // up to this many keys are sorted by comparisons, which is faster
    // More keys are first divided into parts by their highest bits. The keys of a part, and scratch memory of the same
    // size, fit the second-level cache.
    static constexpr int64_t MOST_AT_ONCE = 1 << 17;
    static constexpr int PART_BITS = 8;

    // Integers in the order of the scores: all bits of a negative score, and the sign bit of any other, are inverted.
    static uint64_t key_of(uint64_t bits) { return bits ^ (bits & SIGN ? ~UINT64_C(0) : SIGN); }
    static uint64_t bits_of(uint64_t key) { return key ^ (key & SIGN ? SIGN : ~UINT64_C(0)); }

    static void by_parts(uint64_t* keys, uint64_t* room, int64_t count) {
        if (count <= FEW) {
            std::sort(keys, keys + count);
            return;
        }
        const auto [least, most] = std::minmax_element(keys, keys + count);
        const uint64_t lowest = *least, span = *most - lowest;
        if (!span) return;
        const int bits = 64 - __builtin_clzll(span);
        if (count <= MOST_AT_ONCE) {
            by_digits(keys, room, count, lowest, bits);
            return;
        }
        const int shift = std::max(bits - PART_BITS, 0);
        int64_t ends[(1 << PART_BITS) + 1] = {};
        for (int64_t each = 0; each < count; each++) ends[((keys[each] - lowest) >> shift) + 1]++;
        for (int part = 0; part < 1 << PART_BITS; part++) ends[part + 1] += ends[part];
        for (int64_t each = 0; each < count; each++) room[ends[(keys[each] - lowest) >> shift]++] = keys[each];
        std::memcpy(keys, room, count * sizeof(uint64_t));
        int64_t start = 0;
        for (int part = 0; part < 1 << PART_BITS; part++) {
            by_parts(keys + start, room + start, ends[part] - start);
            start = ends[part];
        }
    }

    // Sort digit by digit from the lowest, by the lowest `bits` bits of the difference between each key and `lowest`.
    static void by_digits(uint64_t* keys, uint64_t* room, int64_t count, uint64_t lowest, int bits) {
        int64_t places[DIGITS][VALUES] = {};
        const int digits = (bits + DIGIT - 1) / DIGIT;
        for (int64_t each = 0; each < count; each++) {
            const uint64_t key = keys[each] - lowest;
            for (int digit = 0; digit < digits; digit++) places[digit][key >> (DIGIT * digit) & (VALUES - 1)]++;
        }
        uint64_t *from = keys, *to = room;
        for (int digit = 0; digit < digits; digit++) {
            int64_t* place = places[digit];
            int64_t before = 0;
            for (int64_t value = 0; value < VALUES; value++) {
                const int64_t rows = place[value];
                place[value] = before;
                before += rows;
            }
            for (int64_t each = 0; each < count; each++) {
                to[place[(from[each] - lowest) >> (DIGIT * digit) & (VALUES - 1)]++] = from[each];
            }
            std::swap(from, to);
        }
        if (from != keys) std::memcpy(keys, from, count * sizeof(uint64_t));
    }

  public:
    // Sort `count` scores, which must not contain NaN.
    static void sort(double* scores, int64_t count) {
        std::unique_ptr<uint64_t[]> keys(new uint64_t[count]), room(new uint64_t[count]);
        for (int64_t each = 0; each < count; each++) {
            uint64_t bits;
            std::memcpy(&bits, scores + each, sizeof(bits));
            keys[each] = key_of(bits);
        }
        by_parts(keys.get(), room.get(), count);
        for (int64_t each = 0; each < count; each++) {
            const uint64_t bits = bits_of(keys[each]);
            std::memcpy(scores + each, &bits, sizeof(bits));
        }
    }
};
