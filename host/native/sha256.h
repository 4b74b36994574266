/* SHA-256 (FIPS 180-4) by the processor's own instructions, for short texts: no context, no look for a provider. */
#ifndef ROTIFER_SHA256_H
#define ROTIFER_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHA256_BYTES 32

/* A hash in hexadecimal, 64 digits and no NUL. */
static inline void sha256_hex(const uint8_t digest[SHA256_BYTES], char *into) {
    for (int i = 0; i < SHA256_BYTES; i++) {
        *into++ = "0123456789abcdef"[digest[i] >> 4];
        *into++ = "0123456789abcdef"[digest[i] & 15];
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* Whether this processor has the instructions. */
static inline bool sha256_is_here(void) {
    unsigned a, b, c, d;
    const bool vectors = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1);
    return vectors && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* The instructions want the state as ABEF and CDGH, and do two rounds at a time. */
__attribute__((target("sha,ssse3,sse4.1"))) static void sha256_blocks(uint32_t state[8], const uint8_t *data, size_t count) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    for (; count > 0; count--, data += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i words[4];
        for (int i = 0; i < 4; i++) words[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(data + 16 * i)), big_endian);
        for (int i = 0; i < 16; i++) { /* four rounds each */
            const __m128i last = words[(i + 3) % 4];
            const __m128i added = _mm_add_epi32(words[i % 4], _mm_loadu_si128((const __m128i *)(sha256_constants + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
            if (i < 12) {
                const __m128i next = _mm_sha256msg1_epu32(words[i % 4], words[(i + 1) % 4]);
                words[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(next, _mm_alignr_epi8(last, words[(i + 2) % 4], 4)), last);
            }
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* Only where `sha256_is_here`. */
static inline void sha256_of(const uint8_t *data, size_t length, uint8_t digest[SHA256_BYTES]) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const size_t whole = length / 64, rest = length % 64, ends = rest < 56 ? 1 : 2;
    uint8_t end[128] = {0};
    memcpy(end, data + 64 * whole, rest);
    end[rest] = 0x80;
    const uint64_t bits = __builtin_bswap64((uint64_t)length * 8);
    memcpy(end + 64 * ends - sizeof bits, &bits, sizeof bits);
    sha256_blocks(state, data, whole);
    sha256_blocks(state, end, ends);
    for (int i = 0; i < 8; i++) {
        const uint32_t word = __builtin_bswap32(state[i]);
        memcpy(digest + sizeof word * i, &word, sizeof word);
    }
}

#else

static inline bool sha256_is_here(void) {
    return false;
}

static inline void sha256_of(const uint8_t *data, size_t length, uint8_t digest[SHA256_BYTES]) {
    (void)data, (void)length, (void)digest;
}

#endif
#endif
