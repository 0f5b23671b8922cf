#define _GNU_SOURCE
#include "torture-system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

// The C library's functions would change the ids of all threads.
static int become(uid_t user, gid_t group) {
    return syscall(SYS_setresgid, -1, group, -1) < 0 || syscall(SYS_setresuid, -1, user, -1) < 0 ? -1 : 0;
}

static int become_root(void) {
    return syscall(SYS_setresuid, -1, 0, -1) < 0 || syscall(SYS_setresgid, -1, 0, -1) < 0 ? -1 : 0;
}

int torture_connect_as(const char *path, uid_t user, gid_t group) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    int result = become(user, group);
    if (result == 0) result = connect(descriptor, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    // A thread that stayed somebody else would prove nothing from here on.
    if (become_root() < 0) abort();
    if (result == 0) return descriptor;
    close(descriptor);
    errno = error;
    return -1;
}
