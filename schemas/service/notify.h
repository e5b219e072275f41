/* notify.h - tells systemd what a service does (sd_notify(3)). */
#ifndef SCHEMAS_NOTIFY_H
#define SCHEMAS_NOTIFY_H

#include <stdint.h>

/* text: "READY=1", "STOPPING=1", "WATCHDOG=1". Does nothing when systemd has
 * not started the process (NOTIFY_SOCKET). */
void notify_systemd(const char *text);

/* How often "WATCHDOG=1" has to be sent, in ms; 0: systemd does not wait for
 * it. It is a third of what systemd allows. */
uint64_t notify_watchdog_ms(void);

#endif
