/*
 * Bounding a file that another user owns and writes to.
 *
 * The owner can hold the lock of the inode for any time, by a write from memory that never arrives (a mapped file of a
 * FUSE mount of the owner). So calls that take this lock (fallocate, ftruncate, fchown, unlink, lseek for data) are
 * made only while no other process has the file open, or by a process of their own.
 */
#define _GNU_SOURCE
#include "copy.h"
#include "log_trim.h"
#include "ops_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int ops_trim_log(int fd, int64_t keep) {
    int error = ops_trim(fd, keep);
    if (error == 0) return 0;
    errno = -error;
    return -1;
}

pid_t ops_trim_log_apart(int fd, int64_t keep) {
    struct ops_trimming *trimming = ops_copy_begin(sizeof *trimming);
    if (trimming == NULL) return -1;
    *trimming = (struct ops_trimming){.fd = fd, .keep = keep};
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    char *stack = ops_copy_stack();
    long pid = ops_clone_call(SYS_clone, SIGCHLD, (long)(stack + OPS_COPY_STACK_SIZE), ops_trim_in_copy, trimming);
    sigprocmask(SIG_SETMASK, &old, NULL);
    ops_copy_end();
    if (pid >= 0) return (pid_t)pid;
    errno = (int)-pid;
    return -1;
}

int ops_take_lease(int fd) {
    return fcntl(fd, F_SETLEASE, F_WRLCK);
}

int ops_end_lease(int fd) {
    return fcntl(fd, F_SETLEASE, F_UNLCK);
}

int ops_take_from_owner(int fd) {
    /* The mode comes last: the former owner could change it until then. */
    return fchown(fd, geteuid(), getegid()) < 0 ? -1 : fchmod(fd, 0600);
}
