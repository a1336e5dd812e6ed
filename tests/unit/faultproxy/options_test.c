/* SPDX-License-Identifier: MIT */
/* The program from outside: its arguments, its status, its end. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit/faultproxy/ends.h"

typedef struct outcome {
    int status; /* as exit had it; -1 for a signal */
    char out[8192], error[2048];
} outcome;

static void read_file(int fd, char *into, size_t size)
{
    ssize_t count = pread(fd, into, size - 1, 0);
    expect(count >= 0);
    into[count] = 0;
    close(fd);
}

static int scratch_file(void)
{
    char path[] = "/tmp/cenote-faultproxy-XXXXXX";
    int fd = mkstemp(path);
    expect(fd >= 0 && unlink(path) == 0);
    return fd;
}

/* Runs the program until it ends; its standard input has the text. */
static outcome run(const char *input, const char *const *arguments)
{
    outcome result = {0};
    const char *all[32] = {CENOTE_FAULTPROXY};
    for (int i = 0; arguments[i] && i < 30; i++) all[i + 1] = arguments[i];
    int in = scratch_file(), out = scratch_file(), error = scratch_file(), status = 0;
    expect(pwrite(in, input, strlen(input), 0) == (ssize_t)strlen(input));
    pid_t process = fork();
    if (process == 0) {
        dup2(in, 0), dup2(out, 1), dup2(error, 2);
        execv(all[0], (char *const *)all);
        _exit(127);
    }
    expect(process > 0 && waitpid(process, &status, 0) == process);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    close(in);
    read_file(out, result.out, sizeof result.out);
    read_file(error, result.error, sizeof result.error);
    return result;
}

#define RUN(input, ...) run(input, (const char *const[]){__VA_ARGS__, NULL})
#define GOOD "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--seed", "1"

/* Refused with status 2 and this sentence, and nothing was said to listen. */
static void expect_wrong(outcome result, const char *sentence)
{
    char line[2048];
    snprintf(line, sizeof line, "cenote-faultproxy: %s\n", sentence);
    expect_text(result.error, line);
    expect_text(result.out, "");
    expect_equal(result.status, 2);
}

TEST(arguments_that_make_no_sense_are_told_so_and_nothing_is_started)
{
    expect_wrong(RUN("", NULL), "--listen is missing: give the address for clients.");
    expect_wrong(RUN("", "--listen", "127.0.0.1:0"), "--to is missing: give the address of the server.");
    expect_wrong(RUN("", "--listen"), "--listen needs a value: ADDRESS.");
    expect_wrong(RUN("", "--listen", "here"),
                 "\"here\" is not an address; write 127.0.0.1:5432, [::1]:5432 or unix:/path.");
    expect_wrong(RUN("", GOOD, "--loud"), "Unknown option \"--loud\"; --help lists all options.");
    expect_wrong(RUN("", GOOD, "--seed", "x"), "\"x\" is not a seed; write a whole number.");
    expect_wrong(RUN("", GOOD, "--seed", "18446744073709551616"),
                 "\"18446744073709551616\" is not a seed; write a whole number.");
    expect_wrong(RUN("", GOOD, "--control", ""), "The path of the control socket must have 1 to 107 bytes.");
    expect_wrong(RUN("", GOOD, "delay"), "A value is missing; write: delay MS [jitter MS] [WAY] [WHICH].");
    expect_wrong(RUN("", GOOD, "delay 5", "dely 5"), "Unknown command \"dely\"; help lists all commands.");
    expect_wrong(RUN("", GOOD, "quit"), "\"quit\" is not a fault but a command, which cannot be an argument.");
}

TEST(wrong_arguments_leave_no_control_socket_behind)
{
    char folder[] = "/tmp/cenote-faultproxy-XXXXXX", path[64];
    expect(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/control", folder);
    expect_equal(RUN("", GOOD, "--control", path, "nonsense").status, 2);
    unsigned port;
    char taken[64];
    int listener = listen_here(&port);
    snprintf(taken, sizeof taken, "127.0.0.1:%u", port);
    outcome result = RUN("", "--listen", taken, "--to", taken, "--seed", "1", "--control", path);
    expect_equal(result.status, 1);
    char sentence[160];
    snprintf(sentence, sizeof sentence, "cenote-faultproxy: Cannot listen on %s: address already in use.\n", taken);
    expect_text(result.error, sentence);
    expect(rmdir(folder) == 0); /* it is empty */
    close(listener);
}

TEST(a_control_socket_is_never_put_in_the_place_of_a_file)
{
    char path[] = "/tmp/cenote-faultproxy-XXXXXX";
    int fd = mkstemp(path);
    outcome result = RUN("", GOOD, "--control", path);
    expect_equal(result.status, 1);
    expect(strstr(result.error, "Cannot create the control socket /tmp/") != NULL);
    expect_text(result.out, "");
    struct stat file;
    expect(stat(path, &file) == 0 && S_ISREG(file.st_mode));
    unlink(path);
    close(fd);
}

TEST(help_has_every_option_and_every_form)
{
    static const char *const words[] = {"--listen ADDRESS",
                                        "--to ADDRESS",
                                        "--control PATH",
                                        "--follow-stdin",
                                        "--seed NUMBER",
                                        "delay MS [jitter MS]",
                                        "throttle RATE",
                                        "slice BYTES [MS]",
                                        "blackhole [hold]",
                                        "reset [SHARE] [after BYTES]",
                                        "close-slowly MS",
                                        "refuse",
                                        "accept-every MS",
                                        "to ADDRESS",
                                        "clear",
                                        "stats",
                                        "kill N",
                                        "quit",
                                        "Status 2"};
    outcome result = RUN("", "--help");
    expect_equal(result.status, 0);
    expect_text(result.error, "");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(result.out, words[i])) test_fail(__FILE__, __LINE__, "--help does not say %s", words[i]);
    result = RUN("", "--version");
    expect_equal(result.status, 0);
    expect(strncmp(result.out, "cenote-faultproxy ", 18) == 0);
}

TEST(commands_may_come_from_a_file_whose_end_is_followed)
{
    outcome result = RUN("delay 5\nnonsense\nrefuse\nclear\nunfinished", GOOD, "--follow-stdin");
    expect_equal(result.status, 0);
    const char *answers = strchr(result.out, '\n');
    expect(answers != NULL);
    expect_text(answers, "\nok\nerror: Unknown command \"nonsense\"; help lists all commands.\nok\nok\n");
    result = RUN("quit\ndelay 5\n", GOOD); /* what follows is not obeyed */
    expect_equal(result.status, 0);
    expect_text(strchr(result.out, '\n'), "\nok\n");
}

TEST(a_seed_that_was_not_given_is_printed)
{
    outcome result = RUN("stats\nquit\n", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1");
    expect(strncmp(result.error, "cenote-faultproxy: --seed ", 26) == 0);
    char said[64];
    snprintf(said, sizeof said, " seed=%llu\n", strtoull(result.error + 26, NULL, 10));
    expect(strstr(result.out, said) != NULL);
}

/* ---- The end -------------------------------------------------------------------------------- */

static void expect_signal_ends_it(int number)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    expect(kill(proxy_process(rig.proxy), number) == 0);
    expect_end(one.client);
    expect_end(one.server);
    ends_close(&one);
    rig_stop(&rig); /* expects a good end */
}

TEST(a_signal_to_end_closes_all_and_is_a_good_end)
{
    expect_signal_ends_it(SIGTERM);
    expect_signal_ends_it(SIGINT);
}

TEST(the_proxy_of_a_test_ends_with_it_even_if_somebody_keeps_its_input_open)
{
    int pipes[2], status = -1;
    struct {
        pid_t proxy, holder;
    } left = {0};
    expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); /* so that the orphan is ours to wait for */
    expect(pipe(pipes) == 0);
    pid_t child = fork();
    if (child == 0) {
        left.proxy = proxy_process(proxy_start("127.0.0.1", 1));
        if ((left.holder = fork()) == 0) {
            sleep(60); /* has all descriptors of the test */
            _exit(0);
        }
        if (write(pipes[1], &left, sizeof left) == sizeof left) kill(getpid(), SIGKILL);
        _exit(1);
    }
    expect(read(pipes[0], &left, sizeof left) == sizeof left);
    expect(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    expect(waitpid(left.proxy, &status, 0) == left.proxy);
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    expect(kill(left.holder, SIGKILL) == 0 && waitpid(left.holder, &status, 0) == left.holder);
    expect(WIFSIGNALED(status)); /* it was still there when the proxy ended */
}
