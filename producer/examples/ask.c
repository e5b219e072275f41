#include <quern.h>
#include <stdio.h>

int main(void)
{
    struct quern_job job = { .prompt = "How many primes below 1000?" };
    struct quern_status status = { 0 };
    struct quern_error error;
    struct quern_id id;
    struct quern *quern = quern_open(NULL, &error); /* at $REDIS_URL */
    bool known = quern && quern_submit(quern, &job, &id, NULL, &error) &&
                 quern_wait(quern, id.text, 60000, &status, &error);
    bool done = known && status.state == QUERN_COMPLETED;

    if (done)
        puts(status.answer);
    else
        fprintf(stderr, "%s\n", known ? status.error_text : error.text);
    quern_status_finish(&status);
    quern_close(quern);
    return done ? 0 : 1;
}
