// The lowest distinct hashes of items, and the rows that have them.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "numbers.h"

struct LowestHashes {
    std::vector<uint64_t> lowest;  // ascending
    std::vector<int64_t> rows;     // ascending

    // Find the `most` lowest hashes of the items of all `count` rows.
    void find(const int64_t* items, int64_t count, size_t most) {
        uint64_t limit = UINT64_MAX;  // soon so low that few rows come below it
        for (int64_t row = 0; row < count; row++) {
            const uint64_t hash = hash_of(items[row]);
            if (hash > limit) continue;
            rows.push_back(row);
            const auto place = std::lower_bound(lowest.begin(), lowest.end(), hash);
            if (place != lowest.end() && *place == hash) continue;
            lowest.insert(place, hash);
            if (lowest.size() > most) lowest.pop_back();
            if (lowest.size() == most) limit = lowest.back();
        }
        const auto is_beyond = [items, limit](int64_t row) { return hash_of(items[row]) > limit; };
        rows.erase(std::remove_if(rows.begin(), rows.end(), is_beyond), rows.end());
    }
};
