/* replay.c - runs a fuzz target over files: where there is no libFuzzer, the
 * corpus is still a test.
 *
 *   fuzz_NAME FILE-OR-FOLDER... */
#include <dirent.h>
#include <string.h>

#include "schemas/message/buf.h"
#include "tests/fuzz/fuzz.h"

static size_t files;

static void replay_file(const char *path)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = 64 << 20 };
    FILE *file = fopen(path, "rb");
    uint8_t *exact;
    size_t got;

    if (file == NULL) {
        perror(path);
        exit(1);
    }
    do {
        char *to = buf_reserve(&bytes, 4096);

        MUST(to != NULL);
        got = fread(to, 1, 4096, file);
        bytes.len += got;
    } while (got > 0);
    fclose(file);

    /* Memory that ends where the input does shows a read beyond. */
    exact = malloc(bytes.len > 0 ? bytes.len : 1);
    MUST(exact != NULL);
    memcpy(exact, bytes.data, bytes.len);
    LLVMFuzzerTestOneInput(exact, bytes.len);
    free(exact);
    files++;
}

static void replay(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    char inner[4096];

    if (folder == NULL) {
        replay_file(path);
        return;
    }
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        replay(inner);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%zu inputs\n", files);
    return files > 0 ? 0 : 1;
}
