/* judge.h - what must hold: of each write, each request, and at the end.
 *
 *   fence              only who holds the job writes
 *   one_end            a job ends once, one_result: with one result
 *   journal_order      records follow each other as a conversation does
 *   record_once        no reply, intent or result stands there twice
 *   intent_before_act  what is asked, called or run stands there before
 *   paid_once          one request to a model for an intent, unless refused
 *   done_once          what has a result there is not done again
 *   unknown_outcome    a tool that may not be repeated is called once
 *   not_interrupted    a cell ends by itself while nobody wants the job to end
 *   state_there        a cell runs where the cells before it have run
 *   loss_told          a cell is told when its session is not the one that the
 *                      cell before it has left, in the same attempt
 *   own_answer         an answer is that of its request
 *   settled            what a reply took is what the budget pays
 *   limit_kept         no more turns than the job may have
 *   event_numbers      each numbered write of events once, in order
 *   text_once          pieces that were not voided are the text, once
 *   output_once        the same of what a cell prints
 *   item_numbers       items are numbered in the order in which they begin, and
 *                      no number is of two, nor of one that is void
 *   nothing_after_end  no event, no record after the end
 *   result_true        the result tells what the journal has
 *   session_saved      before the end, where the job has used one
 *   nothing_left       no request, cell, session of the job's own, timer
 *   no_hang            something is on its way, or a time is due soon
 *   cancel_bounded     a job that is cancelled ends soon
 *
 * Known not to hold:
 *   loss_told, from one attempt to the next: a session that an earlier attempt
 *   has made again is told as kept, when its cells have ended meanwhile
 *
 * Known not to hold, and demanded with --strict only:
 *   cell_given_up      a cell that its executor has died of twice does not run
 *                      a third time; whoever takes the job over from one that
 *                      was killed, or left, in the cell begins to count anew */
#ifndef TESTS_UNIT_ATTEMPT_JUDGE_H
#define TESTS_UNIT_ATTEMPT_JUDGE_H

#include "schemas/message/view.h"
#include "tests/unit/attempt/server.h"
#include "tests/unit/attempt/store.h"

void judge_reset(void);
void judge_record(struct view record, bool by_consumer);
void judge_settled(bool held, uint64_t tokens);
void judge_event(const struct published *published);
void judge_end(struct view result);
/* A request arrives at a model; then: it may be charged. Answers the index of
 * the intent that it was made for. */
void judge_request(const struct visit *visit);
size_t judge_charge(const struct visit *visit);
void judge_tool(const struct visit *visit);
/* The executor dies while it runs. */
void judge_cell_lost(struct view call);
/* It begins to run, where ran() tells of the calls that have. */
void judge_cell(const char *holder, struct view call, struct view code,
                bool (*ran)(const void *box, const char *call),
                const void *box);
/* The job is over, and all is quiet. */
void judge_over(void);

#endif
