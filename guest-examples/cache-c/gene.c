/* The n-th prime, with what was computed kept for a day.
 *
 *   in   {"n": 1..10000}
 *   out  {"n": integer, "prime": integer, "cached": boolean}
 *
 * The result lies in the CACHE entry `prime/<n>`: the first to go when memory is full, and
 * gone a day after it was written. What can be computed again need not be remembered: no
 * failure of memory is a failure of this gene.
 */
#include "rotifer.h"

enum { MAX_N = 10000, BOUND = 104730, MAX_DAYS = 1 }; /* the 10,000th prime is 104,729 */

static int64_t nth_prime(int64_t n) {
    char *composite = rotifer_take(BOUND);
    __builtin_memset(composite, 0, BOUND);
    for (int64_t i = 2; i < BOUND; i++) {
        if (composite[i]) continue;
        if (--n == 0) return i;
        for (int64_t j = i * i; j < BOUND; j += i) composite[j] = 1;
    }
    __builtin_unreachable();
}

/* What was kept for this key, or 0: any gene of the domain may have written something else there. */
static int64_t kept(rotifer_text key) {
    int64_t prime = 0;
    rotifer_answer answer = rotifer_read((rotifer_read_request){.key = key, .category = ROTIFER_CACHE});
    if (answer.result < 0 || !rotifer_int(rotifer_value(answer.json), &prime) || prime < 2) return 0;
    return prime;
}

static void keep(rotifer_text key, int64_t prime) {
    rotifer_buffer digits = ROTIFER_EMPTY;
    rotifer_put_int(&digits, prime);
    rotifer_write((rotifer_write_request){
        .key = key,
        .value = rotifer_text_of(&digits),
        .category = ROTIFER_CACHE,
        .retention = {.what = ROTIFER_RETENTION_SET, .max_days = MAX_DAYS},
    });
}

static rotifer_output express(rotifer_text input) {
    rotifer_buffer key = ROTIFER_EMPTY, output = ROTIFER_EMPTY;
    int64_t n, prime;
    bool cached;
    if (!rotifer_int(rotifer_member(input, ROTIFER_TEXT("n")), &n) || n < 1 || n > MAX_N)
        return rotifer_reject(ROTIFER_TEXT("n must be a whole number from 1 to 10000"));

    rotifer_put(&key, ROTIFER_TEXT("prime/"));
    rotifer_put_int(&key, n);
    prime = kept(rotifer_text_of(&key));
    cached = prime != 0;
    if (!cached) {
        prime = nth_prime(n);
        keep(rotifer_text_of(&key), prime);
    }

    rotifer_put(&output, ROTIFER_TEXT("{\"n\":"));
    rotifer_put_int(&output, n);
    rotifer_put_name(&output, ROTIFER_TEXT("prime"));
    rotifer_put_int(&output, prime);
    rotifer_put_name(&output, ROTIFER_TEXT("cached"));
    rotifer_put(&output, rotifer_bool_name(cached));
    rotifer_put_byte(&output, '}');
    return rotifer_done(&output);
}

ROTIFER_GENE(express)
