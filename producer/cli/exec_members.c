/* exec_members.c - what quern exec --json prints, member by member.
 *
 * The table in producer/COMMANDS.md says the same. */
#include <string.h>

#include "producer/cli/cli.h"

enum { NAME_WIDTH = 15, TYPE_WIDTH = 17, WIDTH = 80 };

struct exec_member {
    int depth; /* 0: of the cell's object; 1: of the last member of depth 0
                  above */
    const char *name, *type, *about;
};

static const struct exec_member members[] = {
    { 0, "job", "string", "the job's id, the same for all its cells" },
    { 0, "cell", "integer", "the cell's number in FILE, from 1" },
    { 0, "number", "integer",
      "the cell's number in its session, from 1, as in tracebacks: <cell-3>" },
    { 0, "status", "string",
      "how the cell ended: ok, error (an exception), exit (sys.exit()), "
      "timeout, memory, crashed, interrupted, unknown (the executor went "
      "away, and the cell did not run again)" },
    { 0, "state", "string",
      "what happened to variables and files: kept, rolled_back (variables "
      "are as before the cell, files as it left them), restored, lost" },
    { 0, "reason", "string",
      "why, in sentences: for example which limit was reached" },
    { 0, "line", "integer",
      "the line of the cell that ran when the cell was killed" },
    { 0, "ms", "integer", "how long the cell took" },
    { 0, "peak_bytes", "integer",
      "the highest memory use of the session that was measured" },
    { 0, "stdout", "string",
      "readable output: 16 KiB at most, longer output is cut to head and "
      "tail" },
    { 0, "stderr", "string", "the same" },
    { 0, "stdout_bytes", "integer",
      "bytes written in all, or since the last clear_output()" },
    { 0, "stderr_bytes", "integer", "the same" },
    { 0, "stdout_blob", "string",
      "blob of the exact bytes (the first 8 MiB), when the text differs" },
    { 0, "stderr_blob", "string", "the same" },
    { 0, "result", "string", "the repr() of the last expression's value" },
    { 0, "error", "object or null", "the exception that ended the cell" },
    { 1, "name", "string", "its class" },
    { 1, "value", "string", "its text" },
    { 1, "traceback", "string", "the traceback, with lines of the cell" },
    { 0, "displays", "array",
      "what the cell displayed, in order: charts, tables, display()" },
    { 1, "text", "string", "the display as text/plain" },
    { 1, "id", "string", "its display_id; empty: none" },
    { 1, "parts", "array", "the display in every richer form" },
    { 2, "name", "string", "a file name, unique in the job" },
    { 2, "mime", "string", "media type" },
    { 2, "blob", "string", "its bytes" },
    { 2, "bytes", "integer", "length" },
    { 2, "width", "integer", "of an image, pixels" },
    { 2, "height", "integer", "the same" },
    { 2, "active", "boolean",
      "in a page it may run scripts or load data from elsewhere" },
    { 2, "saved", "string or null", "the path to which --out saved it" },
    { 0, "files", "array",
      "the files that the cell changed in its working directory" },
    { 1, "name", "string", "a file name, unique in the job" },
    { 1, "path", "string or object",
      "its path in the working directory; {\"base64\": string} when the path "
      "is not UTF-8" },
    { 1, "change", "string",
      "new, changed or deleted; written again with the same bytes: not "
      "listed" },
    { 1, "bytes", "integer", "length" },
    { 1, "blob", "string", "its bytes" },
    { 1, "mime", "string", "media type" },
    { 1, "note", "string", "why there is no blob" },
    { 1, "saved", "string or null", "the path to which --out saved it" },
    { 0, "notes", "string", "what was dropped, a line each" },
    { 0, "isolation", "string", "the walls around the code" },
};

/* Prints words from column `at` on; further lines begin at that column. */
static void print_words(const char *text, int at, FILE *out)
{
    int column = at;

    while (*text) {
        int len = (int)strcspn(text, " ");

        if (column > at && column + 1 + len > WIDTH) {
            fprintf(out, "\n%*s", at, "");
            column = at;
        }
        column += fprintf(out, "%s%.*s", column > at ? " " : "", len, text);
        text += len;
        text += strspn(text, " ");
    }
    fprintf(out, "\n");
}

void exec_members(FILE *out)
{
    fprintf(out,
            "\nThe object of a cell has all of these, with \"\", 0, [] or "
            "null where there is\nnothing to say. A blob is the SHA-256 of "
            "bytes that are in Redis for a day.\n\n");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const struct exec_member *member = &members[i];
        int indent = 2 + 2 * member->depth;
        int width = 2 + NAME_WIDTH - indent;

        fprintf(out, "%*s%-*s %-*s ", indent, "", width, member->name,
                TYPE_WIDTH, member->type);
        print_words(member->about, 2 + NAME_WIDTH + TYPE_WIDTH + 2, out);
    }
}
