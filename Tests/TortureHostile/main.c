// torture-hostile DIRECTORY VERB [NUMBER] [WORD]: what the attackers of the torture execute, inside of operations and
// beside them. DIRECTORY is the attackers' own: in `tally` they count what they did, in `notify` they keep an address of
// the runner.
//
//   linger MS          lives for that long
//   stop               stops itself and a child, for good
//   truncate           makes its own log as large as the file system allows
//   lease MS           takes a lease on its own log
//   flood MS           messages of 4 KiB in a loop
//   result             a result of 4 KiB
//   forks COUNT        children that end, children that stay, and one that leaves the family
//   leave MS           a child in a session of its own writes to the log after the operation has ended
//   forge MS [SOCKET]  messages to every socket of the runner, in the name that the environment gives
//   stopper MS PID     SIGSTOP to every child of PID as soon as it is there
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int directory;

void tally(const char *what, long count) {
    if (count == 0) return;
    char line[128];
    int size = snprintf(line, sizeof line, "%ld %s\n", count, what);
    int descriptor = openat(directory, "tally", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    if (write(descriptor, line, size) != size) _exit(1);
    close(descriptor);
}

long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

void rest(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) < 0 && errno == EINTR) {}
}

// The runner's directory or the prefix of its abstract addresses, remembered for those that no operation tells it.
void remember_address(void) {
    const char *address = getenv("NOTIFY_SOCKET");
    if (!address) return;
    char name[32];
    snprintf(name, sizeof name, ".notify.%d", getpid());
    int descriptor = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    int isWhole = write(descriptor, address, strlen(address)) == (ssize_t)strlen(address);
    close(descriptor);
    if (isWhole) renameat(directory, name, directory, "notify");
}

int known_address(char *address, int size) {
    int descriptor = openat(directory, "notify", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    int length = read(descriptor, address, size - 1);
    close(descriptor);
    if (length <= 0) return 0;
    address[length] = 0;
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    directory = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return 2;
    const char *verb = argv[2];
    long number = argc > 3 ? atol(argv[3]) : 0;
    const char *word = argc > 4 ? argv[4] : "";
    remember_address();
    // So that a byte of an attacker in somebody else's log is known for what it is.
    dprintf(1, "%s %s\n", mine, verb);
    if (strcmp(verb, "linger") == 0) rest(number);
    else if (strcmp(verb, "stop") == 0) stop_for_good();
    else if (strcmp(verb, "truncate") == 0) truncate_log();
    else if (strcmp(verb, "lease") == 0) lease_log(number);
    else if (strcmp(verb, "flood") == 0) flood(number);
    else if (strcmp(verb, "result") == 0) give_result();
    else if (strcmp(verb, "forks") == 0) fork_many(number);
    else if (strcmp(verb, "leave") == 0) leave_writer(number);
    else if (strcmp(verb, "forge") == 0) forge(number, word);
    else if (strcmp(verb, "stopper") == 0) stop_children(atoi(word), number);
    else return 2;
    return 0;
}
