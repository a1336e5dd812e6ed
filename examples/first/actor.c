/* SPDX-License-Identifier: MIT */
/* An actor: the balance needs no lock, because messages are handled one at a time.
 * cc actor.c $(pkg-config --cflags --libs cenote) */
#include <cenote/cenote.h>
#include <stdio.h>

typedef struct deposit {
    cen_message message; /* first */
    long amount;
} deposit;

static void handle(void *balance, cen_message *message)
{
    *(long *)balance += ((deposit *)message)->amount;
}

int main(void)
{
    static deposit deposits[100];
    long balance = 0;
    cen_actor_options options = CEN_ACTOR_OPTIONS(.name = "account", .handle = handle, .argument = &balance);
    cen_actor *actor;
    cen_future stopped;
    if (cen_actor_new(&options, &actor, NULL) != CEN_OK) return 1;
    for (int i = 0; i < 100; i++) {
        cen_message_init(&deposits[i].message, "deposit");
        deposits[i].amount = i;
        cen_actor_tell(actor, &deposits[i].message, NULL); /* from any thread; does not wait */
    }
    cen_future_init(&stopped);
    cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL);
    cen_future_wait(&stopped, cen_in_s(5));
    cen_actor_free(actor);
    return printf("the balance is %ld\n", balance) < 0 || balance != 4950;
}
