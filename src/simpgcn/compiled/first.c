#include "rows.h"
#include <math.h>

#define CHUNK 32
#define SIDE_BY_SIDE 256

/* Of each row, the count best keys, best first; of equal keys that with the lower order, of equal orders the first
   column. A key is at key[row * row_step + column * column_step], and one of the steps is 1. */
struct first {
    const float *key;
    const uint32_t *hashes; /* of the rows */
    float *values;
    int64_t *nodes;
    uint32_t *orders;
    int64_t columns, row_step, column_step, count;
    float sign; /* 1 for the largest, -1 for the smallest */
};

/* The order among equals; similarity/ties.py has the same. */
INLINE uint32_t order_of(uint32_t row_hash, uint32_t column) {
    uint32_t z = row_hash ^ column * 0x9E3779B9u;
    z ^= z >> 16;
    z *= 0x21F0AAADu;
    z ^= z >> 15;
    z *= 0x735A2D97u;
    z ^= z >> 15;
    return z >> 1;
}

/* Put a key in its place among the best of a row, of which the last goes. */
INLINE void insert(const struct first *t, int64_t row, float key, int64_t column, uint32_t order) {
    float *values = t->values + row * t->count;
    int64_t *nodes = t->nodes + row * t->count, place = t->count - 1;
    uint32_t *orders = t->orders + row * t->count;
    while (place > 0 && (key > values[place - 1] || (key == values[place - 1] && order < orders[place - 1]))) {
        values[place] = values[place - 1];
        nodes[place] = nodes[place - 1];
        orders[place] = orders[place - 1];
        place--;
    }
    values[place] = key;
    nodes[place] = column;
    orders[place] = order;
}

/* Keys that lie side by side are those of some rows in one column. */
INLINE void of_column(const struct first *t, int64_t row, int64_t column, int rows, float *worst, uint32_t *worst_order) {
    const float *restrict key = t->key + column * t->column_step + row;
    const uint32_t *restrict hash = t->hashes + row;
    uint32_t order[CHUNK], taken[CHUNK], any = 0;
    for (int l = 0; l < rows; l++) any |= t->sign * key[l] >= worst[l];
    if (!any) return;
    any = 0;
    for (int l = 0; l < rows; l++) {
        float k = t->sign * key[l];
        order[l] = order_of(hash[l], (uint32_t)column);
        taken[l] = (uint32_t)(k > worst[l]) | ((uint32_t)(k == worst[l]) & (uint32_t)(order[l] < worst_order[l]));
        any |= taken[l];
    }
    for (int l = 0; any && l < rows; l++)
        if (taken[l]) {
            int64_t last = (row + l + 1) * t->count - 1;
            insert(t, row + l, t->sign * key[l], column, order[l]);
            worst[l] = t->values[last];
            worst_order[l] = t->orders[last];
        }
}

/* Rows up to SIDE_BY_SIDE of them, so that each column is read in one go. */
INLINE void by_columns(const struct first *t, int64_t first, int64_t last) {
    float worst[SIDE_BY_SIDE];
    uint32_t worst_order[SIDE_BY_SIDE];
    for (int64_t l = 0; l < last - first; l++) {
        worst[l] = -INFINITY;
        worst_order[l] = UINT32_MAX;
    }
    for (int64_t column = 0; column < t->columns; column++)
        for (int64_t row = first; row < last; row += CHUNK)
            if (row + CHUNK <= last)
                of_column(t, row, column, CHUNK, worst + row - first, worst_order + row - first);
            else
                of_column(t, row, column, (int)(last - row), worst + row - first, worst_order + row - first);
}

/* They are those of one row in some columns. */
INLINE void by_rows(const struct first *t, int64_t row, int64_t column, int columns) {
    const float *key = t->key + row * t->row_step + column;
    int64_t last = (row + 1) * t->count - 1;
    uint32_t order[CHUNK], any = 0, hash = t->hashes[row];
    float worst = t->values[last], sign = t->sign;
    uint32_t worst_order = t->orders[last];
    for (int l = 0; l < columns; l++) {
        float k = sign * key[l];
        order[l] = order_of(hash, (uint32_t)(column + l));
        any |= (uint32_t)(k > worst) | ((uint32_t)(k == worst) & (uint32_t)(order[l] < worst_order));
    }
    for (int l = 0; any && l < columns; l++) {
        float k = sign * key[l];
        if (k > t->values[last] || (k == t->values[last] && order[l] < t->orders[last]))
            insert(t, row, k, column + l, order[l]);
    }
}

CLONED void simpgcn_first_some(const struct first *t, int64_t first, int64_t last) {
    for (int64_t i = first * t->count; i < last * t->count; i++) {
        t->values[i] = -INFINITY;
        t->orders[i] = UINT32_MAX;
    }
    if (t->row_step == 1) {
        for (int64_t row = first; row < last; row += SIDE_BY_SIDE)
            by_columns(t, row, row + SIDE_BY_SIDE < last ? row + SIDE_BY_SIDE : last);
    } else {
        for (int64_t row = first; row < last; row++)
            for (int64_t column = 0; column < t->columns; column += CHUNK)
                if (column + CHUNK <= t->columns)
                    by_rows(t, row, column, CHUNK);
                else
                    by_rows(t, row, column, (int)(t->columns - column));
    }
    for (int64_t i = first * t->count; i < last * t->count; i++) t->values[i] *= t->sign;
}

void simpgcn_first(const float *key, const uint32_t *hashes, float *values, int64_t *nodes, uint32_t *orders,
                   int64_t rows, int64_t columns, int64_t row_step, int64_t column_step, int64_t count, int64_t largest,
                   int64_t threads) {
    struct first t = {key, hashes, values, nodes, orders, columns, row_step, column_step, count, largest ? 1 : -1};
#define WORK(first, last) simpgcn_first_some(&t, first, last)
    IN_PARALLEL(rows, CHUNK, WORK);
#undef WORK
}
