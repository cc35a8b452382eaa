#include "rows.h"
#include <math.h>

/* hidden is [n, runs, width], nodes [runs, 2, count], weight [runs, width], scores and their gradient [runs, count]. */
struct pairs {
    const float *hidden, *weight, *gradient;
    const int64_t *nodes;
    float *scores, *hidden_bar, *weight_bar;
    int64_t runs, width, count, run;
};

CLONED void simpgcn_score_some(const struct pairs *t, int64_t first, int64_t last) {
    int64_t width = t->width, run = t->run;
    const int64_t *nodes = t->nodes + 2 * run * t->count;
    const float *hidden = t->hidden + run * width, *weight = t->weight + run * width;
    for (int64_t p = first; p < last; p++) {
        const float *one = hidden + nodes[p] * t->runs * width, *other = hidden + nodes[t->count + p] * t->runs * width;
        float score = 0;
#pragma omp simd reduction(+ : score)
        for (int64_t c = 0; c < width; c++) score += weight[c] * fabsf(one[c] - other[c]);
        t->scores[run * t->count + p] = score;
    }
}

void simpgcn_pair_scores(const float *hidden, const int64_t *nodes, const float *weight, float *scores, int64_t runs,
                         int64_t width, int64_t count, int64_t threads) {
    struct pairs t = {
        .hidden = hidden, .weight = weight, .nodes = nodes, .scores = scores, .runs = runs, .width = width, .count = count};
    for (t.run = 0; t.run < runs; t.run++) {
#define WORK(first, last) simpgcn_score_some(&t, first, last)
        IN_PARALLEL(count, 1, WORK);
#undef WORK
    }
}

#define BLOCK 64

INLINE void pull(const float *restrict h, const float *restrict h_other, const float *restrict weight, float g,
                 float *restrict bar, float *restrict bar_other, float *restrict weight_bar, int64_t columns) {
#pragma omp simd
    for (int64_t c = 0; c < columns; c++) {
        float d = h[c] - h_other[c];
        float pulled = (d > 0 ? g : d < 0 ? -g : 0) * weight[c];
        bar[c] += pulled;
        bar_other[c] -= pulled;
        weight_bar[c] += g * fabsf(d);
    }
}

/* The gradients' columns from one to another, of all pairs in their order: the same sum on any number of threads. */
CLONED void simpgcn_pull_some(const struct pairs *t, int64_t from, int64_t to) {
    int64_t width = t->width, run = t->run;
    const int64_t *nodes = t->nodes + 2 * run * t->count;
    const float *gradient = t->gradient + run * t->count, *weight = t->weight + run * width;
    float *weight_bar = t->weight_bar + run * width;
    for (int64_t p = 0; p < t->count; p++) {
        int64_t one = (nodes[p] * t->runs + run) * width, other = (nodes[t->count + p] * t->runs + run) * width;
        if (one == other) continue;
        for (int64_t c = from; c < to; c += BLOCK) {
            int64_t columns = c + BLOCK < to ? BLOCK : to - c;
            const float *h = t->hidden + c, *w = weight + c;
            float *bar = t->hidden_bar + c, *w_bar = weight_bar + c;
            if (columns == BLOCK)
                pull(h + one, h + other, w, gradient[p], bar + one, bar + other, w_bar, BLOCK);
            else
                pull(h + one, h + other, w, gradient[p], bar + one, bar + other, w_bar, columns);
        }
    }
}

void simpgcn_pair_scores_backward(const float *gradient, const float *hidden, const int64_t *nodes, const float *weight,
                                  float *hidden_bar, float *weight_bar, int64_t n, int64_t runs, int64_t width,
                                  int64_t count, int64_t threads) {
    struct pairs t = {
        .hidden = hidden,
        .weight = weight,
        .gradient = gradient,
        .nodes = nodes,
        .hidden_bar = hidden_bar,
        .weight_bar = weight_bar,
        .runs = runs,
        .width = width,
        .count = count,
    };
    if (!width) return;
    /* Few columns at a time where so much of all nodes stays in the cache, otherwise one share a thread. */
    int64_t blocks = (width + BLOCK - 1) / BLOCK;
    int64_t columns = n * BLOCK * 8 <= 2 * CACHED ? BLOCK : BLOCK * ((blocks + threads - 1) / threads);
    int64_t pieces = (width + columns - 1) / columns;
    for (t.run = 0; t.run < runs; t.run++) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (int64_t piece = 0; piece < pieces; piece++) {
            int64_t from = piece * columns, to = from + columns < width ? from + columns : width;
            simpgcn_pull_some(&t, from, to);
        }
    }
}
