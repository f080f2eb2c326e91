// <stdlib.h>: arithmetic, searching and sorting, floating-point numbers from
// text, the environment.
#include "model.h"
#include <inttypes.h>
#include <strings.h>

// --- arithmetic

static inline int64_t absolute(int64_t n) { return n < 0 ? (int64_t)(0 - (uint64_t)n) : n; }

int __model_abs(int n) { return n < 0 ? (int)(0 - (unsigned)n) : n; }
long __model_labs(long n) { return absolute(n); }
long long __model_llabs(long long n) { return absolute(n); }
intmax_t __model_imaxabs(intmax_t n) { return absolute(n); }

div_t __model_div(int a, int b) { return (div_t){.quot = a / b, .rem = a % b}; }
ldiv_t __model_ldiv(long a, long b) { return (ldiv_t){.quot = a / b, .rem = a % b}; }
lldiv_t __model_lldiv(long long a, long long b) { return (lldiv_t){.quot = a / b, .rem = a % b}; }
imaxdiv_t __model_imaxdiv(intmax_t a, intmax_t b) { return (imaxdiv_t){.quot = a / b, .rem = a % b}; }

int __model_ffs(int n) { return __builtin_ffs(n); }
int __model_ffsl(long n) { return __builtin_ffsl(n); }
int __model_ffsll(long long n) { return __builtin_ffsll(n); }

// --- searching and sorting

typedef int (*compare_fn)(const void *, const void *);
typedef int (*compare_with_fn)(const void *, const void *, void *);

void *__model_bsearch(const void *key, const void *base, size_t count, size_t size, compare_fn compare) {
    size = pin(size);
    size_t low = 0;
    size_t high = pin(count);
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *element = (const char *)base + middle * size;
        int order = compare(key, element);
        if (order < 0) {
            BRANCH;
            high = middle;
        } else if (order > 0) {
            BRANCH;
            low = middle + 1;
        } else {
            return (void *)element;
        }
    }
    return NULL;
}

struct sort {
    size_t size;
    compare_with_fn compare;
    void *context;
    char *scratch;
};

// The real function is a merge sort too, which splits in the same places, so
// that even a comparison without rhyme or reason sees the same calls.
static void merge_elements(const struct sort *sort, char *base, size_t count) {
    if (count <= 1) return;
    size_t left = count / 2;
    size_t right = count - left;
    char *a = base;
    char *b = base + left * sort->size;
    merge_elements(sort, a, left);
    merge_elements(sort, b, right);
    char *out = sort->scratch;
    while (left > 0 && right > 0) {
        if (sort->compare(a, b, sort->context) <= 0) {
            BRANCH;
            memcpy(out, a, sort->size);
            a += sort->size;
            left--;
        } else {
            memcpy(out, b, sort->size);
            b += sort->size;
            right--;
        }
        out += sort->size;
    }
    if (left > 0) memcpy(out, a, left * sort->size);
    memcpy(base, sort->scratch, (count - right) * sort->size);
}

// Large elements are sorted through pointers to them.
static void merge_pointers(const struct sort *sort, char **base, size_t count, char **scratch) {
    if (count <= 1) return;
    size_t left = count / 2;
    size_t right = count - left;
    char **a = base;
    char **b = base + left;
    merge_pointers(sort, a, left, scratch);
    merge_pointers(sort, b, right, scratch);
    char **out = scratch;
    while (left > 0 && right > 0) {
        if (sort->compare(*a, *b, sort->context) <= 0) {
            BRANCH;
            *out++ = *a++;
            left--;
        } else {
            *out++ = *b++;
            right--;
        }
    }
    while (left-- > 0) *out++ = *a++;
    memcpy(base, scratch, (count - right) * sizeof *base);
}

static bool sort_large(const struct sort *sort, char *base, size_t count) {
    char **order = malloc(2 * count * sizeof *order);
    char *copy = malloc(count * sort->size);
    if (order == NULL || copy == NULL) {
        free(order);
        free(copy);
        return false;
    }
    for (size_t i = 0; i < count; i++) order[i] = base + i * sort->size;
    merge_pointers(sort, order, count, order + count);
    for (size_t i = 0; i < count; i++) memcpy(copy + i * sort->size, order[i], sort->size);
    memcpy(base, copy, count * sort->size);
    free(order);
    free(copy);
    return true;
}

void __model_qsort_r(void *base, size_t count, size_t size, compare_with_fn compare, void *context) {
    count = pin(count);
    size = pin(size);
    if (count <= 1 || size == 0) {
        // Nothing to move; elements of no size are still compared.
        if (count > 1) qsort_r(base, count, size, compare, context);
        return;
    }
    struct sort sort = {.size = size, .compare = compare, .context = context};
    size_t total;
    if (!__builtin_mul_overflow(count, size, &total)) {
        if (size > 32) {
            if (sort_large(&sort, base, count)) return;
        } else if ((sort.scratch = malloc(total)) != NULL) {
            merge_elements(&sort, base, count);
            free(sort.scratch);
            return;
        }
    }
    // No memory: neither would the real function have had any.
    __chg_lost_memory(base, count * size, CHG_LOSS_EXTERNAL_MEMORY);
    qsort_r(base, count, size, compare, context);
    __chg_clear(base, count * size);
}

static int without_context(const void *a, const void *b, void *context) {
    return (*(compare_fn *)context)(a, b);
}

void __model_qsort(void *base, size_t count, size_t size, compare_fn compare) {
    __model_qsort_r(base, count, size, without_context, &compare);
}

// --- floating-point numbers: their values carry no labels yet

// The bytes that decided the result: those consumed and the one that ended them.
static void lose_number(const char *text, const char *end) {
    size_t n = (size_t)(end - text) + 1;
    if (__chg_symbolic(text, n)) __chg_lost_memory(text, n, CHG_LOSS_FLOAT);
}

#define FLOATING(type, name)                                \
    type __model_##name(const char *text, char **end) {     \
        char *stop;                                         \
        type value = name(text, &stop);                     \
        lose_number(text, stop);                            \
        if (end != NULL) *end = stop;                       \
        return value;                                       \
    }

FLOATING(float, strtof)
FLOATING(double, strtod)
FLOATING(long double, strtold)

double __model_atof(const char *text) { return __model_strtod(text, NULL); }

// --- environment: the labels are in the memory of the values

char *__model_getenv(const char *name) {
    lose_text(name);
    return getenv(name);
}

char *__model_secure_getenv(const char *name) {
    lose_text(name);
    return secure_getenv(name);
}
