/* A pseudo-random uint32 for each place; nn/randomness.py has the same. */
#ifndef SIMPGCN_RANDOMNESS_H
#define SIMPGCN_RANDOMNESS_H

#include <stdint.h>

static inline __attribute__((always_inline)) uint32_t hash32(uint32_t z, const uint32_t *keys) {
    z ^= keys[0];
    z ^= z >> 16;
    z *= 0x21F0AAADu;
    z ^= keys[1];
    z ^= z >> 15;
    z *= 0x735A2D97u;
    return z ^ z >> 15;
}

#endif
