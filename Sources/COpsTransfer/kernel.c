#define _GNU_SOURCE
#include "COpsTransfer.h"
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

int ops_readiness_set(void) { return epoll_create1(EPOLL_CLOEXEC); }

int ops_readiness_watch(int set, int fd, int how)
{
    struct epoll_event event = {.data.fd = fd};
    if (how & OPS_READABLE) event.events |= EPOLLIN;
    if (how & OPS_WRITABLE) event.events |= EPOLLOUT;
    if (epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) == 0) return 0;
    return errno == ENOENT ? epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) : -1;
}

int ops_readiness_forget(int set, int fd)
{
    if (epoll_ctl(set, EPOLL_CTL_DEL, fd, 0) == 0) return 0;
    return errno == ENOENT || errno == EBADF ? 0 : -1;
}

int ops_readiness_collect(int set, struct ops_ready *ready, int limit)
{
    struct epoll_event events[64];
    int count;
    do count = epoll_wait(set, events, limit < 64 ? limit : 64, 0);
    while (count < 0 && errno == EINTR);
    for (int i = 0; i < count; i++) {
        ready[i].fd = events[i].data.fd;
        ready[i].how = (events[i].events & EPOLLIN ? OPS_READABLE : 0) | (events[i].events & EPOLLOUT ? OPS_WRITABLE : 0)
            | (events[i].events & (EPOLLERR | EPOLLHUP) ? OPS_BROKEN : 0);
    }
    return count;
}

int ops_timer(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

int ops_timer_set(int timer, long milliseconds)
{
    struct itimerspec time = {0};
    if (milliseconds >= 0) {
        time.it_value.tv_sec = milliseconds / 1000;
        /* Zero would mean never. */
        time.it_value.tv_nsec = milliseconds == 0 ? 1 : milliseconds % 1000 * 1000000;
    }
    return timerfd_settime(timer, 0, &time, 0);
}

void ops_timer_clear(int timer)
{
    uint64_t count;
    /* Nothing to read means that it was set to a later time meanwhile. */
    if (read(timer, &count, sizeof count) < 0) return;
}

int ops_wake_event(int is_shared) { return eventfd(0, EFD_CLOEXEC | (is_shared ? EFD_SEMAPHORE : EFD_NONBLOCK)); }

void ops_wake(int event)
{
    uint64_t one = 1;
    while (write(event, &one, sizeof one) < 0 && errno == EINTR) continue;
}

void ops_wait_for_wake(int event)
{
    uint64_t count;
    while (read(event, &count, sizeof count) < 0 && errno == EINTR) continue;
}

void ops_start_writing(int file)
{
    /* Only a hint: the sync that follows reports errors. */
    (void)sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int ops_notify_send(const char *path, const void *bytes, size_t count)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length > sizeof address.sun_path) return errno = EINVAL, -1;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    ssize_t sent = sendto(fd, bytes, count, MSG_NOSIGNAL, (struct sockaddr *)&address,
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    int error = errno;
    close(fd);
    errno = error;
    return sent < 0 ? -1 : 0;
}

void ops_free_tls_buffers(void *connection)
{
    /* Of the library that libcurl has loaded. */
    int (*free_buffers)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "SSL_free_buffers");
    if (connection && free_buffers) free_buffers(connection);
}

void ops_release_memory(void) { malloc_trim(0); }
