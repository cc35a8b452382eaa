#include "randomness.h"
#include "rows.h"

#define ROUNDS 4

/* The images of the first numbers under a permutation of those below rows * columns, applied until below total. */
CLONED void simpgcn_draw(const uint32_t *keys, int64_t *out, int64_t total, int64_t count, int64_t rows,
                         int64_t columns) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t x = (uint64_t)i;
        do {
            uint64_t left = x >> 32 ? x / (uint64_t)columns : (uint32_t)x / (uint32_t)columns;
            uint64_t half[2] = {left, x - left * (uint64_t)columns};
            for (uint32_t number = 0; number < ROUNDS; number++) {
                uint64_t *mine = half + number % 2, size = (uint64_t)(number % 2 ? columns : rows);
                uint32_t z = (uint32_t)half[1 - number % 2] + (number << 28);
                *mine += hash32(z, keys) * size >> 32;
                if (*mine >= size) *mine -= size;
            }
            x = half[0] * (uint64_t)columns + half[1];
        } while (x >= (uint64_t)total);
        out[i] = (int64_t)x;
    }
}
