/* The formatter, in C: re-indents code, and remembers the width its user last asked for. */
#include "rotifer.h"

#define KEY ROTIFER_TEXT("formatter/indent")
enum { DEFAULT_INDENT = 2, MAX_INDENT = 8, TAB = 8 };

/* The width that one digit stands for, or 0. */
static int width(rotifer_text text) {
    int digit = text.len == 1 ? text.at[0] - '0' : 0;
    return digit >= 1 && digit <= MAX_INDENT ? digit : 0;
}

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

static void reindent(rotifer_buffer *out, rotifer_text code, int indent) {
    rotifer_buffer stack = ROTIFER_EMPTY; /* the column at which each level starts */
    uint32_t levels = 1, i = 0;
    rotifer_reserve(&stack, (code.len + 2) * sizeof(uint32_t)); /* each level takes a byte of code to open */
    uint32_t *columns = (uint32_t *)(void *)stack.at;
    columns[0] = 0;
    while (i < code.len) {
        uint32_t column = 0, start;
        for (; i < code.len && (code.at[i] == ' ' || code.at[i] == '\t'); i++)
            column = code.at[i] == ' ' ? column + 1 : (column / TAB + 1) * TAB;
        start = i;
        while (i < code.len && !is_line_end(code.at[i])) i++;
        if (i > start) {
            while (columns[levels - 1] > column) levels--;
            if (columns[levels - 1] < column) columns[levels++] = column;
            rotifer_put_fill(out, ' ', (levels - 1) * (uint32_t)indent);
        }
        if (i < code.len) i++; /* the line end */
        rotifer_put(out, rotifer_part(code, start, i));
    }
}

static rotifer_output express(rotifer_text input) {
    rotifer_text code = rotifer_string(rotifer_member(input, ROTIFER_TEXT("code")));
    rotifer_text given = rotifer_member(input, ROTIFER_TEXT("indent"));
    rotifer_answer answer;
    int indent;
    if (!code.at) return rotifer_reject(ROTIFER_TEXT("code must be a string"));
    if (given.at) {
        indent = width(given);
        if (!indent) return rotifer_reject(ROTIFER_TEXT("indent must be a whole number from 1 to 8"));
        answer = rotifer_write((rotifer_write_request){.key = KEY, .value = given, .category = ROTIFER_PREFERENCE});
    } else {
        answer = rotifer_read((rotifer_read_request){.key = KEY, .category = ROTIFER_PREFERENCE});
        indent = answer.result < 0 ? 0 : width(rotifer_value(answer.json));
        if (!indent) indent = DEFAULT_INDENT; /* nothing there, or what another gene left is no width */
    }
    if (answer.result < 0) return rotifer_fail(answer);

    rotifer_buffer formatted = ROTIFER_EMPTY, output = ROTIFER_EMPTY;
    reindent(&formatted, code, indent);
    rotifer_put(&output, ROTIFER_TEXT("{\"formatted\":"));
    rotifer_put_string(&output, rotifer_text_of(&formatted));
    rotifer_put_name(&output, ROTIFER_TEXT("indent"));
    rotifer_put_int(&output, indent);
    rotifer_put_byte(&output, '}');
    return rotifer_done(&output);
}

ROTIFER_GENE(express)
