#include "rows.h"
#include <math.h>

/* What belongs to nodes is [n, runs, ...], what belongs to runs [runs, ...]; product has the scores after Z. */
struct mixing {
    struct rows structure, features;
    const float *product, *score_bias, *loop_bias, *loop_weight, *bias;
    float *hidden, *s, *k, *difference;
    int64_t runs, stride, run;
    int loops;
    struct passes passes;
};

/* s and K of some nodes. */
CLONED void simpgcn_mix_scores(const struct mixing *t, int64_t first, int64_t last) {
    int64_t width = t->passes.width, run = t->run;
    for (int64_t i = first; i < last; i++) {
        int64_t place = i * t->runs + run;
        const float *scores = t->product + place * t->stride + width;
        t->s[place] = 1 / (1 + expf(-(scores[0] + t->score_bias[run])));
        t->k[place] = t->loops ? scores[1] + t->loop_bias[run] : 0;
    }
}

INLINE void mix_lanes(const struct mixing *t, int64_t first, int64_t last, int64_t column, int count) {
    int64_t runs = t->runs, run = t->run, stride = runs * t->stride, width = t->passes.width;
    const float *x = t->product + run * t->stride + column;
    const lanes *bias = (const lanes *)(t->bias + run * width + column);
    for (int64_t i = first; i < last; i++) {
        int64_t place = i * runs + run;
        lanes a[MOST] = {0}, f[MOST] = {0};
        add_lanes(t->features, i, PLAIN, 0, 0, x, stride, count, f);
        add_lanes(t->structure, i, PLAIN, 0, 0, x, stride, count, a);
        float s = t->s[place], own = t->loop_weight[run] * t->k[place];
        const lanes *z = (const lanes *)(x + i * stride);
        lanes *hidden = (lanes *)(t->hidden + place * width + column);
        lanes *difference = (lanes *)(t->difference + place * width + column);
        for (int v = 0; v < count; v++) {
            lanes d = a[v] - f[v];
            difference[v] = d;
            hidden[v] = f[v] + s * d + own * z[v] + (1 + own) * bias[v];
        }
    }
}

INLINE void mix_few(const struct mixing *t, int64_t first, int64_t last, int count) {
    int64_t runs = t->runs, run = t->run, stride = runs * t->stride;
    int width = (int)t->passes.width;
    const float *x = t->product + run * t->stride, *bias = t->bias + run * width;
    for (int64_t i = first; i < last; i++) {
        int64_t place = i * runs + run;
        float a[LANES] = {0}, f[LANES] = {0};
        add_few(t->features, i, PLAIN, 0, 0, x, stride, width, count, f);
        add_few(t->structure, i, PLAIN, 0, 0, x, stride, width, count, a);
        float s = t->s[place], own = t->loop_weight[run] * t->k[place];
        const float *z = x + i * stride;
        float *hidden = t->hidden + place * width, *difference = t->difference + place * width;
        for (int c = 0; c < width; c++) {
            float d = a[c] - f[c];
            difference[c] = d;
            hidden[c] = f[c] + s * d + own * z[c] + (1 + own) * bias[c];
        }
    }
}

CLONED void simpgcn_mix_some(const struct mixing *t, int64_t pass, int64_t first, int64_t last) {
#define CALL(count) mix_few(t, first, last, count)
    if (!t->passes.vectors) WITH_FEW(t->passes.few, CALL)
#undef CALL
#define CALL(count) mix_lanes(t, first, last, column_of(&t->passes, pass), count)
    else WITH_COUNT(vectors_of(&t->passes, pass), CALL)
#undef CALL
}

void simpgcn_mix(const int64_t *a_starts, const int32_t *a_columns, const float *a_values, const int64_t *f_starts,
                 const int32_t *f_columns, const float *f_values, const float *product, const float *score_bias,
                 const float *loop_bias, const float *loop_weight, const float *bias, float *hidden, float *s, float *k,
                 float *difference, int64_t n, int64_t runs, int64_t width, int64_t loops, int64_t threads) {
    struct mixing t = {
        .structure = {a_starts, a_columns, a_values, a_starts[n]},
        .features = {f_starts, f_columns, f_values, f_starts[n]},
        .product = product,
        .score_bias = score_bias,
        .loop_bias = loop_bias,
        .loop_weight = loop_weight,
        .bias = bias,
        .hidden = hidden,
        .s = s,
        .k = k,
        .difference = difference,
        .runs = runs,
        .stride = width + 1 + loops,
        .loops = (int)loops,
        .passes = passes_over(width, n),
    };
    for (t.run = 0; t.run < runs; t.run++) {
#define WORK(first, last) simpgcn_mix_scores(&t, first, last)
        IN_PARALLEL(n, 1, WORK);
#undef WORK
#define WORK(first, last) simpgcn_mix_some(&t, pass, first, last)
        for (int64_t pass = 0; pass < t.passes.count; pass++) IN_PARALLEL(n, 1, WORK);
#undef WORK
    }
}

/* The gradient of the product for that of hidden; the matrices are the transposes. */
struct gradient {
    struct rows structure, features;
    const float *hidden, *product, *s, *k, *difference, *loop_weight, *bias;
    float *out;
    int64_t runs, stride, run;
    int loops;
    struct passes passes;
};

CLONED void simpgcn_gradient_of_scores(const struct gradient *t, int64_t first, int64_t last) {
    int64_t width = t->passes.width, run = t->run;
    const float *bias = t->bias + run * width;
    for (int64_t i = first; i < last; i++) {
        int64_t place = i * t->runs + run;
        const float *hidden = t->hidden + place * width, *difference = t->difference + place * width;
        const float *z = t->product + place * t->stride;
        float *out = t->out + place * t->stride + width;
        float ds = 0, dk = 0, s = t->s[place];
#pragma omp simd reduction(+ : ds, dk)
        for (int64_t c = 0; c < width; c++) {
            ds += hidden[c] * difference[c];
            dk += hidden[c] * (z[c] + bias[c]);
        }
        out[0] = ds * s * (1 - s);
        if (t->loops) out[1] = t->loop_weight[run] * dk;
    }
}

INLINE void gradient_lanes(const struct gradient *t, int64_t first, int64_t last, int64_t column, int count) {
    int64_t runs = t->runs, run = t->run, width = t->passes.width, stride = runs * width;
    const float *x = t->hidden + run * width + column, *s = t->s + run;
    for (int64_t i = first; i < last; i++) {
        lanes sum[MOST];
        float own = t->loop_weight[run] * t->k[i * runs + run];
        for (int v = 0; v < count; v++) sum[v] = own * ((const lanes *)(x + i * stride))[v];
        add_lanes(t->structure, i, SCALED, s, runs, x, stride, count, sum);
        add_lanes(t->features, i, SCALED_BY_REST, s, runs, x, stride, count, sum);
        lanes *out = (lanes *)(t->out + (i * runs + run) * t->stride + column);
        for (int v = 0; v < count; v++) out[v] = sum[v];
    }
}

INLINE void gradient_few(const struct gradient *t, int64_t first, int64_t last, int count) {
    int64_t runs = t->runs, run = t->run, stride = runs * t->passes.width;
    int width = (int)t->passes.width;
    const float *x = t->hidden + run * width, *s = t->s + run;
    for (int64_t i = first; i < last; i++) {
        float sum[LANES];
        float own = t->loop_weight[run] * t->k[i * runs + run];
        for (int c = 0; c < width; c++) sum[c] = own * x[i * stride + c];
        add_few(t->structure, i, SCALED, s, runs, x, stride, width, count, sum);
        add_few(t->features, i, SCALED_BY_REST, s, runs, x, stride, width, count, sum);
        float *out = t->out + (i * runs + run) * t->stride;
        for (int c = 0; c < width; c++) out[c] = sum[c];
    }
}

CLONED void simpgcn_gradient_some(const struct gradient *t, int64_t pass, int64_t first, int64_t last) {
#define CALL(count) gradient_few(t, first, last, count)
    if (!t->passes.vectors) WITH_FEW(t->passes.few, CALL)
#undef CALL
#define CALL(count) gradient_lanes(t, first, last, column_of(&t->passes, pass), count)
    else WITH_COUNT(vectors_of(&t->passes, pass), CALL)
#undef CALL
}

void simpgcn_mix_backward(const int64_t *a_starts, const int32_t *a_columns, const float *a_values,
                          const int64_t *f_starts, const int32_t *f_columns, const float *f_values, const float *hidden,
                          const float *product, const float *s, const float *k, const float *difference,
                          const float *loop_weight, const float *bias, float *out, int64_t n, int64_t runs,
                          int64_t width, int64_t loops, int64_t threads) {
    struct gradient t = {
        .structure = {a_starts, a_columns, a_values, a_starts[n]},
        .features = {f_starts, f_columns, f_values, f_starts[n]},
        .hidden = hidden,
        .product = product,
        .s = s,
        .k = k,
        .difference = difference,
        .loop_weight = loop_weight,
        .bias = bias,
        .out = out,
        .runs = runs,
        .stride = width + 1 + loops,
        .loops = (int)loops,
        .passes = passes_over(width, n),
    };
    for (t.run = 0; t.run < runs; t.run++) {
#define WORK(first, last) simpgcn_gradient_of_scores(&t, first, last)
        IN_PARALLEL(n, 1, WORK);
#undef WORK
#define WORK(first, last) simpgcn_gradient_some(&t, pass, first, last)
        for (int64_t pass = 0; pass < t.passes.count; pass++) IN_PARALLEL(n, 1, WORK);
#undef WORK
    }
}
