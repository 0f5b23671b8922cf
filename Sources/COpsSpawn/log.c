/*
 * Bounding a file that another user owns and writes to.
 *
 * The owner can hold the lock of the inode for any time, by a write from memory that never arrives (a mapped file of a
 * FUSE mount of the owner). So calls that take this lock (fallocate, ftruncate, fchown, unlink, lseek for data) are
 * made only while no other process has the file open, or by a process of their own.
 */
#define _GNU_SOURCE
#include "ops_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Every file system of Linux frees multiples of this. */
#define BLOCK 4096
/* More than a process writes between two calls here, and more than a file system reserves behind the end by itself. */
#define MARGIN (16 << 20)

/* Returns the bytes on the disk that are reserved behind the end of the file. -1: see errno. */
static int64_t reserved(int fd, int64_t dropped, int64_t *size) {
    struct stat status;
    if (fstat(fd, &status) < 0) return -1;
    *size = status.st_size;
    int64_t stored = status.st_blocks > INT64_MAX / 512 ? INT64_MAX : status.st_blocks * 512;
    int64_t own = status.st_size > dropped ? status.st_size - dropped : 0;
    return stored > own ? stored - own : 0;
}

static int punch(int fd, int64_t from, int64_t length) {
    int result;
    do result = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, length);
    while (result < 0 && errno == EINTR);
    return result;
}

/* Frees the space that is reserved behind the end. */
static int drop_reserve(int fd, int64_t dropped, int64_t most) {
    int64_t size;
    int64_t excess = reserved(fd, dropped, &size);
    if (excess <= most) return excess < 0 ? -1 : 0;
    /* ext4 frees nothing there. On other file systems a margin protects data that is just being written. */
    if (size < INT64_MAX - MARGIN) {
        int64_t from = size + MARGIN;
        /* A file system refuses offsets beyond its largest file. */
        for (int64_t length = INT64_MAX - from; length >= BLOCK; length /= 2)
            if (punch(fd, from, length) == 0 || (errno != EFBIG && errno != EINVAL)) break;
    }
    excess = reserved(fd, dropped, &size);
    if (excess <= most) return excess < 0 ? -1 : 0;
    /* Data written since the fstat is lost: this happens only to files with reserved space. */
    return ftruncate(fd, size);
}

int ops_trim_log(int fd, int64_t keep) {
    struct stat status;
    if (fstat(fd, &status) < 0) return -1;
    int64_t dropped = status.st_size > keep ? (status.st_size - keep) / BLOCK * BLOCK : 0;
    if (dropped > 0 && punch(fd, 0, dropped) < 0) return -1;
    int64_t slack = keep / 8;
    return drop_reserve(fd, dropped, slack < INT64_MAX - 2 * MARGIN ? slack + 2 * MARGIN : INT64_MAX);
}

static void close_all_but_first(void) {
    if (syscall(SYS_close_range, 1u, ~0u, 0u) == 0) return;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
    for (rlim_t fd = 1; fd < limit.rlim_cur && fd < INT32_MAX; fd++) close((int)fd);
}

pid_t ops_trim_log_apart(int fd, int64_t keep) {
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    /* Like fork, without the handlers of the C library in the child. */
    pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (pid == 0) {
        /* The child may wait for long, and must not keep locks and sockets of its parent open meanwhile. */
        if (dup2(fd, 0) < 0) _exit(errno);
        close_all_but_first();
        _exit(ops_trim_log(0, keep) < 0 ? errno : 0);
    }
    int error = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return pid;
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
