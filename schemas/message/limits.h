/* limits.h - how large anything may be, and why.
 *
 * All programs share these bounds of the format, so a change here changes the
 * contract. Operators may set lower bounds. The Redis library (redis/library)
 * has copies of the bounds that it checks: change both. */
#ifndef SCHEMAS_MESSAGE_LIMITS_H
#define SCHEMAS_MESSAGE_LIMITS_H

enum {
    MAX_JOB_BYTES = 256 << 10,    /* a 10 MB XADD stalls Redis for 16 ms */
    MAX_RESULT_BYTES = 1 << 20,   /* read whole by every waiting client */
    MAX_EVENT_BYTES = 64 << 10,   /* published to every subscriber */
    MAX_RECORD_BYTES = 1 << 20,   /* one journal record: a reply or a cell */
    MAX_FILE_BYTES = 64 << 20,    /* any blob: a file, an image, a document */
    MAX_FILES = 64,               /* per job, in and out each */
    MAX_IMAGES = 64,              /* per job */
    MAX_PARTS = 256,              /* of displays, per job */
    MAX_DISPLAYS = 65,            /* per cell: 64, and that there were more */
    MAX_CLEARS = 20000,           /* of its output, by a cell */
    MAX_CELL_FILES = 128,         /* per cell, in its list of changes */
    MAX_CELLS = 256,              /* per job */
    MAX_TOOLS = 64,               /* per job */
    MAX_FUNCTIONS = 128,          /* of the caller, per job */
    MAX_FUNCTION_NAME_BYTES = 64, /* as all endpoints have it */
    MAX_ABOUT_BYTES = 16 << 10,   /* what a model is told of a function */
    MAX_MESSAGE_CALLS = 256,      /* in one message of an assistant */
    MAX_METADATA = 32,            /* pairs */
    MAX_ENV = 64,                 /* environment variables of a job */
    MAX_ENV_BYTES = 16 << 10,     /* names and values of all of them */
    MAX_LIBRARIES_BYTES = 1024,   /* names that a model is told, with commas */
    MAX_NAME_BYTES = 128,         /* queue, tenant, session, model, tool */
    MAX_CLIENT_BYTES = 64 << 10,  /* what a client notes in a job */
    MAX_TRACESTATE_BYTES = 512,   /* what W3C wants handed on, at least */
    MAX_REPLY_ID_BYTES = 256,     /* by which an endpoint keeps a reply */
    MAX_FILE_NAME_BYTES = 255,    /* as Linux has it */
    MAX_PATH_BYTES = 4096,        /* in a workspace */
    MAX_CODE_BYTES = 128 << 10,   /* one cell */
    MAX_TEXT_BYTES = 192 << 10,   /* a prompt: the rest of a job fits too */
    MAX_ANSWER_BYTES = 256 << 10, /* leaves room for cells in the result */
    MAX_OBSERVATION_BYTES = 32 << 10, /* what the model is shown of a cell */
    MAX_STREAM_BYTES = 16 << 10, /* stdout or stderr kept in a result cell */
    MAX_NOTES_BYTES = 4 << 10,   /* of what was dropped of a cell */
    MAX_TURNS = 256,
    MAX_RESULT_ITEMS = 2048,                /* in a result */
    MAX_MODELS = 64,                        /* that a job's calls went to */
    MAX_DEADLINE_MS = 7 * 24 * 3600 * 1000, /* a week */
    MAX_KEEP_DAYS = 31,                     /* of a result */
    MAX_CELL_MS = 3600 * 1000,
    MAX_FRAME_BYTES = 17 << 20,    /* one display of MAX_DISPLAY_BYTES fits */
    MAX_DISPLAY_BYTES = 16 << 20,  /* one MIME bundle */
    MAX_CHUNK_BYTES = 256 << 10,   /* piece of a file or of output in a frame */
    MAX_PICTURE_BYTES = 16 << 20,  /* a session's namespace, pickled */
    MAX_SESSION_BYTES = 256 << 10, /* what is known of a session */
    MAX_SESSION_FILES = 512,       /* of its workspace, in there */
    MAX_HISTORY_BYTES = 1 << 20,   /* what was said in one */
    MAX_CONVERSATION_BYTES = 4
                             << 20, /* of a job, for jobs that go on from it */
    MAX_SHOWN = 16,                 /* pictures, in one request */
    MAX_EXCHANGES = 1024,           /* questions and answers, in there */
    MAX_MISSING = 128,              /* names that were not saved */
    MAX_PACKAGES = 128,             /* installed in one session */
    MAX_TOOLS_BYTES = 64 << 10,   /* the functions a cell may call, described */
    MAX_TERMS_BYTES = 256 << 10,  /* prompt, tools, parameters, in a journal */
    MAX_TOOL_BYTES = 1 << 20,     /* a tool's arguments or its result, JSON */
    MAX_VERDICT_BYTES = 48 << 10, /* a call as a person is shown it, whole, or
                                     changes it: fits an event */
    MAX_OPEN_QUESTIONS = 16,      /* tool calls of a cell's code, at once */
    MAX_CELL_QUESTIONS = 256,     /* ... in all */
    QUESTION_BURST = 64,          /* ... of these without a limit of speed */
    QUESTIONS_PER_S = 20,         /* ... and of those behind them */
    MAX_PIXELS = 64 << 20,        /* width times height of an image */
};

/* The bound of a file, as people are told it. */
#define MAX_FILE_WORDS "64 MiB"
_Static_assert(MAX_FILE_BYTES == 64 << 20, "MAX_FILE_WORDS says the same");

#endif
