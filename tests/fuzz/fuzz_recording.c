/* fuzz_recording.c - whatever a file claims was recorded: it is read and means
 * the same when it is written again, or is refused with a sentence; and a
 * replay of it comes to an end, with an outcome or a sentence. */
#include "consumer/replay/replay.h"
#include "tests/fuzz/fuzz.h"

static bool is_same(const struct recording *a, const struct recording *b)
{
    const struct view *ours = a->records.items, *theirs = b->records.items;
    if (!view_equal(a->body, b->body) || !view_equal(a->result, b->result) ||
        a->records.count != b->records.count)
        return false;
    for (size_t i = 0; i < a->records.count; i++)
        if (!view_equal(ours[i], theirs[i]))
            return false;
    const struct recorded_blob *blobs = a->blobs.items;
    if (a->blobs.count != b->blobs.count)
        return false;
    for (size_t i = 0; i < a->blobs.count; i++)
        if (!view_equal(recording_blob(a, blobs[i].name),
                        recording_blob(b, blobs[i].name)))
            return false;
    return true;
}

static void check_written(const struct recording *recording)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf text = { .max = MAX_RECORDING_BYTES };
    struct recording again;
    struct err err;
    MUST(recording_write(recording, &text, &err));
    MUST(recording_read(&again, buf_view(&text), &arena, &err));
    MUST(is_same(recording, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(outcome_finish) struct replay_outcome outcome = { 0 };
    struct view text = { (const char *)data, size };
    struct recording recording;
    struct err err = { 0 };
    if (!recording_read(&recording, text, &arena, &err)) {
        MUST(err.text[0] != '\0');
        return 0;
    }
    check_written(&recording);
    if (!replay_run(&recording, NULL, &outcome, &err)) {
        MUST(err.text[0] != '\0');
        return 0;
    }
    MUST(outcome.differs == (outcome.recorded != NULL));
    MUST(outcome.steps <= recording.records.count + 1);
    return 0;
}
