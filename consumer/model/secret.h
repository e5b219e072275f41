/* secret.h - what must not be told. */
#ifndef CONSUMER_SECRET_H
#define CONSUMER_SECRET_H

/* Endpoints repeat what they were sent: each place where text has the secret is
 * starred out, and its end, where a sentence was cut, when the secret begins
 * so. secret: NULL or "" is none. */
void secret_hide(char *text, const char *secret);

#endif
