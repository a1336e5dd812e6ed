/* SPDX-License-Identifier: MIT */
/*
 * A bank whose accounts need no lock: each is an actor, and only its handler
 * touches its balance.
 *
 *     4 threads ▶ tell "deposit", ask "withdraw" ▶ 2 accounts
 *     each account ▶ tells itself "interest", later, again and again
 *     a transfer asks one account and, when that has paid, tells the other
 *
 * The sum of all balances is what went in minus what came out, and nobody was
 * ever paid what was not there.
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
    long balance, interest; /* its handler's alone */
    cen_message accrue;     /* to itself, later */
} account;

typedef enum kind { DEPOSIT, WITHDRAW } kind;

typedef struct order {
    cen_message message; /* first */
    kind kind;
    long amount;
} order;

static account accounts[ACCOUNTS];

/* ---- An account --------------------------------------------------------------------------- */

static void accrue(account *self)
{
    self->balance++;
    self->interest++;
    cen_actor_tell_after(self->actor, &self->accrue, MS); /* CLOSED when it has been stopped: then that was the last */
}

static void handle(void *argument, cen_message *message)
{
    account *self = argument;
    order *asked = (order *)message;
    if (message == &self->accrue) {
        accrue(self);
    } else if (asked->kind == DEPOSIT) { /* told: it is ours */
        self->balance += asked->amount;
        free(asked);
    } else if (self->balance < asked->amount) { /* asked: it is the asker's, and not touched after the answer */
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
    return cen_actor_tell_after(self->actor, &self->accrue, MS) == CEN_OK;
}

/* ---- Its customers -------------------------------------------------------------------------- */

static bool deposit(account *to, long amount)
{
    order *paid = malloc(sizeof *paid);
    if (!paid) return false;
    cen_message_init(&paid->message, "deposit");
    paid->kind = DEPOSIT;
    paid->amount = amount;
    if (cen_actor_tell(to->actor, &paid->message) == CEN_OK) return true;
    free(paid); /* refused: it is still ours */
    return false;
}

static bool withdraw(account *from, long amount)
{
    order asked = {.kind = WITHDRAW, .amount = amount}; /* on the stack: nobody touches it once the future is done */
    cen_future answer;
    cen_message_init(&asked.message, "withdraw");
    cen_future_init(&answer);
    return cen_actor_ask(from->actor, &asked.message, &answer) == CEN_OK &&
           cen_future_wait(&answer, CEN_NEVER) == CEN_OK && answer.status == CEN_OK;
}

typedef struct customer {
    pthread_t thread;
    unsigned number;
    long in, out; /* what it brought into the bank, and took away */
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
    if (cen_actor_stop(self->actor, CEN_STOP_DRAIN, &stopped) != CEN_OK) return false;
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
        if (!close_account(&accounts[i], &handled)) return fprintf(stderr, "an account does not close\n"), 1;
        found += accounts[i].balance;
        interest += accounts[i].interest;
        if (accounts[i].balance < 0) return fprintf(stderr, "an account is overdrawn\n"), 1;
    }
    printf("%llu messages handled, balances %ld, of which interest %ld\n", (unsigned long long)handled, found,
           interest);
    return found == expected + interest && interest >= ACCOUNTS ? 0 : 1;
}
