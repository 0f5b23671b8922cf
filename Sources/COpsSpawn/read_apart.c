/*
 * The caller's side of a process that reads files for it.
 *
 * The kernel reads the environment of a process under the lock of its memory, and a user can hold that of their process
 * for any time: one thread waits for a page of a FUSE file, and another one for the lock. A thread of the caller must
 * not wait there: a reader can be the last to use the memory of a killed process, and then writes back its FUSE files.
 * A kill does not end that wait, and the exec and the end of the caller would have to wait for it.
 */
#define _GNU_SOURCE
#include "copy.h"
#include "ops_kernel.h"
#include "read_child.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long start(int socket) {
    struct ops_reading *reading = ops_copy_begin(sizeof *reading);
    if (reading == NULL) return -errno;
    *reading = (struct ops_reading){.socket = socket};
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    char *stack = ops_copy_stack();
    /* Without SIGCHLD at its end: those who wait for any child do not find it. */
    long pid = ops_clone_call(SYS_clone, 0, (long)(stack + OPS_COPY_STACK_SIZE), ops_read_in_copy, reading);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    ops_copy_end();
    return pid;
}

pid_t ops_start_reader(int *fd) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -1;
    long pid = start(ends[1]);
    close(ends[1]);
    if (pid >= 0) {
        *fd = ends[0];
        return (pid_t)pid;
    }
    close(ends[0]);
    errno = (int)-pid;
    return -1;
}

int ops_end_reader(pid_t pid, int wait) {
    kill(pid, SIGKILL);
    pid_t ended;
    do ended = waitpid(pid, NULL, __WALL | (wait ? 0 : WNOHANG));
    while (ended < 0 && errno == EINTR);
    return ended != 0;
}
