/* Changes of a log file when it is trimmed. This also runs in a copy of the process: see copy.h. */
#define _GNU_SOURCE
#include "log_trim.h"
#include "raw_call.h"

/* Every file system of Linux frees multiples of this. */
#define BLOCK 4096
/* More than a process writes between two calls here, and more than a file system reserves behind the end by itself. */
#define MARGIN (16 << 20)

/* Returns the bytes on the disk that are reserved behind the end of the file, or a negative errno. */
static int64_t reserved(int fd, int64_t dropped, int64_t *size) {
    struct stat status;
    int error = raw_status(fd, &status);
    if (error < 0) return error;
    *size = status.st_size;
    int64_t stored = status.st_blocks > INT64_MAX / 512 ? INT64_MAX : status.st_blocks * 512;
    int64_t own = status.st_size > dropped ? status.st_size - dropped : 0;
    return stored > own ? stored - own : 0;
}

static int punch(int fd, int64_t from, int64_t length) {
    long result;
    do result = raw_call5(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, length, 0);
    while (result == -EINTR);
    return (int)result;
}

/* Frees the space that is reserved behind the end. */
static int drop_reserve(int fd, int64_t dropped, int64_t most) {
    int64_t size;
    int64_t excess = reserved(fd, dropped, &size);
    if (excess <= most) return excess < 0 ? (int)excess : 0;
    /* ext4 frees nothing there. On other file systems a margin protects data that is just being written. */
    if (size < INT64_MAX - MARGIN) {
        int64_t from = size + MARGIN;
        /* A file system refuses offsets beyond its largest file. */
        for (int64_t length = INT64_MAX - from; length >= BLOCK; length /= 2) {
            int error = punch(fd, from, length);
            if (error != -EFBIG && error != -EINVAL) break;
        }
    }
    excess = reserved(fd, dropped, &size);
    if (excess <= most) return excess < 0 ? (int)excess : 0;
    /* Data written since the fstat is lost: this happens only to files with reserved space. */
    return (int)raw_call(SYS_ftruncate, fd, size, 0);
}

int ops_trim(int fd, int64_t keep) {
    struct stat status;
    int error = raw_status(fd, &status);
    if (error < 0) return error;
    int64_t dropped = status.st_size > keep ? (status.st_size - keep) / BLOCK * BLOCK : 0;
    if (dropped > 0 && (error = punch(fd, 0, dropped)) < 0) return error;
    int64_t slack = keep / 8;
    return drop_reserve(fd, dropped, slack < INT64_MAX - 2 * MARGIN ? slack + 2 * MARGIN : INT64_MAX);
}

int ops_trim_in_copy(void *context) {
    const struct ops_trimming *trimming = context;
    /* The copy may wait for long, and must not keep locks and sockets of its parent open meanwhile. */
    int error = trimming->fd == 0 ? 0 : raw_duplicate(trimming->fd, 0);
    if (error >= 0) {
        raw_close_all_but_first();
        error = ops_trim(0, trimming->keep);
    }
    raw_exit(-error);
}
