/* Steps of gradient descent of two-layer networks f(x) = sum_i a_i sigma(w_i x), sigma(z) = max(z, gamma z), on
 * L = 1/2 sum_j (f(x_j) - y_j)^2, one network after another. Whoever compiles this defines REAL and BLOCK_BYTES.
 *
 * The data come in blocks of BLOCK, so that the hidden inputs of a block stay in the first cache, once with a row for
 * each datum (X) and once with a row for each coordinate (XT). Rows end with zeros up to a whole number of vectors, and
 * so does the last block, whose superfluous data add nothing to any gradient. A tile of a product is a few rows of
 * some vectors each, which are summed in registers; its size is a constant in every call, so that the compiler unrolls
 * it. sigma'(0) = 1.
 */

#include <stddef.h>
#include <string.h>

#if defined(__AVX512F__)
enum { BYTES = 64, ROWS = 6, VECTORS = 4 };
#elif defined(__AVX__)
enum { BYTES = 32, ROWS = 6, VECTORS = 2 };
#else
enum { BYTES = 16, ROWS = 6, VECTORS = 2 };
#endif
enum { LANES = BYTES / sizeof(REAL), BLOCK = BLOCK_BYTES / sizeof(REAL) };

typedef REAL vector __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* out (rows x vectors) = left (rows x depth) times right (depth x vectors), added to what is there unless fresh. */
INLINE void tile(const size_t rows, const size_t vectors, const int fresh, size_t depth, const REAL *left,
                 size_t left_row, const REAL *right, size_t right_row, REAL *out, size_t out_row)
{
    vector sum[ROWS][VECTORS];
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; v < vectors; v++)
            sum[i][v] = fresh ? (vector){0} : *(const vector *)(out + i * out_row + v * LANES);
    for (size_t k = 0; k < depth; k++) {
        vector across[VECTORS];
        for (size_t v = 0; v < vectors; v++)
            across[v] = *(const vector *)(right + k * right_row + v * LANES);
        for (size_t i = 0; i < rows; i++)
            for (size_t v = 0; v < vectors; v++)
                sum[i][v] += left[i * left_row + k] * across[v];
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; v < vectors; v++)
            *(vector *)(out + i * out_row + v * LANES) = sum[i][v];
}

INLINE void tile_of(size_t rows, const size_t vectors, const int fresh, size_t depth, const REAL *left, size_t left_row,
                    const REAL *right, size_t right_row, REAL *out, size_t out_row)
{
    switch (rows) {
#define WITH(n) case n: tile(n, vectors, fresh, depth, left, left_row, right, right_row, out, out_row); break;
        WITH(1) WITH(2) WITH(3) WITH(4) WITH(5) WITH(6)
#undef WITH
    }
}

/* out (rows x width) = or += left (rows x depth) times right (depth x width), in tiles of rows of nearly one size. */
INLINE void product(const int fresh, size_t rows, size_t width, size_t depth, const REAL *left, size_t left_row,
                    const REAL *right, size_t right_row, REAL *out, size_t out_row)
{
    size_t bands = (rows + ROWS - 1) / ROWS;
    for (size_t v = 0; v < width; v += VECTORS * LANES)
        for (size_t band = 0; band < bands; band++) {
            size_t low = band * rows / bands, high = (band + 1) * rows / bands;
            const REAL *here = left + low * left_row;
            REAL *there = out + low * out_row + v;
            switch ((width - v) / LANES) {
#define WITH(n) case n: tile_of(high - low, n, fresh, depth, here, left_row, right + v, right_row, there, out_row); break;
                WITH(1)
#if defined(__AVX512F__)
                WITH(2) WITH(3)
#endif
#undef WITH
            default:
                tile_of(high - low, VECTORS, fresh, depth, here, left_row, right + v, right_row, there, out_row);
            }
        }
}

/* From the hidden inputs z (h x BLOCK) of one block to sigma'(z) r, in place. */
INLINE void gates(size_t h, const REAL *a, const REAL *y, REAL gamma, REAL *z)
{
    REAL r[BLOCK], leaked[BLOCK];
    for (size_t j = 0; j < BLOCK; j++)
        r[j] = -y[j];
    for (size_t i = 0; i < h; i++)
        for (size_t j = 0; j < BLOCK; j++)
            r[j] += a[i] * (z[i * BLOCK + j] >= 0 ? z[i * BLOCK + j] : gamma * z[i * BLOCK + j]);
    for (size_t j = 0; j < BLOCK; j++)
        leaked[j] = gamma * r[j];
    for (size_t i = 0; i < h; i++)
        for (size_t j = 0; j < BLOCK; j++)
            z[i * BLOCK + j] = z[i * BLOCK + j] >= 0 ? r[j] : leaked[j];
}

/* count steps of each of the networks: a (networks, h) and W (networks, h, d) move by -speed_a dL/da, -speed_w dL/dW.
 * XT is (blocks, d, BLOCK), X (blocks, BLOCK, width) with width a multiple of LANES, y (blocks, BLOCK); z (h, BLOCK)
 * and xi (h, width) are buffers. With xi_i = sum_j sigma'(w_i x_j) r_j x_j: dL/dw_i = a_i xi_i, dL/da_i = w_i xi_i. */
void steps(size_t count, size_t networks, size_t h, size_t d, size_t width, size_t blocks, const REAL *XT, const REAL *X,
           const REAL *y, REAL gamma, const REAL *speed_a, const REAL *speed_w, REAL *a, REAL *W, REAL *z, REAL *xi)
{
    for (size_t network = 0; network < networks; network++, a += h, W += h * d)
        for (size_t step = 0; step < count; step++) {
            memset(xi, 0, h * width * sizeof(REAL));
            for (size_t block = 0; block < blocks; block++) {
                product(1, h, BLOCK, d, W, d, XT + block * d * BLOCK, BLOCK, z, BLOCK);
                gates(h, a, y + block * BLOCK, gamma, z);
                product(0, h, width, BLOCK, z, BLOCK, X + block * BLOCK * width, width, xi, width);
            }
            for (size_t i = 0; i < h; i++) {
                REAL slope = 0, move = speed_w[network] * a[i];
#pragma omp simd reduction(+ : slope)
                for (size_t k = 0; k < d; k++) {
                    slope += xi[i * width + k] * W[i * d + k];
                    W[i * d + k] -= move * xi[i * width + k];
                }
                a[i] -= speed_a[network] * slope;
            }
        }
}
