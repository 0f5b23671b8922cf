#define _GNU_SOURCE
#include "COpsTransfer.h"
#include <sys/syscall.h>
#include <unistd.h>

/* The functions of the C library change all threads of the process: hence the system calls. The real and the saved user
 * stay, so that the user cannot send signals to this process. */

int ops_keep_rights(uint32_t uid, uint32_t gid, const uint32_t *groups, size_t count)
{
    if (syscall(SYS_setgroups, (long)count, groups) != 0) return -1;
    if (syscall(SYS_setresgid, -1, gid, -1) != 0) return -1;
    return syscall(SYS_setresuid, -1, uid, -1) == 0 ? 0 : -1;
}
