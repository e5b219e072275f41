/* main.c - quern-practice-model: a chat-completions endpoint that answers by
 * rule and by script, for trying quern out and for its tests. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "server.h"

enum { EXIT_USAGE = 64, EXIT_INPUT = 65, EXIT_UNAVAILABLE = 69 };

static const char help[] =
    "quern-practice-model: a model endpoint without a model behind it\n"
    "\n"
    "  quern-practice-model [--port N] [--everywhere] [--script FILE] [--key "
    "KEY]\n"
    "\n"
    "It answers chat completions on 127.0.0.1. It runs the ```python blocks "
    "of\n"
    "the question through the tool execute_python_code and tells what came "
    "back.\n"
    "\n"
    "  --port N       0, the default: any that is free; printed on stdout\n"
    "  --everywhere   on every address: for others in a network of containers\n"
    "  --script FILE  replies laid down beforehand (JSON)\n"
    "  --key KEY      callers must show it\n";

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    uv_stop(handle->loop);
}

static bool load_script(struct server *server, const char *path)
{
    json_error_t error;
    json_t *script = json_load_file(path, JSON_ALLOW_NUL, &error);

    if (!script)
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
    else if (!server_set_script(server, script))
        fprintf(stderr, "%s: a list is required\n", path);
    else
        return true;
    return false;
}

/* Each conversation holds a connection. */
static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int serve(struct server *server, unsigned port)
{
    uv_loop_t *loop = uv_default_loop();
    uv_signal_t signals[2];
    unsigned bound = server_open(server, loop, port);

    if (bound == 0) {
        fprintf(stderr, "cannot listen on 127.0.0.1:%u\n", port);
        return EXIT_UNAVAILABLE;
    }
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(loop, &signals[i]);
        uv_signal_start(&signals[i], on_signal, i ? SIGINT : SIGTERM);
    }
    printf("listening on http://127.0.0.1:%u/v1\n", bound);
    fflush(stdout);
    uv_run(loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&signals[i], NULL);
    server_close(server);
    uv_run(loop, UV_RUN_NOWAIT);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "port", required_argument, NULL, 'p' },
        { "everywhere", no_argument, NULL, 'e' },
        { "script", required_argument, NULL, 's' },
        { "key", required_argument, NULL, 'k' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    struct server server = { 0 };
    unsigned long port = 0;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p':
            port = strtoul(optarg, NULL, 10);
            break;
        case 'e':
            server.everywhere = true;
            break;
        case 's':
            if (!load_script(&server, optarg))
                return EXIT_INPUT;
            break;
        case 'k':
            server.key = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            fputs(help, stderr);
            return EXIT_USAGE;
        }
    }
    if (port > 65535 || optind < argc) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    raise_file_limit();
    signal(SIGPIPE, SIG_IGN);
    return serve(&server, (unsigned)port);
}
