/* zygote.h - the process that every session is forked from.
 *
 * It has loaded Python once, holds nothing but its channel, and answers two
 * events: GUEST_FORK from the warden, and the end of a session. */
#ifndef EXECUTOR_GUEST_ZYGOTE_H
#define EXECUTOR_GUEST_ZYGOTE_H

#include "schemas/message/err.h"

/* Serves until the warden closes the channel. False: something broke, err. In a
 * forked session it does not return. online: sessions may connect to the proxy
 * of their box. */
bool zygote_run(bool online, struct err *err);

#endif
