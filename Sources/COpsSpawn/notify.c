/* Receiving end of $NOTIFY_SOCKET. */
#define _GNU_SOURCE
#include "ops_kernel.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
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

static void wake(int number) { (void)number; }

/*
 * Interrupts waits of this thread, the only one of its process, until `stop_interrupting`: after a tenth of a
 * millisecond, and then every millisecond, since a signal that comes before the wait does not interrupt it.
 */
static void start_interrupting(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = wake;
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    const struct itimerval often = {.it_value = {.tv_usec = 100}, .it_interval = {.tv_usec = 1000}};
    sigaction(SIGALRM, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static void stop_interrupting(void) {
    const struct itimerval never = {0};
    setitimer(ITIMER_REAL, &never, NULL);
}

/*
 * Removes the first message and its descriptors. If these are the last ones of their files, the sender decides how long
 * that takes: a TCP socket with SO_LINGER waits until its peer has read everything. A signal ends that wait.
 */
static ssize_t remove_first(int fd, int has_descriptors) {
    if (has_descriptors) start_interrupting();
    ssize_t count = recv(fd, NULL, 0, MSG_DONTWAIT);
    int error = errno;
    if (has_descriptors) stop_interrupting();
    errno = error;
    return count;
}

ssize_t ops_notify_receive(int fd, void *buffer, size_t size, struct ops_credentials *sender, int *truncated) {
    /* Room for the sender alone: the kernel drops descriptors without opening them here. Closing an open one would wait
     * for a file system of the sender (FUSE), which no signal interrupts. */
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec vector = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    *sender = (struct ops_credentials){0};
    ssize_t count = recvmsg(fd, &message, MSG_DONTWAIT | MSG_PEEK);
    if (count < 0) return -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
        struct ucred from;
        memcpy(&from, CMSG_DATA(header), sizeof from);
        *sender = (struct ops_credentials){.pid = from.pid, .uid = from.uid, .gid = from.gid};
    }
    *truncated = (message.msg_flags & MSG_TRUNC) != 0;
    return remove_first(fd, (message.msg_flags & MSG_CTRUNC) != 0) < 0 ? -1 : count;
}

void ops_notify_end(int fd) {
    struct ops_credentials sender;
    int truncated;
    shutdown(fd, SHUT_RD);
    while (ops_notify_receive(fd, NULL, 0, &sender, &truncated) >= 0 || errno == EINTR) {
    }
}
