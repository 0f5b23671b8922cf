// Attacks by processes.
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

void stop_for_good(void) {
    tally("stops of own operations", 1);
    fork();
    for (;;) raise(SIGSTOP);
}

void fork_many(long count) {
    long made = 0;
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0) break;
        made++;
        if (child > 0) continue;
        if (i % 3 == 0) _exit(0);
        if (i % 3 == 1) {
            // An orphan in a session of its own, whose parents are gone at once.
            setsid();
            if (fork() > 0) _exit(0);
        }
        signal(SIGTERM, SIG_IGN);
        rest(500);
        _exit(0);
    }
    tally("forks", made);
}

// The children of a process, who are few: one read tells them all.
static int read_children(int file, pid_t *children, int most) {
    char text[4096];
    ssize_t size = pread(file, text, sizeof text - 1, 0);
    if (size <= 0) return 0;
    text[size] = 0;
    int count = 0;
    char *rest_of_text;
    for (char *word = strtok_r(text, " ", &rest_of_text); word && count < most;
         word = strtok_r(NULL, " ", &rest_of_text))
        children[count++] = atoi(word);
    return count;
}

// A child of the runner is the attacker's from the moment it has changed its user. Signals to those that are not are
// refused; each is stopped once.
void stop_children(pid_t parent, long milliseconds) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    enum { most = 256 };
    pid_t children[most], stopped[1024];
    int known = 0;
    long launching = 0;
    char own[64];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own);
    long long end = now() + milliseconds;
    while (now() < end && known < 1024) {
        int count = read_children(file, children, most);
        for (int i = 0; i < count; i++) {
            int isKnown = 0;
            for (int j = 0; j < known && !isKnown; j++) isKnown = stopped[j] == children[i];
            if (isKnown || kill(children[i], SIGSTOP) < 0) continue;
            stopped[known++] = children[i];
            // It has not become its program yet: the runner is still in it.
            char program[64];
            snprintf(path, sizeof path, "/proc/%d/exe", children[i]);
            ssize_t size = readlink(path, program, sizeof program);
            if (size < 0 || size != length || memcmp(program, own, size) != 0) launching++;
            if (known == 1024) break;
        }
        struct timespec moment = {0, 20000};
        nanosleep(&moment, NULL);
    }
    close(file);
    tally("stops of processes of the runner", known);
    tally("stops between the change of user and the program", launching);
}
