/* librechat_cells.c - what LibreChat asks to run, as cells of Python.
 *
 * What is written into them is JSON of texts: to Python these are the same. */
#include "producer/gateway/plugs/librechat_cells.h"

#include <stdint.h>
#include <stdlib.h>

#include "schemas/message/buf.h"

static void write_literal(struct buf *code, const json_t *texts)
{
    CLEANUP(cleanup_free)
    char *json = json_dumps(texts, JSON_COMPACT | JSON_ENCODE_ANY);

    if (!json)
        abort();
    buf_add(code, view_of(json));
}

/* Moves the files to their folders and sets sys.argv; it leaves no name
 * behind. */
static json_t *first_cell(const json_t *moves, const json_t *args)
{
    CLEANUP(buf_finish) struct buf code = { .max = SIZE_MAX };

    buf_add(&code, VIEW("(lambda os, sys, moves, args: ([\n"
                        "    (os.makedirs(os.path.dirname(to) or '.', "
                        "exist_ok=True), os.replace(at, to))\n"
                        "    for at, to in moves\n"
                        "], sys.argv.__setitem__(slice(1, None), args)) and "
                        "None)(\n"
                        "    __import__('os'), __import__('sys'),\n    "));
    write_literal(&code, moves);
    buf_add(&code, VIEW(",\n    "));
    write_literal(&code, args);
    buf_add(&code, VIEW(",\n)\n"));
    return json_stringn(code.data, code.len);
}

/* The script is a file, since it may be longer than an argument. */
static json_t *bash_cell(const json_t *script, const json_t *args)
{
    CLEANUP(buf_finish) struct buf code = { .max = SIZE_MAX };

    buf_add(&code, VIEW("import subprocess, sys\n"
                        "with open('/tmp/main.sh', 'w') as script:\n"
                        "    script.write("));
    write_literal(&code, script);
    buf_add(&code,
            VIEW(")\n"
                 "try:\n"
                 "    script = subprocess.run(['bash', script.name] + "));
    write_literal(&code, args);
    buf_add(&code, VIEW(", stdin=subprocess.DEVNULL)\n"
                        "except FileNotFoundError:\n"
                        "    print('there is no bash here: use Python', "
                        "file=sys.stderr)\n"
                        "else:\n"
                        "    if script.returncode != 0:\n"
                        "        sys.exit(script.returncode)\n"));
    return json_stringn(code.data, code.len);
}

json_t *librechat_cells(const json_t *body, const json_t *moves)
{
    const json_t *lang = json_object_get(body, "lang");
    bool is_bash = view_is(view_of(json_string_value(lang)), "bash");
    json_t *code = json_object_get(body, "code");
    json_t *args = json_object_get(body, "args");
    json_t *cells = json_array();

    args = json_is_array(args) ? json_incref(args) : json_array();
    if (json_array_size(moves) > 0 || json_array_size(args) > 0)
        json_array_append_new(cells, first_cell(moves, args));
    if (is_bash)
        json_array_append_new(cells, bash_cell(code, args));
    else
        json_array_append(cells, code);
    json_decref(args);
    return cells;
}
