/* Going to the background, for a program that must outlive the program that started it. */
#define _GNU_SOURCE
#include "ops_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Pipe to the process in the foreground, which waits for its exit status. */
static int report = -1;

/* Returns the status that the child writes to the pipe, or 1 if the child ends without writing. */
static int await(int fd, pid_t child) {
    unsigned char status = 1;
    ssize_t count;
    do {
        count = read(fd, &status, 1);
    } while (count < 0 && errno == EINTR);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    return count == 1 ? status : 1;
}

int ops_detach(void) {
    int ends[2];
    /* Descriptors of the parent's shell (a lock, a pipe that is read to its end) must not stay open as long as this
     * process lives. Before Linux 5.9 they do. */
    syscall(SYS_close_range, 3u, ~0u, 0u);
    if (pipe2(ends, O_CLOEXEC) < 0) return -1;
    pid_t child = fork();
    if (child < 0) return -1;
    if (child > 0) {
        close(ends[1]);
        _exit(await(ends[0], child));
    }
    close(ends[0]);
    if (setsid() < 0) return -1;
    /* A second fork, so that a terminal that is opened later does not become the controlling terminal. */
    child = fork();
    if (child < 0) return -1;
    if (child > 0) _exit(0);
    report = ends[1];
    return 0;
}

void ops_detached(int status) {
    if (report < 0) return;
    unsigned char byte = (unsigned char)status;
    while (write(report, &byte, 1) < 0 && errno == EINTR) {
    }
    close(report);
    report = -1;
}
