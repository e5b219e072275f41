/* folder.h - where a session's files are when there is no box (--insecure). */
#ifndef EXECUTOR_WARDEN_FOLDER_H
#define EXECUTOR_WARDEN_FOLDER_H

/* A new one in $TMPDIR: its path, to be given to folder_remove(), and an open
 * descriptor of it. NULL with errno. */
char *folder_make(int *fd);
/* The folder and all in it, no link followed; frees path. Accepts NULL. */
void folder_remove(char *path);

#endif
