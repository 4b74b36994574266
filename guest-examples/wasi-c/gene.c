/* Greets, and remembers whom: a WASI program with a C library, its input on standard input.
 *
 *   in   {"name"?: string}
 *   out  {"greeting": string, "new": boolean}
 *
 * The name last given is the PREFERENCE `greeter/name`. ../wasi-rust does the same.
 */
#include <stdio.h>

#include "rotifer.h"

#define KEY ROTIFER_TEXT("greeter/name")

static rotifer_output express(rotifer_text input) {
    rotifer_text given = rotifer_member(input, ROTIFER_TEXT("name")), name = rotifer_string(given);
    rotifer_text before;
    rotifer_answer answer;
    rotifer_buffer greeting = ROTIFER_EMPTY, output = ROTIFER_EMPTY;
    if (given.at && (!name.at || name.len == 0)) return rotifer_reject(ROTIFER_TEXT("name must be a string that is not empty"));

    answer = rotifer_read((rotifer_read_request){.key = KEY, .category = ROTIFER_PREFERENCE});
    if (answer.result < 0) return rotifer_fail(answer);
    before = rotifer_value(answer.json);
    if (!name.at) name = before.at ? before : ROTIFER_TEXT("stranger");
    if (given.at && !rotifer_same(name, before)) {
        answer = rotifer_write((rotifer_write_request){.key = KEY, .value = name, .category = ROTIFER_PREFERENCE});
        if (answer.result < 0) return rotifer_fail(answer);
        fprintf(stderr, "a new name of %u bytes\n", (unsigned)name.len); /* kept with the run's result */
    }

    rotifer_put(&greeting, ROTIFER_TEXT("Hello, "));
    rotifer_put(&greeting, name);
    rotifer_put_byte(&greeting, '!');
    rotifer_put_byte(&output, '{');
    rotifer_put_member(&output, ROTIFER_TEXT("greeting"), rotifer_text_of(&greeting));
    rotifer_put_name(&output, ROTIFER_TEXT("new"));
    rotifer_put(&output, rotifer_bool_name(!before.at));
    rotifer_put_byte(&output, '}');
    return rotifer_done(&output);
}

ROTIFER_GENE(express)
