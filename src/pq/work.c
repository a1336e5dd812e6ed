/* SPDX-License-Identifier: MIT */
/*
 * Opening, testing and resetting a connection in steps that do not wait. The driving thread waits between the steps, in
 * poll (block.c) or with a watch (later.c).
 *
 *     opening    START -> CONNECT -> GREET -> SETUP -> ROLE -> CAPACITY -> END
 *                  ^________|________________|_______|      the next host, if this one failed
 *     testing    PROBE -> ROLE -> END
 *     resetting  TIDY -> CANCELLED -> DRAIN -> UNDO -> DISCARD -> SETUP -> END
 *                   |         ^________|       ^        not cancelled: the request came before the query
 *                   |______(nothing runs)______|
 *
 * A stage is a function that returns what to wait for, or GO_ON after it has set the next stage. While a query is out,
 * its stage is entered again and again until the result is there. START may wait in spite of this, because libpq looks
 * names up in it. So only a thread that may wait enters START with a name.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "pq/internal.h"

enum { CANCEL_AGAIN_NS = 100000000 };
enum { GO_ON = -1, FAILED = -2, PASSWORD_ROOM = 1024, KEYWORDS_MOST = 8 };

static const char role_question[] = "select pg_is_in_recovery(), current_setting('default_transaction_read_only')";

static int64_t after(int64_t now, int64_t ns)
{
    return ns >= INT64_MAX - now ? INT64_MAX : now + ns;
}

void ceni_pq_work_init(ceni_pq_work *work, ceni_pq_state *state, PGconn *conn, ceni_pq_kind kind)
{
    static const ceni_pq_stage first[] = {CENI_PQ_START, CENI_PQ_PROBE, CENI_PQ_TIDY};
    const int64_t limits[] = {state->options.connect_timeout_ns, state->options.test_timeout_ns,
                              state->options.reset_timeout_ns};
    *work = (ceni_pq_work){.state = state, .conn = conn, .kind = kind, .stage = first[kind]};
    work->link = conn ? ceni_pq_book_find(conn) : NULL;
    work->may_wait = !state->options.poller;
    work->deadline = work->until = after(cen_clock(), limits[kind]);
}

/* ---- End of a call -------------------------------------------------------------------------------- */

static void forget_answer(ceni_pq_work *work)
{
    PQclear(work->answer);
    work->answer = NULL;
}

static void finish_conn(ceni_pq_work *work)
{
    if (work->conn) ceni_pq_finish(work->conn);
    work->conn = NULL;
    work->link = NULL;
}

/* End a call that failed with work->error. A connection that was being opened is closed; one that was tested or reset
 * is closed by the pool. */
static int end_failed(ceni_pq_work *work, cen_status status)
{
    forget_answer(work);
    if (work->makes_report) work->state->capacitys = 0; /* the next open tries again */
    if (work->kind == CENI_PQ_OPENING) finish_conn(work);
    work->status = status;
    work->stage = CENI_PQ_END;
    return CENI_PQ_DONE;
}

void ceni_pq_give_up(ceni_pq_work *work, cen_status status, const char *why)
{
    if (work->stage == CENI_PQ_END) return;
    ceni_pq_say(&work->error, work->conn, status, "", why, NULL);
    end_failed(work, status);
}

/* This host has failed. An open goes on with the next host, if there is one, unless the server has refused the
 * credentials, as all others would. Otherwise the call fails. */
static int failed(ceni_pq_work *work, cen_status status)
{
    char room[6];
    const char *sqlstate = cen_pq_sqlstate(work->error.code, room);
    bool is_refused = strncmp(sqlstate, "28", 2) == 0, is_no_database = strcmp(sqlstate, "3D000") == 0;
    if (work->kind == CENI_PQ_OPENING && (is_refused || is_no_database)) work->error.cause = CEN_CAUSE_LOGIN_REFUSED;
    if (work->kind != CENI_PQ_OPENING || is_refused || work->host + 1 >= work->state->host_count ||
        cen_clock() >= work->deadline)
        return end_failed(work, status);
    forget_answer(work);
    finish_conn(work);
    work->is_asked = work->is_refused = false;
    work->may_wait = !work->state->options.poller;
    work->host++;
    work->stage = CENI_PQ_START;
    return GO_ON;
}

static int fail_result(ceni_pq_work *work, const PGresult *result, const char *what)
{
    return failed(work, ceni_pq_say_result(&work->error, work->conn, result, what));
}

/* ---- Queries ----------------------------------------------------------------------------------------- */

static void keep(ceni_pq_work *work, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK) {
        PQclear(work->answer);
        work->answer = result;
        return;
    }
    if (status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY && !work->is_refused) {
        work->is_refused = true;
        work->error.status = ceni_pq_say_result(&work->error, work->conn, result, "driver query failed");
    }
    PQclear(result);
}

/* Send the query on the first call, and collect the result. Returns what to wait for; GO_ON: complete; FAILED: the
 * server refused it, or the connection broke, with work->error. */
static int ask(ceni_pq_work *work, const char *sql)
{
    if (!work->is_asked) {
        forget_answer(work);
        work->is_refused = false;
        work->is_asked = PQsendQuery(work->conn, sql) == 1;
        if (!work->is_asked) goto broken;
    } else if (!PQconsumeInput(work->conn)) {
        goto broken;
    }
    int unsent = PQflush(work->conn);
    if (unsent < 0) goto broken;
    if (unsent) return CENI_PQ_READ | CENI_PQ_WRITE;
    while (!PQisBusy(work->conn)) {
        PGresult *result = PQgetResult(work->conn);
        if (!result) {
            work->is_asked = false;
            return work->is_refused ? FAILED : GO_ON;
        }
        ExecStatusType status = PQresultStatus(result);
        keep(work, result);
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)
            goto broken; /* not a result for this query */
    }
    return CENI_PQ_READ;
broken:
    work->is_asked = false;
    work->error.status = ceni_pq_say_result(&work->error, work->conn, NULL, "cannot send the driver query");
    return FAILED;
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static cen_status ask_password(ceni_pq_work *work, char password[PASSWORD_ROOM])
{
    const cen_pq_options *options = &work->state->options;
    work->error = (cen_error){.status = CEN_OK};
    cen_status status = options->password(options->argument, password, PASSWORD_ROOM, &work->error);
    password[PASSWORD_ROOM - 1] = 0;
    if (status == CEN_OK) return CEN_OK;
    if (!work->error.text[0]) ceni_pq_say(&work->error, NULL, status, "", "cen_pq_options.password failed", NULL);
    work->error.status = status;
    return status;
}

static void drop_notice(void *argument, const char *text)
{
    (void)argument;
    (void)text;
}

static int start(ceni_pq_work *work)
{
    const ceni_pq_state *state = work->state;
    const ceni_pq_host *host = &state->hosts[work->host];
    const char *keywords[KEYWORDS_MOST], *values[KEYWORDS_MOST];
    char password[PASSWORD_ROOM] = "";
    int count = 0;
    if (state->options.password && ask_password(work, password) != CEN_OK) return end_failed(work, work->error.status);
    const char *const all[][2] = {{"dbname", state->uri},
                                  {"host", host->host},
                                  {"hostaddr", host->hostaddr},
                                  {"port", host->port},
                                  {"password", state->options.password ? password : NULL}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i][1]) continue;
        keywords[count] = all[i][0];
        values[count++] = all[i][1];
    }
    keywords[count] = values[count] = NULL;
    work->conn = PQconnectStartParams(keywords, values, 1); /* 1: a connection string in dbname is expanded */
    explicit_bzero(password, sizeof password);
    if (!work->conn) return end_failed(work, ceni_pq_say(&work->error, NULL, CEN_NO_MEMORY, "", "out of memory", NULL));
    PQsetNoticeProcessor(work->conn, state->options.on_notice ? state->options.on_notice : drop_notice,
                         state->options.argument);     /* before anything is received, which begins in CONNECT */
    PQsetErrorVerbosity(work->conn, PQERRORS_VERBOSE); /* for the SQLSTATE of a refusal */
    if (PQstatus(work->conn) == CONNECTION_BAD) return failed(work, ceni_pq_say_opening(&work->error, work->conn));
    int64_t now = cen_clock();
    if (work->deadline != INT64_MAX && now < work->deadline)
        work->until = now + (work->deadline - now) / (state->host_count - work->host);
    work->stage = CENI_PQ_CONNECT;
    return CENI_PQ_WRITE;
}

static int connect_on(ceni_pq_work *work)
{
    switch (PQconnectPoll(work->conn)) {
    case PGRES_POLLING_READING: return CENI_PQ_READ;
    case PGRES_POLLING_WRITING: return CENI_PQ_WRITE;
    case PGRES_POLLING_OK: work->stage = CENI_PQ_GREET; return GO_ON;
    default: return failed(work, ceni_pq_say_opening(&work->error, work->conn));
    }
}

static int greet(ceni_pq_work *work)
{
    PQsetErrorVerbosity(work->conn, PQERRORS_DEFAULT);
    cen_status status = ceni_pq_link_new(work->state, work->conn, &work->link, &work->error);
    if (status != CEN_OK) return end_failed(work, status);
    if (work->state->options.poller && PQsetnonblocking(work->conn, 1))
        return fail_result(work, NULL, "cannot set non-blocking mode");
    work->stage = CENI_PQ_SETUP;
    return GO_ON;
}

static int setup(ceni_pq_work *work)
{
    if (work->state->setup) {
        int wants = ask(work, work->state->setup);
        if (wants == FAILED) return failed(work, work->error.status);
        if (wants != GO_ON) return wants;
    }
    forget_answer(work);
    if (work->link) ceni_pq_session_begins(work->link);
    work->stage = work->kind == CENI_PQ_OPENING ? CENI_PQ_ROLE : CENI_PQ_END;
    return GO_ON;
}

/* ---- The server's role --------------------------------------------------------------------------------- */

static bool is_true(const ceni_pq_work *work, int field, const char *word)
{
    return strcmp(PQgetvalue(work->answer, 0, field), word) == 0;
}

/* Return true if the result of role_question matches the role. If the reports of the server, or of a proxy before it,
 * contradict the result, they are not used any longer when the connection is given back. */
static bool answer_fits(const ceni_pq_work *work)
{
    if (!work->answer || PQntuples(work->answer) != 1 || PQnfields(work->answer) != 2) return false;
    bool is_standby = is_true(work, 0, "t"), is_read_only = is_true(work, 1, "on");
    const char *standby = PQparameterStatus(work->conn, "in_hot_standby");
    const char *read_only = PQparameterStatus(work->conn, "default_transaction_read_only");
    if (work->link && !(standby && read_only && is_standby == (strcmp(standby, "on") == 0) &&
                        is_read_only == (strcmp(read_only, "on") == 0)))
        work->link->reports_role = false;
    switch (work->state->options.role) {
    case CEN_PQ_PRIMARY: return !is_standby;
    case CEN_PQ_REPLICA: return is_standby;
    case CEN_PQ_READ_WRITE: return !is_standby && !is_read_only;
    default: return true;
    }
}

static int judge_role(ceni_pq_work *work)
{
    static const char *const not_so[] = {"", "server is not a primary", "server is not a replica",
                                         "server is read-only"};
    cen_pq_role role = work->state->options.role;
    if (role != CEN_PQ_ANY && !work->answer) {
        int wants = ask(work, role_question);
        if (wants == FAILED) return failed(work, work->error.status);
        if (wants != GO_ON) return wants;
    }
    if (role != CEN_PQ_ANY && !answer_fits(work))
        return failed(work, ceni_pq_say(&work->error, work->conn, CEN_DRIVER, "25006", not_so[role],
                                        "wrong server for cen_pq_options.role"));
    forget_answer(work);
    work->stage = work->kind == CENI_PQ_OPENING ? CENI_PQ_CAPACITY : CENI_PQ_END;
    return GO_ON;
}

/* A connection is usable without a report. */
static int report_capacity(ceni_pq_work *work)
{
    ceni_pq_state *state = work->state;
    void (*tell)(void *argument, const cen_pq_capacity_report *report) = state->options.on_capacity;
    if (tell && !work->makes_report) work->makes_report = state->capacitys++ == 0;
    if (tell && work->makes_report) {
        int wants = ask(work, ceni_pq_capacity_question);
        if (wants > 0) return wants;
        if (PQstatus(work->conn) != CONNECTION_OK) return failed(work, work->error.status);
        cen_pq_capacity_report report = CEN_SIZED(cen_pq_capacity_report);
        bool is_there = wants == GO_ON && ceni_pq_capacity_read(work->conn, work->answer, state->options.capacity_max,
                                                                &report, &work->error) == CEN_OK;
        if (is_there) tell(state->options.argument, &report);
        else state->capacitys = 0;
        work->makes_report = false;
    }
    work->stage = CENI_PQ_END;
    return GO_ON;
}

/* ---- Testing ---------------------------------------------------------------------------------------------- */

/* Send an empty query, or the role query if its result is needed. */
static int probe(ceni_pq_work *work)
{
    int wants = ask(work, work->state->options.role == CEN_PQ_ANY ? "" : role_question);
    if (wants == FAILED) return failed(work, work->error.status);
    if (wants != GO_ON) return wants;
    work->stage = CENI_PQ_ROLE;
    return GO_ON;
}

/* ---- Resetting ---------------------------------------------------------------------------------------------- */

static int tidy(ceni_pq_work *work)
{
    if (work->link && work->link->is_broken) return fail_result(work, NULL, "connection broken");
    if (PQpipelineStatus(work->conn) != PQ_PIPELINE_OFF && !PQexitPipelineMode(work->conn))
        return fail_result(work, NULL, "pipeline left in use");
    if (!PQisnonblocking(work->conn) && PQsetnonblocking(work->conn, 1))
        return fail_result(work, NULL, "cannot set non-blocking mode");
    work->stage = CENI_PQ_UNDO;
    if (PQtransactionStatus(work->conn) != PQTRANS_ACTIVE) return GO_ON;
    if (!work->link) return fail_result(work, NULL, "query left running");
    work->stage = CENI_PQ_CANCELLED;
    return CENI_PQ_CANCEL;
}

static int cancelled(ceni_pq_work *work)
{
    if (!work->was_sent) return fail_result(work, NULL, "query left running, cancel failed");
    int64_t soon = after(cen_clock(), CANCEL_AGAIN_NS);
    work->until = soon < work->deadline ? soon : work->deadline;
    work->stage = CENI_PQ_DRAIN;
    return GO_ON;
}

/* Drop the remaining data of a COPY. Returns 0 at its end, or what to wait for. */
static int drain_copy(ceni_pq_work *work)
{
    for (;;) {
        char *piece = NULL;
        int size = PQgetCopyData(work->conn, &piece, 1);
        PQfreemem(piece);
        if (size == 0) return CENI_PQ_READ;
        if (size < 0) return 0;
    }
}

static int drain(ceni_pq_work *work)
{
    if (!PQconsumeInput(work->conn)) return fail_result(work, NULL, "cannot read the remaining results");
    int unsent = PQflush(work->conn);
    if (unsent < 0) return fail_result(work, NULL, "cannot send the remaining data");
    if (unsent) return CENI_PQ_READ | CENI_PQ_WRITE;
    while (!PQisBusy(work->conn)) {
        if (cen_clock() >= work->until) return ceni_pq_late(work);
        PGresult *result = PQgetResult(work->conn);
        if (!result) {
            work->until = work->deadline;
            work->stage = CENI_PQ_UNDO;
            return GO_ON;
        }
        ExecStatusType status = PQresultStatus(result);
        PQclear(result);
        int wants = status == PGRES_COPY_OUT ? drain_copy(work) : 0;
        if (wants) return wants;
        if (status == PGRES_COPY_BOTH ||
            (status == PGRES_COPY_IN && PQputCopyEnd(work->conn, "connection returned to its pool") < 0))
            return fail_result(work, NULL, "COPY left unfinished");
    }
    return CENI_PQ_READ;
}

static int undo(ceni_pq_work *work)
{
    PGTransactionStatusType state = PQtransactionStatus(work->conn);
    if (work->is_asked || state == PQTRANS_INTRANS || state == PQTRANS_INERROR) {
        int wants = ask(work, "rollback");
        if (wants > 0) return wants;
        bool was_hit =
            wants == FAILED && work->error.status == CEN_INTERRUPTED && !work->undone_twice; /* S3 in stop.c */
        work->undone_twice |= was_hit;
        if (was_hit) return GO_ON;
        if (wants == FAILED) return failed(work, work->error.status);
        work->rolled_back = true;
        state = PQtransactionStatus(work->conn);
    }
    if (state != PQTRANS_IDLE) return fail_result(work, NULL, "transaction still open");
    work->stage = CENI_PQ_DISCARD;
    return GO_ON;
}

static bool wants_discard(const ceni_pq_work *work)
{
    cen_pq_reset_policy reset = work->state->options.reset;
    if (reset == CEN_PQ_RESET_ALL || work->is_asked) return true;
    return reset == CEN_PQ_RESET_CHANGED && work->link && ceni_pq_session_is_changed(work->link);
}

static int discard(ceni_pq_work *work)
{
    if (!wants_discard(work)) {
        work->stage = CENI_PQ_END;
        return GO_ON;
    }
    int wants = ask(work, "discard all");
    if (wants > 0) return wants;
    if (wants == FAILED) return failed(work, work->error.status);
    if (work->link) ceni_pq_statements_clear(&work->link->statements);
    work->stage = CENI_PQ_SETUP;
    return GO_ON;
}

/* ---- The steps ------------------------------------------------------------------------------------------------ */

static int end_well(ceni_pq_work *work)
{
    forget_answer(work);
    bool later = work->state->options.poller != NULL;
    if (work->status == CEN_OK && work->kind == CENI_PQ_RESETTING && !later && PQsetnonblocking(work->conn, 0))
        work->status = ceni_pq_say_result(&work->error, work->conn, NULL, "cannot restore blocking mode");
    if (work->status == CEN_OK) work->error = (cen_error){.status = CEN_OK};
    if (work->status == CEN_OK && work->rolled_back)
        snprintf(work->error.text, sizeof work->error.text, "transaction left open"); /* the pool adds the holder */
    return CENI_PQ_DONE;
}

int ceni_pq_go(ceni_pq_work *work)
{
    static int (*const stages[])(ceni_pq_work * work) = {
        [CENI_PQ_START] = start,  [CENI_PQ_CONNECT] = connect_on, [CENI_PQ_GREET] = greet,
        [CENI_PQ_SETUP] = setup,  [CENI_PQ_ROLE] = judge_role,    [CENI_PQ_CAPACITY] = report_capacity,
        [CENI_PQ_PROBE] = probe,  [CENI_PQ_TIDY] = tidy,          [CENI_PQ_CANCELLED] = cancelled,
        [CENI_PQ_DRAIN] = drain,  [CENI_PQ_UNDO] = undo,          [CENI_PQ_DISCARD] = discard,
        [CENI_PQ_END] = end_well,
    };
    int wants;
    do {
        bool waits = work->stage == CENI_PQ_START && work->state->hosts[work->host].is_name;
        wants = waits && !work->may_wait ? CENI_PQ_LOOKUP : stages[work->stage](work);
    } while (wants == GO_ON);
    return wants;
}

int ceni_pq_late(ceni_pq_work *work)
{
    static const char *const slow[] = {"open timed out", "test timed out", "reset timed out"};
    if (work->stage == CENI_PQ_END) return CENI_PQ_DONE;
    if (work->stage == CENI_PQ_DRAIN && cen_clock() < work->deadline) {
        /* The server may have read a query that was sent just before the cancel request only after that request. */
        work->was_sent = false;
        work->until = work->deadline;
        work->stage = CENI_PQ_CANCELLED;
        return CENI_PQ_CANCEL;
    }
    cen_status status = ceni_pq_say(&work->error, work->conn, CEN_TIMEOUT, "", slow[work->kind], NULL);
    int wants = failed(work, status);
    return wants == GO_ON ? ceni_pq_go(work) : wants;
}
