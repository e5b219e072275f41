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
    { 0, "job", "string", "id of the job, of all its cells" },
    { 0, "cell", "integer", "1, 2, ... as in FILE" },
    { 0, "number", "integer",
      "of the cell in its session, from 1, as tracebacks name it: <cell-3>" },
    { 0, "status", "string",
      "how it ended: ok, error (an exception), exit (sys.exit()), timeout, "
      "memory, crashed, interrupted, unknown (the executor went away; it was "
      "not run again)" },
    { 0, "state", "string",
      "what became of variables and files: kept, rolled_back (variables as "
      "before the cell, files as it left them), restored, lost" },
    { 0, "reason", "string",
      "why, by which limit, and what else is to be known of it: sentences" },
    { 0, "line", "integer", "of the cell, at which it was killed" },
    { 0, "ms", "integer", "how long it took" },
    { 0, "peak_bytes", "integer",
      "the most memory of the session that was seen" },
    { 0, "stdout", "string",
      "what it wrote, fit to be read: 16 KiB, head and tail when it is more" },
    { 0, "stderr", "string", "the same" },
    { 0, "stdout_bytes", "integer",
      "all that was written; after clear_output(), since then" },
    { 0, "stderr_bytes", "integer", "the same" },
    { 0, "stdout_blob", "string",
      "blob of the very bytes (the first 8 MiB), where the text is not them" },
    { 0, "stderr_blob", "string", "the same" },
    { 0, "result", "string", "its last expression's value, as by repr()" },
    { 0, "error", "object or null", "the exception that ended it" },
    { 1, "name", "string", "its class" },
    { 1, "value", "string", "its text" },
    { 1, "traceback", "string", "with the lines of the cell" },
    { 0, "displays", "array",
      "what it displayed, in order: figures, tables, display()" },
    { 1, "text", "string", "as text/plain" },
    { 1, "id", "string", "its display_id; empty: none" },
    { 1, "parts", "array", "the same in every richer form" },
    { 2, "name", "string", "a file's name, unique in the job" },
    { 2, "mime", "string", "media type" },
    { 2, "blob", "string", "its bytes" },
    { 2, "bytes", "integer", "length" },
    { 2, "width", "integer", "pixels, of an image" },
    { 2, "height", "integer", "the same" },
    { 2, "active", "boolean",
      "shown in a page, it may run scripts or load from elsewhere" },
    { 2, "saved", "string or null", "path where it is now, with --out" },
    { 0, "files", "array", "what it did to its working directory" },
    { 1, "name", "string", "a file's name, unique in the job" },
    { 1, "path", "string or object",
      "where it is in the working directory; {\"base64\": string} where that "
      "is not UTF-8" },
    { 1, "change", "string",
      "new, changed, deleted; written again with the same bytes is not there" },
    { 1, "bytes", "integer", "length" },
    { 1, "blob", "string", "its bytes" },
    { 1, "mime", "string", "media type" },
    { 1, "note", "string", "why there is no blob" },
    { 1, "saved", "string or null", "path where it is now, with --out" },
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
