#include "randomness.h"
#include "rows.h"

#define PIECE 2048

typedef int16_t halves __attribute__((may_alias));

/* x is [n, runs, width]; of each run, entry e of [n, width] has the low or high half of the hash of e / 2. */
struct dropout {
    const float *x;
    float *out;
    const uint32_t *keys;
    int64_t runs, width;
    int32_t limit;
    float scale;
};

CLONED void simpgcn_drop_some(const struct dropout *t, int64_t first, int64_t last) {
    uint32_t hashes[PIECE / 2];
    const halves *draws = (const halves *)hashes;
    int16_t limit = (int16_t)t->limit;
    float scale = t->scale;
    /* A run alone is one long row. */
    int64_t rows = t->runs == 1 ? 1 : last - first, width = t->runs == 1 ? (last - first) * t->width : t->width;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t run = 0; run < t->runs; run++)
            for (int64_t done = 0; done < width;) {
                int64_t e = (first + row) * t->width + done, place = ((first + row) * t->runs + run) * t->width + done;
                int64_t odd = e % 2, count = width - done < PIECE - odd ? width - done : PIECE - odd;
                const float *restrict x = t->x + place;
                float *restrict out = t->out + place;
                uint32_t keys[2] = {t->keys[2 * run], t->keys[2 * run + 1]};
                for (int64_t i = 0; i < (count + odd + 1) / 2; i++)
                    hashes[i] = hash32((uint32_t)(e / 2) + (uint32_t)i, keys);
                for (int64_t i = 0; i < count; i++) out[i] = x[i] * (draws[odd + i] >= limit ? scale : 0);
                done += count;
            }
}

void simpgcn_dropout(const float *x, float *out, const uint32_t *keys, int64_t limit, float scale, int64_t n,
                     int64_t runs, int64_t width, int64_t threads) {
    struct dropout t = {x, out, keys, runs, width, (int32_t)limit, scale};
#define WORK(first, last) simpgcn_drop_some(&t, first, last)
    IN_PARALLEL(n, 1, WORK);
#undef WORK
}
