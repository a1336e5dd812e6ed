/* SPDX-License-Identifier: MIT */
/* In which state connections come back, and what becomes of them, in tables. */
#include "drivers/redis_place.h"

#include <stdlib.h>

enum fate { KEPT, RESET, CLOSED };
static const char *const fates[] = {"kept", "reset", "closed"};

struct row {
    const char *commands; /* separated by | */
    enum fate fate;
};

/* ---- Commands through cenote -------------------------------------------------------------------------- */

static const struct row looked_at[] = {
    {"GET x", KEPT},
    {"SET x 1", KEPT},
    {"LPUSH list 1", KEPT},
    {"NOSUCHCOMMAND", KEPT},
    {"", KEPT},
    {"MULTI", RESET},
    {"multi", RESET},
    {"MULTI|SET x 1", RESET},
    {"MULTI|SET x 1|EXEC", KEPT},
    {"MULTI|SET x 1|DISCARD", KEPT},
    {"MULTI|NOSUCHCOMMAND|EXEC", KEPT}, /* EXECABORT */
    {"MULTI|MULTI", RESET},
    {"EXEC", KEPT}, /* an error, and nothing was open */
    {"WATCH x", RESET},
    {"WATCH x|UNWATCH", KEPT},
    {"WATCH x|MULTI|EXEC", KEPT},
    {"WATCH x|MULTI|UNWATCH", RESET},
    {"SELECT 3", RESET},
    {"SELECT 3|SELECT 0", KEPT},
    {"SELECT 99", KEPT}, /* there is none */
    {"SELECT 00", KEPT},
    {"MULTI|SELECT 3|EXEC", RESET},
    {"AUTH default secret", RESET},
    {"AUTH default wrong", KEPT},
    {"HELLO 2", RESET},
    {"HELLO 3", CLOSED}, /* hiredis does not speak that */
    {"RESET", RESET},
    {"CLIENT SETNAME other", RESET},
    {"CLIENT TRACKING ON", RESET},
    {"CLIENT NO-EVICT ON", CLOSED}, /* no RESET ends that */
    {"CLIENT GETNAME", KEPT},
    {"CLIENT ID", KEPT},
    {"client list", KEPT},
    {"CLIENT REPLY ON", RESET},
    {"CLIENT REPLY OFF", RESET},
    {"CLIENT REPLY SKIP", RESET},
    {"SUBSCRIBE events", RESET},
    {"PSUBSCRIBE n*", RESET},
    {"SSUBSCRIBE events", RESET},
    {"MONITOR", RESET},
    {"READONLY", KEPT},           /* an error: it is no cluster */
    {"SCRIPT DEBUG YES", CLOSED}, /* no RESET ends that */
    {"SCRIPT FLUSH", KEPT},
    {"QUIT", CLOSED},
};

static redisReply *run(redisContext *context, const char *command, bool directly)
{
    char copy[100], *rest = copy;
    const char *words[8];
    int count = 0;
    snprintf(copy, sizeof copy, "%s", command);
    for (char *word; count < 8 && (word = strsep(&rest, " "));) words[count++] = word;
    return directly ? redisCommandArgv(context, count, words, NULL)
                    : cen_redis_command_argv(context, count, words, NULL);
}

static void run_all(redisContext *context, const char *commands, bool directly)
{
    char copy[200], *rest = copy;
    snprintf(copy, sizeof copy, "%s", commands);
    for (char *command; (command = strsep(&rest, "|"));) {
        redisReply *reply = *command ? run(context, command, directly) : NULL;
        if (reply) freeReplyObject(reply);
    }
}

static bool is_as_new(redisContext *context)
{
    char row[2048];
    snprintf(row, sizeof row, "%s", place_row(context->fd));
    return place_use(context) && place_is_clean(context) && strstr(row, " flags=N ") && strstr(row, " user=default ");
}

/* One use with those commands: what became of the connection, and that the next who takes has one that is as new. */
static enum fate fate_of(cen_pool *pool, const char *commands, bool directly)
{
    cen_pool_stats before = place_stats(pool);
    cen_lease lease = place_take(pool);
    run_all(lease.object, commands, directly);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = place_take(pool);
    cen_pool_stats after = place_stats(pool);
    if (!is_as_new(lease.object))
        test_fail(__FILE__, __LINE__, "after \"%s\" the next one has another connection: %s", commands,
                  place_row(((redisContext *)lease.object)->fd));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(after.reset_failed, 0);
    return after.opened > before.opened ? CLOSED : after.reset > before.reset ? RESET : KEPT;
}

static void expect_fates(cen_pool *pool, const struct row *rows, size_t count, bool directly)
{
    int wrong = 0;
    cen_lease lease = place_take(pool);
    expect_equal(cen_pool_give(&lease), CEN_OK); /* it is open */
    for (size_t i = 0; i < count; i++) {
        enum fate fate = fate_of(pool, rows[i].commands, directly);
        if (fate == rows[i].fate) continue;
        printf("     \"%s\" was %s, expected %s\n", rows[i].commands, fates[fate], fates[rows[i].fate]);
        wrong++;
    }
    expect_equal(wrong, 0);
}

static cen_pool *pool_of(cen_redis_reset_policy reset)
{
    cen_redis_options options = CEN_REDIS_OPTIONS(.url = place_good(), .name = PLACE_NAME, .reset = reset);
    return place_pool(CEN_POOL_OPTIONS(.driver = cen_redis_with(&options), .max = 1));
}

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

/* The server's line of the connection has addr=127.0.0.1:PORT. */
/* guarantees: pool-api.describe */
TEST(a_connection_is_shown_by_its_port)
{
    cen_pool *pool = pool_of(CEN_REDIS_RESET_DIRECT);
    cen_lease lease = place_take(pool);
    cen_object_view view = CEN_SIZED(cen_object_view);
    size_t count;
    expect_equal(cen_pool_holders(pool, &view, 1, &count), CEN_OK);
    expect_equal(count, 1);
    char address[40];
    snprintf(address, sizeof address, ":%d ", (int)view.identity);
    redisReply *info = redisCommand(lease.object, "CLIENT INFO");
    expect(view.identity > 0 && info && info->type == REDIS_REPLY_STRING && strstr(info->str, address));
    freeReplyObject(info);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

TEST(what_a_command_leaves_behind_is_known_from_its_name_and_reply)
{
    cen_pool *pool = pool_of(CEN_REDIS_RESET_DIRECT);
    expect_fates(pool, looked_at, COUNT(looked_at), false);
    place_close(pool);
}

/* ---- Commands that hiredis is given directly -------------------------------------------------------------- */

static const struct row direct_rows[] = {
    {"GET x", KEPT},
    {"INCR n", KEPT},
    {"LRANGE list 0 -1", KEPT},
    {"GET list", KEPT},
    {"PING", KEPT},
    {"CLIENT LIST", KEPT},
    {"SET x 1", RESET},
    {"MULTI", RESET},
    {"WATCH x", RESET},
    {"SELECT 3", RESET},
    {"HELLO 2", RESET},
    {"SUBSCRIBE a", RESET},
    {"PSUBSCRIBE a", RESET},
    {"RESET", RESET},
    {"CLIENT TRACKING ON", RESET},
    {"MONITOR", RESET},
    {"SELECT 99", KEPT},
    {"MULTI|GET x", RESET},
    {"GET x|SELECT 3|GET x", RESET},
};

/* guarantees: drivers.redis-direct */
TEST(a_connection_that_was_used_directly_is_reset)
{
    static const struct row rows[] = {
        {"GET x", RESET},
        {"INCR n", RESET},
        {"LRANGE list 0 -1", RESET},
        {"NOSUCHCOMMAND", RESET},
        {"PING", RESET},
        {"SET x 1", RESET},
        {"MULTI", RESET},
        {"WATCH x", RESET},
        {"SELECT 3", RESET},
        {"AUTH default secret", RESET},
        {"SUBSCRIBE a", RESET},
        {"CLIENT TRACKING ON", RESET},
        {"MONITOR", RESET},
        {"HELLO 2", RESET},
        {"GET x|SELECT 3|GET x", RESET},
    };
    static const struct row ours[] = {{"GET x", KEPT}, {"SET x 1", KEPT}};
    cen_pool *pool = pool_of(CEN_REDIS_RESET_DIRECT);
    expect_fates(pool, rows, COUNT(rows), true);
    expect_fates(pool, ours, COUNT(ours), false); /* the reset is forgotten */
    place_close(pool);
}

TEST(a_direct_command_whose_reply_may_be_that_of_a_change_is_suspicious)
{
    cen_pool *pool = pool_of(CEN_REDIS_RESET_CHANGES);
    expect_fates(pool, direct_rows, COUNT(direct_rows), true);
    place_close(pool);
}

TEST(nothing_direct_is_suspicious_if_the_program_says_so)
{
    static const struct row rows[] = {{"SET x 1", KEPT}, {"GET x", KEPT}, {"SUBSCRIBE a", RESET}};
    cen_pool *pool = pool_of(CEN_REDIS_RESET_NOTHING);
    expect_fates(pool, rows, COUNT(rows), true);
    expect_fates(pool, looked_at, COUNT(looked_at), false);
    place_close(pool);
}

TEST(everything_is_suspicious_if_the_program_says_so)
{
    static const struct row rows[] = {{"SET x 1", RESET}, {"GET x", RESET}, {"", RESET}};
    cen_pool *pool = pool_of(CEN_REDIS_RESET_ALL);
    expect_fates(pool, rows, COUNT(rows), true);
    expect_fates(pool, rows, COUNT(rows), false);
    place_close(pool);
}

/* ---- Pipelines ------------------------------------------------------------------------------------------------ */

/* `sent` commands of which `read` replies are read. */
static enum fate pipeline(cen_pool *pool, int sent, int read, bool directly, size_t size)
{
    cen_pool_stats before = place_stats(pool);
    cen_lease lease = place_take(pool);
    char *text = malloc(size + 1);
    memset(text, 'x', size);
    text[size] = '\0';
    for (int i = 0; i < sent; i++)
        expect_equal(directly ? redisAppendCommand(lease.object, "ECHO %s", text)
                              : cen_redis_append(lease.object, "ECHO %s", text),
                     REDIS_OK);
    for (int i = 0; i < read; i++) {
        redisReply *reply = NULL;
        expect_equal(redisGetReply(lease.object, (void **)&reply), REDIS_OK);
        expect_equal(reply->len, size);
        freeReplyObject(reply);
    }
    free(text);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = place_take(pool);
    expect(is_as_new(lease.object)); /* its answer is to its own question */
    cen_pool_stats after = place_stats(pool);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    return after.opened > before.opened ? CLOSED : after.reset > before.reset ? RESET : KEPT;
}

TEST(replies_that_were_left_unread_reach_nobody)
{
    cen_pool *pool = pool_of(CEN_REDIS_RESET_CHANGES);
    cen_lease lease = place_take(pool);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(pipeline(pool, 3, 3, false, 10), KEPT);
    expect_equal(pipeline(pool, 3, 2, false, 10), RESET);
    expect_equal(pipeline(pool, 100, 1, false, 10), RESET);
    expect_equal(pipeline(pool, 20, 1, false, 100000), RESET);
    expect_equal(pipeline(pool, 3, 0, false, 10), CLOSED); /* they were never sent, and never will be */
    expect_equal(pipeline(pool, 3, 3, true, 10), KEPT);
    expect_equal(pipeline(pool, 1000, 1, true, 10), RESET); /* some are in the reader's buffer */
    expect_equal(pipeline(pool, 3, 0, true, 10), CLOSED);
    expect_equal(place_stats(pool).reset_failed, 0);
    place_close(pool);
}

TEST(a_reply_that_is_still_to_come_is_counted)
{
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.driver = place_driver(place_good(), 0), .max = 1));
    cen_lease lease = place_take(pool);
    redisReply *reply = NULL;
    int done = 0;
    expect_equal(cen_redis_append(lease.object, "BLPOP nothing-there 0.3"), REDIS_OK);
    expect_equal(redisBufferWrite(lease.object, &done), REDIS_OK);
    expect(done);
    expect_equal(cen_pool_give(&lease), CEN_OK); /* nothing is in any buffer now */
    lease = place_take(pool);
    expect_equal(place_stats(pool).reset, 1);
    reply = cen_redis_command(lease.object, "ECHO mine");
    expect(reply && reply->type == REDIS_REPLY_STRING);
    expect_text(reply->str, "mine");
    freeReplyObject(reply);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* The command is sent, and no byte of its reply is there when the connection is given back. */
static void send_directly(redisContext *context, const char *command)
{
    int done = 0;
    expect_equal(redisAppendCommand(context, command), REDIS_OK);
    while (!done) expect_equal(redisBufferWrite(context, &done), REDIS_OK);
}

static void expect_own_reply(cen_pool *pool)
{
    cen_lease lease = place_take(pool);
    redisReply *reply = cen_redis_command(lease.object, "ECHO mine");
    expect(reply && reply->type == REDIS_REPLY_STRING);
    expect_text(reply->str, "mine");
    freeReplyObject(reply);
    expect(is_as_new(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
}

/* guarantees: drivers.redis-direct */
TEST(a_direct_pipeline_left_unread_reaches_nobody)
{
    static const char *const commands[] = {"BLPOP nothing-there 0.3", "ECHO theirs", "SELECT 3", "CLIENT REPLY OFF",
                                           "SUBSCRIBE a"};
    cen_pool *pool = pool_of(CEN_REDIS_RESET_DIRECT);
    for (size_t i = 0; i < COUNT(commands); i++) {
        cen_lease lease = place_take(pool);
        send_directly(lease.object, commands[i]);
        expect_equal(cen_pool_give(&lease), CEN_OK);
        expect_own_reply(pool);
        expect_equal(place_stats(pool).reset, i + 1);
    }
    place_close(pool);
}

/* guarantees: drivers.redis-direct */
TEST(a_direct_command_before_one_of_ours_is_not_hidden_by_it)
{
    cen_pool *pool = pool_of(CEN_REDIS_RESET_DIRECT);
    cen_lease lease = place_take(pool);
    send_directly(lease.object, "SELECT 3"); /* its reply is taken for that of ECHO */
    freeReplyObject(cen_redis_command(lease.object, "ECHO x"));
    redisReply *reply = NULL;
    expect_equal(redisGetReply(lease.object, (void **)&reply), REDIS_OK);
    freeReplyObject(reply);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_own_reply(pool);
    expect_equal(place_stats(pool).reset, 1);
    place_close(pool);
}

/* guarantees: drivers.redis-direct */
TEST(a_direct_command_after_a_pipeline_of_ours_is_not_hidden_by_it)
{
    cen_pool *pool = pool_of(CEN_REDIS_RESET_DIRECT);
    for (int is_direct = 0; is_direct < 2; is_direct++) {
        cen_lease lease = place_take(pool);
        for (int i = 0; i < 3; i++) expect_equal(cen_redis_append(lease.object, "ECHO %d", i), REDIS_OK);
        for (int i = 0; i < 3; i++) {
            redisReply *reply = NULL;
            expect_equal(redisGetReply(lease.object, (void **)&reply), REDIS_OK);
            freeReplyObject(reply);
        }
        if (is_direct) send_directly(lease.object, "BLPOP nothing-there 0.1");
        expect_equal(cen_pool_give(&lease), CEN_OK);
        expect_own_reply(pool);
        expect_equal(place_stats(pool).reset, is_direct);
    }
    place_close(pool);
}

/* guarantees: drivers.redis-direct */
TEST(a_pipeline_of_ours_does_not_hide_a_direct_command_before_it)
{
    cen_pool *pool = pool_of(CEN_REDIS_RESET_DIRECT);
    cen_lease lease = place_take(pool);
    redisReply *reply = NULL;
    send_directly(lease.object, "ECHO x");
    expect_equal(cen_redis_append(lease.object, "BLPOP nothing-there 0.3"), REDIS_OK);
    expect_equal(redisGetReply(lease.object, (void **)&reply), REDIS_OK); /* that of ECHO; that of BLPOP is to come */
    freeReplyObject(reply);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_own_reply(pool);
    expect_equal(place_stats(pool).reset, 1);
    place_close(pool);
}

TEST(direct_commands_before_one_of_ours_make_it_suspicious)
{
    cen_pool *pool = pool_of(CEN_REDIS_RESET_CHANGES);
    cen_lease lease = place_take(pool);
    expect_equal(redisAppendCommand(lease.object, "ECHO first"), REDIS_OK);
    redisReply *reply = cen_redis_command(lease.object, "BLPOP nothing-there 0.2"); /* the reply is ECHO's,
        and BLPOP's is to come */
    expect(reply && reply->type == REDIS_REPLY_STRING);
    freeReplyObject(reply);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = place_take(pool);
    expect(is_as_new(lease.object));
    expect_equal(place_stats(pool).reset, 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

TEST(a_reset_that_takes_too_long_ends_in_a_new_connection)
{
    cen_redis_options options =
        CEN_REDIS_OPTIONS(.url = place_good(), .name = PLACE_NAME, .reset_timeout_ns = 100000000);
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.driver = cen_redis_with(&options), .max = 1));
    cen_lease lease = place_take(pool);
    int done = 0;
    expect_equal(cen_redis_append(lease.object, "BLPOP nothing-there 30"), REDIS_OK);
    expect_equal(redisBufferWrite(lease.object, &done), REDIS_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = place_take(pool);
    expect(is_as_new(lease.object));
    expect_equal(place_stats(pool).reset_failed, 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* ---- Replies ---------------------------------------------------------------------------------------------------------- */

static redisReply *ask(redisContext *context, const char *command, int type)
{
    redisReply *reply = run(context, command, false);
    if (!reply || reply->type != type)
        test_fail(__FILE__, __LINE__, "%s: type %d, expected %d", command, reply ? reply->type : -1, type);
    return reply;
}

TEST(replies_of_all_types_come_through_and_leave_nothing)
{
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.driver = place_driver(place_good(), 0), .max = 1));
    cen_lease lease = place_take(pool);
    freeReplyObject(ask(lease.object, "DEL types", REDIS_REPLY_INTEGER));
    freeReplyObject(ask(lease.object, "GET types", REDIS_REPLY_NIL));
    freeReplyObject(ask(lease.object, "SET types value", REDIS_REPLY_STATUS));
    freeReplyObject(ask(lease.object, "LPUSH types 1", REDIS_REPLY_ERROR));
    redisReply *reply = ask(lease.object, "GET types", REDIS_REPLY_STRING);
    expect_text(reply->str, "value");
    freeReplyObject(reply);
    reply = ask(lease.object, "LRANGE nothing-there 0 -1", REDIS_REPLY_ARRAY);
    expect_equal(reply->elements, 0);
    freeReplyObject(reply);
    reply = cen_redis_command(lease.object, "EVAL %s 0", "return {1,{2,'two',{false,{err='MY error'}}},'three'}");
    expect(reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3);
    expect_equal(reply->element[1]->element[2]->element[0]->type, REDIS_REPLY_NIL);
    expect_equal(reply->element[1]->element[2]->element[1]->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    size_t size = 3000000;
    char *large = malloc(size);
    memset(large, 'z', size);
    reply = cen_redis_command(lease.object, "ECHO %b", large, size);
    expect(reply && reply->len == size && memcmp(reply->str, large, size) == 0);
    freeReplyObject(reply);
    free(large);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(place_stats(pool).reset, 0);
    expect_equal(place_stats(pool).closed, 0);
    place_close(pool);
}

TEST(on_a_context_of_no_pool_commands_are_hiredis_own)
{
    redisContext *context = redisConnect("127.0.0.1", server_port(place_server()));
    redisReply *reply = NULL;
    expect(context && !context->err);
    freeReplyObject(ask(context, "AUTH secret", REDIS_REPLY_STATUS));
    expect(place_use(context));
    expect_equal(cen_redis_append(context, "ECHO %s", "a"), REDIS_OK);
    expect_equal(cen_redis_append(context, "ECHO %s", "b"), REDIS_OK);
    expect_equal(redisGetReply(context, (void **)&reply), REDIS_OK);
    expect_text(reply->str, "a");
    freeReplyObject(reply);
    reply = cen_redis_command(context, "ECHO c"); /* the one before it */
    expect_text(reply->str, "b");
    freeReplyObject(reply);
    expect(!cen_redis_command(context, "ECHO %k"));
    redisFree(context);
}
