/* Receiving end of $NOTIFY_SOCKET. */
#define _GNU_SOURCE
#include "ops_kernel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int ops_notify_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    int one = 1;
    if (length == 0 || length >= sizeof address.sun_path) {
        errno = length == 0 ? EINVAL : ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, length);
    int abstract = path[0] == '@';
    if (abstract) address.sun_path[0] = 0;
    else if (unlink(path) < 0 && errno != ENOENT) return -1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    /* An abstract address has no NUL at its end: its length counts. */
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + !abstract);
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) < 0 ||
        bind(fd, (struct sockaddr *)&address, size) < 0 || (!abstract && chmod(path, 0777) < 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static void close_all(const struct cmsghdr *header) {
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < count; index++) {
        int fd;
        memcpy(&fd, CMSG_DATA(header) + index * sizeof fd, sizeof fd);
        close(fd);
    }
}

ssize_t ops_notify_receive(int fd, void *buffer, size_t size, struct ops_credentials *sender, int *truncated) {
    /* Room for as many descriptors as a message can carry (253). The kernel closes any others. */
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(253 * sizeof(int))];
    struct iovec vector = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    *sender = (struct ops_credentials){0};
    ssize_t count = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) return -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET) continue;
        if (header->cmsg_type == SCM_RIGHTS) close_all(header);
        if (header->cmsg_type == SCM_CREDENTIALS) {
            struct ucred from;
            memcpy(&from, CMSG_DATA(header), sizeof from);
            *sender = (struct ops_credentials){.pid = from.pid, .uid = from.uid, .gid = from.gid};
        }
    }
    *truncated = (message.msg_flags & MSG_TRUNC) != 0;
    return count;
}
