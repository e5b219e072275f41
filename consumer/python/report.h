/* report.h - what guest code says of the variables it saved or put back.
 *
 * Guest code is hostile: its report is bounded and cleaned, and taken as its
 * words only. */
#ifndef CONSUMER_PYTHON_REPORT_H
#define CONSUMER_PYTHON_REPORT_H

#include "schemas/message/journal.h"

struct variables_report {
    struct list left;     /* of struct pair: names left out, and why */
    struct list packages; /* of struct view: "name==version" */
    bool cut;             /* more names were left out */
};

/* Why the cell that saved or put back variables did not end well. Borrowed. */
struct view report_why(const struct cell *cell);

/* text: JSON; where it is broken, the report is empty. Copies. */
void report_read(struct variables_report *report, struct view text,
                 struct arena *arena);

/* Adds one to a record's list of missing names. It replaces one of the same
 * name, or the last one where the list is full. */
void missing_add(struct list *missing, const char *name, const char *why,
                 struct arena *arena);

#endif
