/* SPDX-License-Identifier: MIT */
/*
 * A bank whose accounts need no lock: each account is an actor, and only its handler touches its balance.
 *
 *     4 threads ▶ send "deposit", request "withdraw" ▶ 2 accounts
 *     each account ▶ sends itself "interest" at intervals
 *     a transfer withdraws from one account and, if that succeeds, deposits into the other
 *
 * At the end the sum of all balances is what was deposited minus what was withdrawn, and no account was overdrawn.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/cenote.h>

enum { ACCOUNTS = 2, THREADS = 4, ROUNDS = 2000 };
#define MS INT64_C(1000000)

typedef struct account {
    cen_actor *actor;
    long balance, interest; /* only its handler */
    cen_message accrue;     /* a message to itself, sent with a delay */
} account;

typedef enum kind { DEPOSIT, WITHDRAW } kind;

typedef struct order {
    cen_message message; /* first member */
    kind kind;
    long amount;
} order;

static account accounts[ACCOUNTS];

/* ---- An account --------------------------------------------------------------------------- */

static void accrue(account *self)
{
    self->balance++;
    self->interest++;
    cen_actor_tell_after(self->actor, &self->accrue, MS,
                         NULL); /* CLOSED if the actor was stopped: then that was the last one */
}

static void handle(void *argument, cen_message *message)
{
    account *self = argument;
    order *asked = (order *)message;
    if (message == &self->accrue) {
        accrue(self);
    } else if (asked->kind == DEPOSIT) { /* a sent message: this handler owns it */
        self->balance += asked->amount;
        free(asked);
    } else if (self->balance < asked->amount) { /* a request: the caller owns it; not touched after the reply */
        cen_error poor = {.status = CEN_EMPTY, .text = "the account is overdrawn"};
        cen_message_fail(message, &poor);
    } else {
        self->balance -= asked->amount;
        cen_message_reply(message, self);
    }
}

static bool open_account(account *self, const char *name)
{
    cen_error error;
    cen_actor_options options =
        CEN_ACTOR_OPTIONS(.name = name, .handle = handle, .argument = self, .slow_ns = CEN_SECONDS(1));
    if (cen_actor_new(&options, &self->actor, &error) != CEN_OK) {
        fprintf(stderr, "%s\n", error.text);
        return false;
    }
    cen_message_init(&self->accrue, "interest");
    return cen_actor_tell_after(self->actor, &self->accrue, MS, NULL) == CEN_OK;
}

/* ---- Customers ------------------------------------------------------------------------------ */

static bool deposit(account *to, long amount)
{
    order *paid = malloc(sizeof *paid);
    if (!paid) return false;
    cen_message_init(&paid->message, "deposit");
    paid->kind = DEPOSIT;
    paid->amount = amount;
    if (cen_actor_tell(to->actor, &paid->message, NULL) == CEN_OK) return true;
    free(paid); /* refused: this function still owns it */
    return false;
}

static bool withdraw(account *from, long amount)
{
    order asked = {.kind = WITHDRAW, .amount = amount}; /* on the stack: not touched once the future is done */
    cen_future answer;
    cen_message_init(&asked.message, "withdraw");
    cen_future_init(&answer);
    return cen_actor_ask(from->actor, &asked.message, &answer, NULL) == CEN_OK &&
           cen_future_wait(&answer, CEN_NEVER) == CEN_OK && answer.status == CEN_OK;
}

typedef struct customer {
    pthread_t thread;
    unsigned number;
    long in, out; /* deposits and withdrawals */
} customer;

static void *use_the_bank(void *argument)
{
    customer *self = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        account *one = &accounts[(i + self->number) % ACCOUNTS], *other = &accounts[(i + self->number + 1) % ACCOUNTS];
        if (i % 3 == 0 && deposit(one, 10)) self->in += 10;
        if (i % 3 == 1 && withdraw(one, 7)) self->out += 7;
        if (i % 3 == 2 && withdraw(one, 5) && !deposit(other, 5)) self->out += 5;
    }
    return NULL;
}

/* ---- The end ---------------------------------------------------------------------------------- */

static bool close_account(account *self, uint64_t *handled)
{
    cen_future stopped;
    cen_actor_stats stats = CEN_SIZED(cen_actor_stats);
    cen_future_init(&stopped);
    if (cen_actor_stop(self->actor, CEN_STOP_DRAIN, &stopped, NULL) != CEN_OK) return false;
    if (cen_future_wait(&stopped, cen_in_s(10)) != CEN_OK) return false;
    cen_actor_stats_get(self->actor, &stats);
    *handled += stats.handled;
    return cen_actor_free(self->actor) == CEN_OK;
}

int main(void)
{
    customer customers[THREADS];
    long expected = 0, found = 0, interest = 0;
    uint64_t handled = 0;
    if (!open_account(&accounts[0], "savings") || !open_account(&accounts[1], "current")) return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        customers[i] = (customer){.number = i};
        if (pthread_create(&customers[i].thread, NULL, use_the_bank, &customers[i]) != 0) return 1;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(customers[i].thread, NULL);
        expected += customers[i].in - customers[i].out;
    }
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        if (!close_account(&accounts[i], &handled)) return fprintf(stderr, "cannot close an account\n"), 1;
        found += accounts[i].balance;
        interest += accounts[i].interest;
        if (accounts[i].balance < 0) return fprintf(stderr, "an account is overdrawn\n"), 1;
    }
    printf("%llu messages handled, balances %ld, of which interest %ld\n", (unsigned long long)handled, found,
           interest);
    return found == expected + interest && interest >= ACCOUNTS ? 0 : 1;
}
