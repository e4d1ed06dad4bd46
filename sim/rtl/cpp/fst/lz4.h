// What Verilator's FST writer wants of LZ4, so that waves need no library: one block, by a greedy
// search for the latest occurrence of the next four bytes.
//
// The format is LZ4's block format: a token (lengths of literals and of the match, 15 meaning that
// more bytes follow), the literals, the match's distance back in two bytes; literals end the block.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

namespace lz4_block {

constexpr int kLeastMatch = 4;
constexpr int kLastLiterals = 5;   // at the end no match may reach
constexpr int kLastBegin = 12;     // before the end at which the last match may begin
constexpr int kFarthest = 65535;
constexpr int kHashBits = 14;

inline uint32_t four(const uint8_t* at) {
    uint32_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

inline uint32_t hash(uint32_t word) { return word * 2654435761u >> (32 - kHashBits); }

// The bytes of a length behind the token; it holds what is below 15.
inline uint8_t* put_rest(uint8_t* out, int length) {
    if (length < 15) return out;
    for (length -= 15; length >= 255; length -= 255) *out++ = 255;
    *out++ = static_cast<uint8_t>(length);
    return out;
}

// Literals, and a match behind them; a distance of 0 says that there is none.
inline uint8_t* put_sequence(
    uint8_t* out, const uint8_t* literals, int count, int distance, int match
) {
    const int more = distance ? match - kLeastMatch : 0;
    *out++ = static_cast<uint8_t>((count < 15 ? count : 15) << 4 | (more < 15 ? more : 15));
    out = put_rest(out, count);
    if (count) std::memcpy(out, literals, static_cast<size_t>(count));
    out += count;
    if (!distance) return out;
    *out++ = static_cast<uint8_t>(distance);
    *out++ = static_cast<uint8_t>(distance >> 8);
    return put_rest(out, more);
}

}  // namespace lz4_block

// Returns the bytes written; 0 if the capacity is below the bound.
inline int LZ4_compress_default(const char* source, char* target, int size, int capacity) {
    using namespace lz4_block;
    if (capacity < LZ4_compressBound(size)) return 0;
    const auto* in = reinterpret_cast<const uint8_t*>(source);
    auto* out = reinterpret_cast<uint8_t*>(target);
    std::vector<int> latest(1u << kHashBits, -1);
    int begin = 0;  // of the literals that wait
    for (int at = 0; at <= size - kLastBegin;) {
        int& seen = latest[hash(four(in + at))];
        const int before = seen;
        seen = at;
        if (before < 0 || at - before > kFarthest || four(in + before) != four(in + at)) {
            ++at;
            continue;
        }
        int match = kLeastMatch;
        while (at + match < size - kLastLiterals && in[before + match] == in[at + match]) ++match;
        out = put_sequence(out, in + begin, at - begin, at - before, match);
        begin = at += match;
    }
    out = put_sequence(out, in + begin, size - begin, 0, 0);
    return static_cast<int>(out - reinterpret_cast<uint8_t*>(target));
}
