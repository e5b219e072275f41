/* decide.c - decides the next step of a job: what the model is asked and may
 * cost, which calls are run, how the job ends, what the model is told. */
#include "consumer/conversation/decide.h"

#include <string.h>

#include "consumer/conversation/approval.h"
#include "consumer/conversation/calls.h"
#include "consumer/conversation/links.h"
#include "consumer/conversation/tools.h"
#include "consumer/model/endpoint.h"
#include "consumer/model/model.h"
#include "schemas/message/limits.h"

bool decide_job(struct job *job, struct view id, struct view body,
                struct arena *arena, struct err *err)
{
    if (body.len == 0)
        return err_set(err, ERR_REJECT, "lost_body",
                       "what was submitted is gone: somebody has deleted its "
                       "body; submit it again");
    if (!job_decode(job, body, arena, err))
        return false;
    return view_equal(job->id, id) ||
           err_set(err, ERR_REJECT, "id_mismatch",
                   "the body is of job %.*s, it was submitted as %.*s",
                   VIEW_ARG(job->id), VIEW_ARG(id));
}

bool decide_is_upload(const struct job *job)
{
    return job->kind == JOB_CONVERSATION && !job->messages &&
           job->prompt.len == 0;
}

/* The prompt is in the user's language, as far as the job shows it. */
void decide_upload(struct job *job, const struct prompts *prompts,
                   struct arena *arena)
{
    bool own;
    if (decide_is_upload(job))
        job->prompt =
            arena_copy(arena, prompt_text(prompts, PROMPT_UPLOAD,
                                          prompt_upload_language(job), &own));
}

enum next_action decide_next(const struct conversation *conversation,
                             const struct terms *terms)
{
    enum next_action next = conversation_next(conversation);
    bool spent = conversation->misfits > terms->output_repairs;
    return next == NEXT_ASK && spent ? NEXT_END : next;
}

/* ---------------------------------------------------------------- asking */

bool decide_may_ask(const struct conversation *conversation,
                    const struct terms *terms, struct err *err)
{
    const struct model_endpoint *endpoint = terms->endpoint;
    if (!endpoint_allows(endpoint, conversation->parameters, err))
        return false;
    if (endpoint->price.known ||
        terms_budget(terms, conversation).max_cost == 0)
        return true;
    return err_set(err, ERR_REJECT, "bad_field",
                   "limits.max_cost: model %s has no price in the operator's "
                   "configuration, so that nothing would hold it",
                   endpoint->name);
}

/* Most jobs have no files, and most cells draw nothing. */
static bool may_have_images(const struct conversation *conversation)
{
    for (size_t i = 0; i < conversation->result_count; i++)
        if (conversation->results[i].images.count > 0)
            return true;
    return conversation->job->files.count > 0;
}

size_t decide_images(const struct conversation *conversation,
                     const struct terms *terms,
                     struct request_image images[MAX_SHOWN])
{
    return terms->pictures == 0 || !may_have_images(conversation)
               ? 0
               : images_choose(conversation, terms->pictures,
                               terms->picture_bytes, images);
}

/* Why the next reply must be the answer, limits of tokens and money aside. */
static const char *last_by_turns(const struct conversation *conversation,
                                 const struct terms *terms)
{
    uint64_t wish = conversation->job->limits.max_turns;
    if (conversation->turn >= terms_least(wish, terms->max_turns))
        return "turn_limit";
    if (brake_before(conversation->digests, conversation->result_count, 0,
                     terms->repeats) == BRAKE_LAST)
        return "loop";
    return "";
}

/* A request that is still open may have been paid for, so what is reserved for
 * it counts as spent; but not when it is composed once more itself. */
static struct budget budget_of(const struct conversation *conversation,
                               const struct terms *terms, enum ask_kind kind)
{
    const struct spending *spending = &conversation->spending;
    struct budget budget = terms_budget(terms, conversation);
    if (spending->asked && kind != ASK_AGAIN) {
        budget.tokens += spending->reserved;
        budget.written += spending->reply;
        budget.cost += spending->cost;
    }
    return budget;
}

static struct ask ask_of(const struct terms *terms,
                         const struct request_context *context,
                         const char *last)
{
    return (struct ask){
        .prompts = terms->prompts,
        .functions = terms->functions,
        .libraries = terms->libraries,
        .tools = terms->tools,
        .window = terms->endpoint->window,
        .pictures = context->image_count,
        .last = *last != '\0',
        .squeeze = context->kind == ASK_LESS,
    };
}

static struct budget_plan plan_of(const struct budget *budget,
                                  const struct terms *terms,
                                  const struct model_plan *plan)
{
    const struct budget_request wish = {
        .tokens = plan->content.expected,
        .reply = model_body_max_tokens(terms->endpoint, &plan->request),
        .price = &terms->endpoint->price,
        .last = plan->request.last,
    };
    return budget_plan(budget, &wish);
}

/* A tool that the job wants called first is called then: after it the model may
 * do as it likes, else it could never answer. */
static struct view choice_of(const struct conversation *conversation,
                             const struct terms *terms)
{
    bool always = view_is(terms->choice, "none");
    return always || conversation->turn == 0 ? terms->choice : VIEW("");
}

uint64_t decide_reply_tokens(const struct model_plan *plan)
{
    return plan->bounds.reserved - plan->content.expected;
}

static bool write_request(const struct conversation *conversation,
                          const struct terms *terms,
                          const struct request_context *context,
                          struct model_plan *plan, struct err *err)
{
    const struct ask ask = ask_of(terms, context, plan->last);
    if (!ask_write(conversation, &ask, &plan->content, err))
        return false;
    if (context->image_count > 0)
        images_place(plan->content.messages, context->images,
                     context->image_count);
    plan->request = (struct model_request){
        .messages = plan->content.messages,
        .tools = terms->tools,
        .parameters = conversation->parameters,
        .last = ask.last,
        .choice = choice_of(conversation, terms),
        .pictures = context->image_count > 0,
        .max_tokens = terms_least(conversation->job->limits.max_tokens,
                                  terms->max_tokens),
    };
    const struct budget budget = budget_of(conversation, terms, context->kind);
    plan->bounds = plan_of(&budget, terms, plan);
    return true;
}

/* The bound of the reply that is to be a summary: a quarter of the window at
 * most. It is larger than a summary may be, since models that think first need
 * more. */
static uint64_t summary_tokens(const struct conversation *conversation,
                               const struct terms *terms)
{
    const struct model_request unbounded = { .max_tokens = 0 };
    uint64_t wish =
        terms_least(conversation->job->limits.max_tokens, terms->max_tokens);
    uint64_t own = model_body_max_tokens(terms->endpoint, &unbounded);
    uint64_t most = terms_least(own, BUDGET_MOST_REPLY);
    return terms_least(terms_least(wish, most), terms->endpoint->window / 4);
}

/* Replaces the plan of the turn by one for a summary, if there is anything to
 * be summarised. The turn's request must be affordable after it; near a limit
 * there is no summary, for what is left is for the answer. */
static void write_summary(const struct conversation *conversation,
                          const struct terms *terms,
                          const struct request_context *context,
                          struct model_plan *plan)
{
    const struct ask ask = ask_of(terms, context, plan->last);
    struct model_plan summary = { .last = "", .purpose = PURPOSE_SUMMARY };
    if (!ask_summary(conversation, &ask, &summary.content))
        return;
    summary.request = (struct model_request){
        .messages = summary.content.messages,
        .parameters = conversation->parameters,
        .max_tokens = summary_tokens(conversation, terms),
    };
    struct budget budget = budget_of(conversation, terms, context->kind);
    budget.tokens += plan->bounds.reserved;
    budget.written += decide_reply_tokens(plan);
    budget.cost += plan->bounds.cost;
    summary.bounds = plan_of(&budget, terms, &summary);
    bool fits = summary.bounds.fits && *summary.bounds.limit == '\0';
    json_decref(fits ? plan->content.messages : summary.content.messages);
    if (fits)
        *plan = summary;
}

/* Writes the request anew, as one that asks for the last answer. */
static bool write_last(const struct conversation *conversation,
                       const struct terms *terms,
                       const struct request_context *context,
                       struct model_plan *plan, struct err *err)
{
    plan->last = plan->bounds.limit;
    json_decref(plan->content.messages);
    plan->content.messages = NULL;
    return write_request(conversation, terms, context, plan, err);
}

/* The member of the job's limits. */
static const char *token_limit_of(const struct budget *budget)
{
    return budget_is_of_written(budget) ? "max_output_tokens"
                                        : "max_total_tokens";
}

static bool does_not_fit(const struct budget *budget, struct view code,
                         struct err *err)
{
    bool money = view_is(code, "cost_limit");
    bool written = budget_is_of_written(budget);
    if (!money)
        return err_set(
            err, ERR_REJECT, "token_limit",
            "the next request does not fit into what is left of %s: %llu of "
            "%llu tokens are used up",
            token_limit_of(budget),
            (unsigned long long)(written ? budget->written : budget->tokens),
            (unsigned long long)(written ? budget->max_written
                                         : budget->max_tokens));
    return err_set(err, ERR_REJECT, "cost_limit",
                   "the next request does not fit into what is left of "
                   "max_cost: %s of %s is used up",
                   price_dollars(budget->cost).text,
                   price_dollars(budget->max_cost).text);
}

bool decide_request(const struct conversation *conversation,
                    const struct terms *terms,
                    const struct request_context *context,
                    struct model_plan *plan, struct err *err)
{
    struct budget_plan *bounds = &plan->bounds;
    *plan = (struct model_plan){ .bounds.fits = true };
    plan->last = last_by_turns(conversation, terms);
    if (!write_request(conversation, terms, context, plan, err))
        return false;
    bool limited = bounds->fits && *bounds->limit != '\0';
    if (limited && *plan->last == '\0' &&
        !write_last(conversation, terms, context, plan, err))
        return false;
    if (!bounds->fits) {
        const struct budget budget =
            budget_of(conversation, terms, context->kind);
        return does_not_fit(&budget, view_of(bounds->limit), err);
    }
    if (!limited && terms->endpoint->summarises)
        write_summary(conversation, terms, context, plan);
    if (bounds->max_tokens > 0)
        plan->request.max_tokens = bounds->max_tokens;
    return true;
}

/* ----------------------------------------------------------------- ending */

/* Names the cause first. The reason of a cell that was killed is the cause;
 * that of a cell which raised an exception or exited only says what became of
 * its session. */
static void why_of_cell(size_t last, const struct cell *cell, struct err *why)
{
    /* Recordings may have no numbers: then it is the job's last one. */
    unsigned long long number = cell->number > 0 ? cell->number : last;
    bool own = cell->status == CELL_ERROR || cell->status == CELL_EXIT;
    bool noted = cell->reason.len > 0;
    if (noted && !own)
        err_set(why, ERR_REJECT, "cell_failed", "cell %llu: %.*s", number,
                VIEW_ARG(cell->reason));
    else if (cell->status == CELL_ERROR)
        err_set(why, ERR_REJECT, "cell_failed", "cell %llu raised %.*s%s%.*s",
                number, VIEW_ARG(cell->error.name), noted ? "; " : "",
                VIEW_ARG(cell->reason));
    else
        err_set(why, ERR_REJECT, "cell_failed",
                "cell %llu ended with status \"%s\"%s%.*s", number,
                cell_status_names[cell->status], noted ? "; " : "",
                VIEW_ARG(cell->reason));
}

static bool is_limit(struct view code)
{
    return view_is(code, "token_limit") || view_is(code, "cost_limit");
}

static void why_of_spent(const struct conversation *conversation,
                         const struct terms *terms, struct err *why)
{
    const struct budget budget = budget_of(conversation, terms, ASK_NEXT);
    bool money = view_is(conversation->last, "cost_limit");
    if (conversation->spent)
        does_not_fit(&budget, conversation->last, why);
    else
        err_set(why, ERR_REJECT, money ? "cost_limit" : "token_limit",
                "what was left of %s allowed no more than an answer",
                money ? "max_cost" : token_limit_of(&budget));
}

/* Why the job ends with the last answer that was asked for. */
static void why_of_last(const struct conversation *conversation,
                        const struct terms *terms, struct err *why)
{
    if (is_limit(conversation->last))
        why_of_spent(conversation, terms, why);
    else if (view_is(conversation->last, "loop"))
        err_set(why, ERR_REJECT, "loop",
                "the model went round in circles: the same, with the same "
                "outcome, more than %llu times",
                (unsigned long long)terms->repeats);
    else if (conversation->answer.len == 0 && conversation->call_count == 0)
        err_set(why, ERR_REJECT, "turn_limit",
                "the model gave no answer in %llu turns, the most it has",
                (unsigned long long)conversation->turn - 1);
    else
        err_set(why, ERR_REJECT, "turn_limit",
                "the model asked for another turn after %llu, the most it has",
                (unsigned long long)conversation->turn - 1);
}

/* Each of the answers was wrong in its own way: the last one is told. */
static void why_of_misfit(const struct conversation *conversation,
                          struct err *why)
{
    *why = conversation->misfit;
    err_prefix(why, "the answer does not fit output_schema, after %zu tries",
               conversation->misfits);
}

static void why_of_aborted(const struct call *call, struct err *why)
{
    err_set(why, ERR_REJECT, "aborted",
            "the user has ended it instead of approving call %s of %.64s%s%.*s",
            call->id, call->tool, call->said.len > 0 ? ": " : "",
            VIEW_ARG(call->said));
}

int decide_end(const struct conversation *conversation,
               const struct terms *terms, struct err *why)
{
    const struct record *failure = conversation_failure(conversation);
    *why = (struct err){ 0 };
    if (conversation->aborted) {
        why_of_aborted(conversation->aborted, why);
        return STATE_CANCELLED;
    }
    if (failure) {
        why_of_cell(conversation->result_count, &failure->cell, why);
        return STATE_FAILED;
    }
    if (conversation_hands_over(conversation))
        return STATE_COMPLETED;
    if (conversation->last.len > 0)
        why_of_last(conversation, terms, why);
    else if (conversation->cut)
        err_set(why, ERR_REJECT, "token_limit",
                "the model's reply reached its maximum length");
    else if (conversation->empty >= MAX_IDLE)
        err_set(why, ERR_REJECT, "no_answer",
                "the model gave no answer: %d replies in a row were empty",
                MAX_IDLE);
    else if (conversation_is_idle(conversation))
        err_set(why, ERR_REJECT, "no_action",
                "%d replies in a row could not be acted on", MAX_IDLE);
    else if (!conversation->over && conversation->misfits > 0)
        why_of_misfit(conversation, why);
    else
        return STATE_COMPLETED;
    return STATE_INCOMPLETE;
}

struct view decide_answer(const struct conversation *conversation,
                          const struct terms *terms, struct arena *arena)
{
    if (conversation->job->kind != JOB_CONVERSATION || conversation->schema)
        return (struct view){ 0 };
    return links_answer(conversation, terms->blob_url, arena);
}

/* ---------------------------------------------------------------- calling */

bool decide_is_tool(const struct call *call)
{
    return !call->is_code && strcmp(call->tool, TOOL_PYTHON) != 0;
}

/* The brake does not let it be done once more. A call whose intent is written
 * was allowed then. */
static bool is_forbidden(const struct conversation *conversation,
                         const struct terms *terms, const struct call *call,
                         struct view what)
{
    uint64_t action = brake_action(view_of(call->tool), what);
    return conversation->job->kind == JOB_CONVERSATION && !call->intended &&
           brake_before(conversation->digests, conversation->result_count,
                        action, terms->repeats) == BRAKE_FORBID;
}

static bool decide_read_code(const struct call *call, struct buf *code,
                             struct err *err)
{
    buf_init(code, MAX_CODE_BYTES);
    if (call->is_code || call->edited.len > 0) {
        buf_add(code, call_arguments(call));
        return true;
    }
    if (!arguments_text(call->arguments, TOOL_PYTHON_CODE, true, code, err))
        return false;
    if (!buf_ok(code))
        return err_set(err, ERR_REJECT, "too_large",
                       "the code is larger than %d bytes", MAX_CODE_BYTES);
    return code->len > 0 ||
           err_set(err, ERR_REJECT, "missing_field",
                   "the argument \"%s\" is empty", TOOL_PYTHON_CODE);
}

/* Adds the names of the tools that there are to the sentence. Returns false. */
static bool name_known(const struct terms *terms, struct err *err)
{
    CLEANUP(buf_finish) struct buf known;
    struct err said = *err;
    buf_init(&known, sizeof(said.text));
    tools_names(terms->tools, &known);
    return err_set(err, ERR_REJECT, "unknown_tool", "%s; there is: %.*s",
                   said.text, VIEW_ARG(buf_view(&known)));
}

/* The name of the only argument that the tool needs, if that is a text: models
 * write the text alone. NULL: there is none. */
static const char *only_text(const struct tool *tool)
{
    const json_t *parameters = json_object_get(tool->function, "parameters");
    const json_t *required = json_object_get(parameters, "required");
    const char *name = json_string_value(json_array_get(required, 0));
    const json_t *property =
        json_object_get(json_object_get(parameters, "properties"), name);
    const char *type = json_string_value(json_object_get(property, "type"));
    bool is_text = type && strcmp(type, "string") == 0;
    return json_array_size(required) == 1 && is_text ? name : NULL;
}

/* Also checks the arguments against what the tool takes. */
static bool read_arguments(const struct conversation *conversation,
                           const struct terms *terms, const struct call *call,
                           const struct tool **tool, struct buf *arguments,
                           struct err *err)
{
    buf_init(arguments, MAX_RECORD_BYTES);
    *tool = terms_tool(terms, conversation->job, view_of(call->tool), err);
    if (!*tool)
        return name_known(terms, err);
    if (!arguments_object(call_arguments(call),
                          call->edited.len > 0 ? NULL : only_text(*tool),
                          arguments, err))
        return false;
    json_t *taken = tool_arguments(*tool, buf_view(arguments), err);
    json_decref(taken);
    return taken;
}

/* A person must approve the call and has not, or has decided against it. needs:
 * the call needs approval; then it is too long to be shown, or a person would
 * have been asked before. */
static bool is_barred(const struct conversation *conversation,
                      const struct call *call, bool needs, size_t bytes,
                      struct err *why)
{
    if (conversation->job->kind != JOB_CONVERSATION || call->intended ||
        approval_is_given(call))
        return false;
    if (needs)
        err_set(why, ERR_REJECT, "not_approved",
                "Not run: the user has to approve this call, and it is %zu "
                "bytes long, at most %d can be shown. Write a shorter one.",
                bytes, MAX_VERDICT_BYTES);
    return needs || call->verdict != VERDICT_NONE;
}

/* The job lets models make no more calls, or none at all. A call whose intent
 * is written was allowed then. */
static bool may_call(const struct conversation *conversation,
                     const struct terms *terms, const struct call *call,
                     struct err *err)
{
    uint64_t most = terms->max_tool_calls;
    if (conversation->job->kind != JOB_CONVERSATION || call->intended)
        return true;
    if (view_is(terms->choice, "none"))
        return err_set(err, ERR_REJECT, "unknown_tool",
                       "no tool may be called here: answer in words");
    return most == 0 || call->number <= most ||
           err_set(err, ERR_REJECT, "turn_limit",
                   "no more calls are made: %llu, the most of this job, were",
                   (unsigned long long)most);
}

/* A model may call Python although it was not offered, because the job names
 * other tools. In CodeAct mode nothing is offered, and code is run all the
 * same. */
static bool python_is_offered(const struct conversation *conversation,
                              const struct terms *terms,
                              const struct call *call, struct err *err)
{
    const struct job *job = conversation->job;
    if (call->is_code || job->kind != JOB_CONVERSATION ||
        job->mode == MODE_CODEACT || call->intended || !terms->tools ||
        tools_have_python(terms->tools))
        return true;
    err_set(err, ERR_REJECT, "unknown_tool", "there is no tool \"%s\"",
            TOOL_PYTHON);
    return name_known(terms, err);
}

enum ruling decide_code(const struct conversation *conversation,
                        const struct terms *terms, const struct call *call,
                        struct buf *code, struct err *why)
{
    *code = (struct buf){ 0 };
    if (!may_call(conversation, terms, call, why) ||
        !python_is_offered(conversation, terms, call, why) ||
        !decide_read_code(call, code, why))
        return RULING_REFUSE;
    struct view what = buf_view(code);
    bool needs = approval_rule_of_code(terms, conversation->job, what);
    if (is_barred(conversation, call, needs, what.len, why))
        return RULING_BAR;
    return is_forbidden(conversation, terms, call, what) ? RULING_FORBID
                                                         : RULING_RUN;
}

enum ruling decide_tool(const struct conversation *conversation,
                        const struct terms *terms, const struct call *call,
                        const struct tool **tool, struct buf *arguments,
                        struct err *why)
{
    *arguments = (struct buf){ 0 };
    if (!may_call(conversation, terms, call, why) ||
        !read_arguments(conversation, terms, call, tool, arguments, why))
        return RULING_REFUSE;
    bool needs = approval_rule_of_tool(conversation->job, *tool);
    if (is_barred(conversation, call, needs, arguments->len, why))
        return RULING_BAR;
    return is_forbidden(conversation, terms, call, call_arguments(call))
               ? RULING_FORBID
               : RULING_RUN;
}

const struct tool *decide_code_tool(const struct conversation *conversation,
                                    const struct terms *terms, struct view call,
                                    struct view name, struct err *err)
{
    const struct job *job = conversation->job;
    const struct tool *tool = terms_tool(terms, job, name, err);
    const struct call *cell = conversation_find(conversation, call);
    if (!tool || job->kind != JOB_CONVERSATION ||
        !approval_rule_of_tool(job, tool) || (cell && approval_is_given(cell)))
        return tool;
    err_set(err, ERR_REJECT, "not_approved",
            "the user has to approve calls of \"%.64s\": name it in the code "
            "itself, which is then shown before it is run",
            tool->name);
    return NULL;
}

/* --------------------------------------------------------------- approval */

/* What would be run, into out; and whether it needs approval. False: it cannot
 * be run. */
static bool read_call(const struct conversation *conversation,
                      const struct terms *terms, const struct call *call,
                      struct buf *out, bool *needs, struct err *err)
{
    const struct job *job = conversation->job;
    const struct tool *tool;
    *out = (struct buf){ 0 };
    if (!may_call(conversation, terms, call, err))
        return false;
    if (!decide_is_tool(call)) {
        if (!decide_read_code(call, out, err))
            return false;
        *needs = approval_rule_of_code(terms, job, buf_view(out));
        return true;
    }
    if (!read_arguments(conversation, terms, call, &tool, out, err))
        return false;
    *needs = approval_rule_of_tool(job, tool);
    return true;
}

/* A person is to be asked about the call. Also once more, when what the person
 * has written in its place cannot be run. */
static bool is_undecided(const struct conversation *conversation,
                         const struct terms *terms, const struct call *call,
                         struct err *why)
{
    CLEANUP(buf_finish) struct buf text = { 0 };
    struct err other;
    bool needs = false;
    *why = (struct err){ 0 };
    if (call->answered || call->intended)
        return false;
    if (call->verdict == VERDICT_EDIT)
        return !read_call(conversation, terms, call, &text, &needs, why);
    return call->verdict == VERDICT_NONE &&
           read_call(conversation, terms, call, &text, &needs, &other) &&
           needs && text.len <= MAX_VERDICT_BYTES;
}

const struct call *decide_approval(const struct conversation *conversation,
                                   const struct terms *terms, struct err *why)
{
    if (conversation->job->kind != JOB_CONVERSATION ||
        conversation_next(conversation) != NEXT_CALL)
        return NULL;
    for (size_t i = 0; i < conversation->call_count; i++)
        if (is_undecided(conversation, terms, &conversation->calls[i], why))
            return &conversation->calls[i];
    return NULL;
}

void decide_preview(const struct conversation *conversation,
                    const struct terms *terms, const struct call *call,
                    struct buf *out)
{
    struct call original = *call;
    struct err err;
    bool needs;
    original.edited = (struct view){ 0 };
    read_call(conversation, terms, &original, out, &needs, &err);
}

/* ---------------------------------------------------------------- telling */

void decide_refusal(const struct call *call, enum ruling ruling,
                    const struct err *why, struct buf *out)
{
    if (ruling == RULING_FORBID)
        buf_add(out, view_of(prompt_forbidden));
    else if (ruling != RULING_BAR)
        buf_printf(out, "Error: %s.%s", why->text,
                   decide_is_tool(call) ? "" : " The call was not run.");
    else if (!approval_refuses(call, out))
        buf_add(out, view_of(why->text));
}

bool decide_hint(const struct conversation *conversation, size_t count,
                 const struct terms *terms, struct view what,
                 const struct record *result)
{
    struct call_digest digest =
        brake_digest(brake_action(result->tool, what), result);
    return conversation->job->kind == JOB_CONVERSATION &&
           result->brake == BRAKED_NOT &&
           brake_hints(conversation->digests, count, &digest, terms->repeats);
}
