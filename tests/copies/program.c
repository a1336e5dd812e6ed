/* SPDX-License-Identifier: MIT */
/*
 * Two copies of the library in one process: threads use pools of both, and when
 * they end each copy takes back what is its own.
 *
 *     copies PLUGIN
 */
#include <dlfcn.h>
#include <pthread.h>

#include "uses.h"

enum { THREADS = 8, ROUNDS = 200 };

static const copy_calls *calls[2];
static copy copies[2];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static int wrong, kept;

static void *use_both(void *unused)
{
    (void)unused;
    int mine = 0;
    for (int i = 0; i < ROUNDS; i++) mine |= calls[i % 2]->take_and_give(&copies[i % 2]);
    /* the others wait until this thread has ended */
    for (int i = 0; i < 2; i++) mine |= calls[i]->take_and_keep(&copies[i]);
    pthread_mutex_lock(&counting);
    wrong |= mine;
    kept++;
    pthread_mutex_unlock(&counting);
    return NULL;
}

static int load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const copy_calls *(*get)(void) = NULL;
    if (plugin) *(void **)(void *)&get = dlsym(plugin, "plugin_calls");
    if (!get) return printf("%s\n", dlerror());
    calls[0] = &copy_of_these;
    calls[1] = get();
    return calls[0]->code() == calls[1]->code() ? printf("there is one copy only\n") : 0;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    if (count != 2 || load(arguments[1])) return 2;
    for (int i = 0; i < 2; i++) wrong |= calls[i]->begin(&copies[i]);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, use_both, NULL) != 0) return 2;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) wrong |= calls[i]->end(&copies[i], THREADS);
    printf("%d threads ended, and %s\n", kept, wrong ? "something went wrong" : "both copies have all they lent");
    return wrong || kept != THREADS;
}
