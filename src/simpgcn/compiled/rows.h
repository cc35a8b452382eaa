/* Weighted sums of the rows that a sparse matrix names, kept in registers while they add up.

   A row of the sum is made in passes over some of its columns, so that what a pass reads of x stays in the cache
   longer. Wide vectors are the compiler's to split: each function that is CLONED is compiled for several processors. */
#ifndef SIMPGCN_ROWS_H
#define SIMPGCN_ROWS_H

#include <stdint.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define CLONED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONED
#endif
#define INLINE static inline __attribute__((always_inline))

#define LANES 16
#define FEW 4
#define MOST 9           /* vectors in a pass */
#define CACHED (1 << 20) /* bytes that a core's cache holds for a pass */
#define AHEAD 8          /* how many entries before its use a row is fetched */

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float few __attribute__((vector_size(4 * FEW), aligned(4), may_alias));

/* A sparse matrix: of row i, the entries starts[i] to starts[i + 1]. */
struct rows {
    const int64_t *starts;
    const int32_t *columns;
    const float *values;
    int64_t entries;
};

/* What an entry's value is multiplied with: 1, scale[column * step], or 1 less that. */
enum scaling { PLAIN, SCALED, SCALED_BY_REST };

INLINE float weight_of(struct rows m, int64_t entry, enum scaling how, const float *scale, int64_t step) {
    if (how == PLAIN) return m.values[entry];
    float s = scale[m.columns[entry] * step];
    return m.values[entry] * (how == SCALED ? s : 1 - s);
}

/* Add to sum, COUNT vectors, row i of the matrix times x, whose rows are stride apart. */
INLINE void add_lanes(struct rows m, int64_t i, enum scaling how, const float *scale, int64_t step, const float *x,
                      int64_t stride, int count, lanes *sum) {
    int64_t stop = m.starts[i + 1];
    for (int64_t entry = m.starts[i]; entry < stop; entry++) {
        if (entry + AHEAD < m.entries) { /* of the next rows, too */
            const float *soon = x + m.columns[entry + AHEAD] * stride;
            for (int v = 0; v < count; v++) __builtin_prefetch(soon + LANES * v);
        }
        float weight = weight_of(m, entry, how, scale, step);
        const lanes *row = (const lanes *)(x + m.columns[entry] * stride);
        for (int v = 0; v < count; v++) sum[v] += weight * row[v];
    }
}

/* The same for fewer than LANES columns. */
INLINE void add_few(struct rows m, int64_t i, enum scaling how, const float *scale, int64_t step, const float *x,
                    int64_t stride, int width, int count, float *sum) {
    few parts[LANES / FEW] = {0};
    float rest[FEW] = {0};
    for (int64_t entry = m.starts[i]; entry < m.starts[i + 1]; entry++) {
        float weight = weight_of(m, entry, how, scale, step);
        const float *row = x + m.columns[entry] * stride;
        for (int v = 0; v < count; v++) parts[v] += weight * *(const few *)(row + (v + 1 < count ? FEW * v : width - FEW));
        for (int c = 0; c < FEW - 1 && !count; c++)
            if (c < width) rest[c] += weight * row[c];
    }
    /* The last vector may have columns of the one before it; both have the same sums there. */
    for (int c = 0; c < width; c++) {
        int v = c / FEW;
        sum[c] += !count ? rest[c] : v + 1 < count ? parts[v][c % FEW] : parts[count - 1][c - width + FEW];
    }
}

/* Width columns in passes, so that of x, some rows of so many columns, no more is read in a pass than the cache holds,
   if a pass of a few vectors is enough for that. The last pass may begin among the columns of the one before it, and
   then makes the same numbers again. */
struct passes {
    int64_t count, vectors, width;
    int few; /* vectors of FEW columns, for less than LANES columns */
};

INLINE struct passes passes_over(int64_t width, int64_t rows) {
    struct passes p = {1, 0, width, (int)((width + FEW - 1) / FEW)};
    if (width < FEW) p.few = 0;
    if (width < LANES) return p;
    int64_t most = rows * LANES * 4 * 5 <= CACHED ? 5 : MOST;
    p.vectors = (width + LANES - 1) / LANES;
    p.count = (p.vectors + most - 1) / most;
    if (p.count == 1 && width % LANES) p.count = 2; /* or it would reach beyond the row */
    return p;
}

/* Of a pass, how many vectors there are, and from which column on. */
INLINE int vectors_of(const struct passes *p, int64_t pass) {
    return (int)(p->vectors * (pass + 1) / p->count - p->vectors * pass / p->count);
}

INLINE int64_t column_of(const struct passes *p, int64_t pass) {
    int64_t first = LANES * (p->vectors * pass / p->count), last = p->width - LANES * vectors_of(p, pass);
    return first < last ? first : last;
}

/* Take CALL(count) with a count that the compiler knows. */
#define WITH_COUNT(count, CALL) \
    switch (count) {            \
        case 1: CALL(1); break; \
        case 2: CALL(2); break; \
        case 3: CALL(3); break; \
        case 4: CALL(4); break; \
        case 5: CALL(5); break; \
        case 6: CALL(6); break; \
        case 7: CALL(7); break; \
        case 8: CALL(8); break; \
        default: CALL(9);       \
    }
#define WITH_FEW(count, CALL)   \
    switch (count) {            \
        case 0: CALL(0); break; \
        case 1: CALL(1); break; \
        case 2: CALL(2); break; \
        case 3: CALL(3); break; \
        default: CALL(4);       \
    }

/* Do WORK(first, last) for all of count rows: on one thread at once, on several, as many as the caller's `threads` says,
   some at a time, in multiples of grain. */
#define IN_PARALLEL(count, grain, WORK)                                                              \
    do {                                                                                             \
        int64_t piece = threads > 1 ? (count) / (8 * threads) + 1 : (count) + 1, pieces;             \
        piece = (piece + (grain)-1) / (grain) * (grain);                                             \
        pieces = ((count) + piece - 1) / piece;                                                      \
        _Pragma("omp parallel for schedule(dynamic) num_threads(threads) if(threads > 1)")           \
        for (int64_t p = 0; p < pieces; p++) {                                                       \
            int64_t first = p * piece, last = first + piece < (count) ? first + piece : (count);     \
            WORK(first, last);                                                                       \
        }                                                                                            \
    } while (0)

#endif
