#define _GNU_SOURCE
#include "COpsTransfer.h"
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The functions of the C library change all threads of the process, and libcurl has threads of its own: hence the system
 * calls. The real and the saved user stay, so that a user whose rights are assumed cannot send signals to this process. */

static struct {
    int is_known;
    uid_t uid;
    gid_t gid;
    gid_t *groups;
    int count;
} own;

static int learn_own(void)
{
    if (own.is_known) return 0;
    int count = getgroups(0, 0);
    if (count < 0) return -1;
    gid_t *groups = malloc(sizeof *groups * (size_t)(count + 1));
    if (!groups) return errno = ENOMEM, -1;
    if (getgroups(count, groups) != count) {
        free(groups);
        return errno = EAGAIN, -1;
    }
    own.uid = geteuid();
    own.gid = getegid();
    own.groups = groups;
    own.count = count;
    own.is_known = 1;
    return 0;
}

void ops_resume_rights(void)
{
    /* The user first: the others want its privileges. */
    if (syscall(SYS_setresuid, -1, own.uid, -1) != 0 || syscall(SYS_setresgid, -1, own.gid, -1) != 0) abort();
    if (syscall(SYS_setgroups, (long)own.count, own.groups) != 0) abort();
}

int ops_assume_rights(uint32_t uid, uint32_t gid, const uint32_t *groups, size_t count)
{
    if (learn_own() != 0) return -1;
    if (syscall(SYS_setgroups, (long)count, groups) != 0) return -1;
    if (syscall(SYS_setresgid, -1, gid, -1) == 0 && syscall(SYS_setresuid, -1, uid, -1) == 0) return 0;
    int error = errno;
    ops_resume_rights();
    errno = error;
    return -1;
}
