/* client.c - a program of somebody else's: nothing but <quern.h> and C99. */
#include <quern.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct quern_error *error)
{
    fprintf(stderr, "%s: %s\n", error->code, error->text);
    return 1;
}

static int follow(struct quern *quern, const char *id)
{
    struct quern_error error;
    struct quern_event event;
    struct quern_watch *watch = quern_watch_open(quern, id, 0, &error);
    enum quern_next next;

    if (!watch)
        return fail(&error);
    while ((next = quern_watch_next(watch, &event, 1000, &error)) !=
           QUERN_END) {
        if (next == QUERN_BROKEN)
            return fail(&error);
        if (next == QUERN_EVENT)
            printf("%d %s%s\n", (int)event.seq, event.type,
                   event.terminal ? "." : "");
    }
    quern_watch_close(watch);
    return 0;
}

static int submit(struct quern *quern, const char *question)
{
    const struct quern_file file = { "note.txt", NULL, NULL, "hello", 5 };
    const struct quern_pair pair = { "who", "client.c" };
    struct quern_job job;
    struct quern_error error;
    struct quern_id id;
    bool existed = true;

    memset(&job, 0, sizeof(job));
    job.prompt = question;
    job.files = &file;
    job.file_count = 1;
    job.metadata = &pair;
    job.metadata_count = 1;
    if (!quern_submit(quern, &job, &id, &existed, &error))
        return fail(&error);
    printf("%s %d\n", id.text, existed);
    return 0;
}

static int await(struct quern *quern, const char *id)
{
    struct quern_status status;
    struct quern_error error;
    char *json;

    if (!quern_wait(quern, id, UINT64_MAX, &status, &error))
        return fail(&error);
    json = quern_json(status.result, status.result_size, &error);
    printf("%s %s\n", quern_state_name(status.state), json);
    free(json);
    quern_status_finish(&status);
    return 0;
}

static int blob(struct quern *quern, const char *text)
{
    struct quern_error error;
    char sha256[65];
    void *data;
    size_t size;

    if (!quern_blob_put(quern, NULL, text, strlen(text), sha256, &error) ||
        !quern_blob_get(quern, sha256, &data, &size, &error))
        return fail(&error);
    printf("%s %.*s\n", sha256, (int)size, (char *)data);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct quern *quern, const char *word);
    } verbs[] = {
        { "submit", submit },
        { "follow", follow },
        { "await", await },
        { "blob", blob },
    };
    const char *call_ms = getenv("CALL_MS");
    struct quern_options options;
    struct quern_error error;
    struct quern *quern;
    int code = 2;
    size_t i;

    memset(&options, 0, sizeof(options));
    options.timeout_ms = call_ms ? strtoul(call_ms, NULL, 10) : 0;
    quern = quern_open(&options, &error);
    if (!quern)
        return fail(&error);
    for (i = 0; argc == 3 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i].name, argv[1]) == 0)
            code = verbs[i].run(quern, argv[2]);
    quern_close(quern);
    return code;
}
