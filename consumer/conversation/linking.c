/* linking.c - the answer as clients get it. */
#include "consumer/conversation/linking.h"

#include "consumer/conversation/links.h"

static void add_images(struct links *links, struct link_item *items,
                       const struct list *list)
{
    const struct image_ref *images = list->items;
    for (size_t i = 0; i < list->count; i++)
        items[links->count++] = (struct link_item){
            .name = images[i].name,
            .blob = images[i].blob,
        };
}

/* As the cell left them, the last one first. */
static void add_files(struct links *links, struct link_item *items,
                      const struct list *list)
{
    const struct cell_file *files = list->items;
    for (size_t i = list->count; i-- > 0;)
        if (files[i].blob.len > 0)
            items[links->count++] = (struct link_item){
                .name = files[i].name,
                .path = files[i].path,
                .blob = files[i].blob,
            };
}

static void add_uploads(struct links *links, struct link_item *items,
                        const struct list *list)
{
    const struct file_ref *files = list->items;
    for (size_t i = 0; i < list->count; i++)
        items[links->count++] = (struct link_item){
            .name = files[i].name,
            .blob = files[i].blob,
        };
}

static size_t count_of(const struct conversation *conversation)
{
    size_t count = conversation->job->files.count;
    for (size_t i = 0; i < conversation->result_count; i++)
        count += conversation->results[i].images.count +
                 conversation->results[i].cell.files.count;
    return count;
}

/* Images first, then files, the latest first: the first item that a link can
 * mean counts. */
static struct links links_of(const struct conversation *conversation,
                             const char *template, struct arena *arena)
{
    struct link_item *items =
        arena_alloc(arena, (count_of(conversation) + 1) * sizeof(*items));
    struct links links = {
        .template = template,
        .job = conversation->job->id,
        .items = items,
    };
    for (size_t i = 0; i < conversation->result_count; i++)
        add_images(&links, items, &conversation->results[i].images);
    for (size_t i = conversation->result_count; i-- > 0;)
        add_files(&links, items, &conversation->results[i].cell.files);
    add_uploads(&links, items, &conversation->job->files);
    return links;
}

struct view linking_answer(const struct conversation *conversation,
                           const char *template, struct arena *arena)
{
    struct view said = conversation_answer(conversation);
    if (!template || *template == '\0' || said.len == 0)
        return (struct view){ 0 };
    struct links links = links_of(conversation, template, arena);
    CLEANUP(buf_finish) struct buf answer;
    buf_init(&answer, (size_t)4 << 20);
    links_write(&answer, said, &links);
    /* With all of its links it is too long: it stays as it was written. */
    return buf_ok(&answer) ? arena_copy(arena, buf_view(&answer))
                           : (struct view){ 0 };
}
