// Attacks by the file that an operation's output goes to.
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

void truncate_log(void) {
    const char *logs[] = {"/proc/self/fd/1", "/proc/self/fd/2"};
    // The largest that any file system allows, that of ext4 with blocks of 4 KiB, and two that all of them do.
    const off_t sizes[] = {INT64_MAX, INT64_MAX - 4096, ((off_t)1 << 44) - 4096, (off_t)1 << 40, (off_t)1 << 32};
    for (int i = 0; i < 2; i++)
        for (unsigned j = 0; j < sizeof sizes / sizeof *sizes; j++)
            if (truncate(logs[i], sizes[j]) == 0) {
                tally(j < 2 ? "logs made as large as a number" : "logs made large", 1);
                break;
            }
    rest(300);
}

void lease_log(long milliseconds) {
    int log = open("/proc/self/fd/1", O_RDWR | O_CLOEXEC);
    signal(SIGIO, SIG_IGN);
    // Refused while anybody else has it open: it is tried until the runner lets go of it.
    long long end = now() + milliseconds;
    int isTaken = 0;
    while (log >= 0 && now() < end) {
        if (!isTaken && fcntl(log, F_SETLEASE, F_WRLCK) == 0) isTaken = 1;
        if (!isTaken && fcntl(log, F_SETLEASE, F_RDLCK) == 0) isTaken = 2;
        rest(5);
    }
    tally("leases on own logs", isTaken != 0);
    tally("attempts at leases on own logs", 1);
}

void leave_writer(long milliseconds) {
    if (fork() > 0) return;
    setsid();
    if (fork() > 0) _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    char block[4096];
    for (unsigned i = 0; i < sizeof block; i++) block[i] = mine[i % (sizeof mine - 1)];
    long long end = now() + milliseconds;
    long written = 0;
    // Enough to exceed a limit many times over, and not so much that the machine's own disk suffers.
    while (now() < end && written < 32L << 20) {
        for (int i = 0; i < 64; i++) written += write(1, block, sizeof block) > 0 ? (long)sizeof block : 0;
        rest(2);
    }
    tally("MiB written after the end", written >> 20);
    _exit(0);
}
