#define _GNU_SOURCE
#include "ops_kernel.h"
#include "ops_spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Linux 6.16, and the same on every architecture that Swift runs on. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* Fills in the address. A path too long for it is reached through its directory, whose descriptor is returned and is
 * open until `leave`. -1: the path fits. -2: there is no such address. */
static int unix_address(const char *path, struct sockaddr_un *address, socklen_t *length) {
    size_t count = strlen(path);
    int directory = -1;
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (count == 0) {
        errno = EINVAL;
        return -2;
    }
    if (count < sizeof address->sun_path) {
        memcpy(address->sun_path, path, count);
    } else {
        char parent[PATH_MAX];
        const char *name = strrchr(path, '/');
        if (name == NULL || name == path || (size_t)(name - path) >= sizeof parent) {
            errno = ENAMETOOLONG;
            return -2;
        }
        memcpy(parent, path, (size_t)(name - path));
        parent[name - path] = 0;
        directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0) return -2;
        int written = snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d%s", directory, name);
        if (written < 0 || (size_t)written >= sizeof address->sun_path) {
            close(directory);
            errno = ENAMETOOLONG;
            return -2;
        }
        count = (size_t)written;
    }
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + count + 1);
    return directory;
}

/* Closes the directory. Returns `result`, and leaves errno as it is. */
static int leave(int directory, int result) {
    int error = errno;
    if (directory >= 0) close(directory);
    errno = error;
    return result;
}

int ops_unix_socket(int nonblocking) {
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0);
}

int ops_bind_unix(int fd, const char *path) {
    struct sockaddr_un address;
    socklen_t length;
    int directory = unix_address(path, &address, &length);
    if (directory == -2) return -1;
    return leave(directory, bind(fd, (struct sockaddr *)&address, length));
}

int ops_unix_path(int fd, char path[static OPS_UNIX_PATH]) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) return -1;
    path[0] = 0;
    if (address.sun_family != AF_UNIX || length <= offsetof(struct sockaddr_un, sun_path)) return 0;
    /* The length counts a NUL even behind a path that fills the structure. An abstract address begins with a NUL. */
    size_t bytes = strnlen(address.sun_path, sizeof address.sun_path);
    memcpy(path, address.sun_path, bytes);
    path[bytes] = 0;
    return 0;
}

int ops_connect_unix(int fd, const char *path) {
    struct sockaddr_un address;
    socklen_t length;
    int directory = unix_address(path, &address, &length);
    if (directory == -2) return -1;
    return leave(directory, connect(fd, (struct sockaddr *)&address, length));
}

int ops_accept(int fd) {
    return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int ops_refuse_descriptors(int fd) {
    int passes = 0;
    if (setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &passes, sizeof passes) == 0) return 0;
    /* An older kernel, or a socket of another family, which passes no descriptors. */
    return errno == ENOPROTOOPT || errno == EOPNOTSUPP ? 0 : -1;
}

int ops_peer_credentials(int fd, struct ops_credentials *out) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) return -1;
    *out = (struct ops_credentials){.pid = peer.pid, .uid = peer.uid, .gid = peer.gid};
    return 0;
}

static int64_t microseconds(struct timeval t) {
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

int ops_wait_child(pid_t pid, int wait, struct ops_exit *out) {
    /* The raw call: glibc's waitid hides the kernel's fifth argument, the usage of this one child. */
    siginfo_t how;
    struct rusage usage;
    memset(&how, 0, sizeof how);
    long done;
    do {
        done = syscall(SYS_waitid, pid > 0 ? P_PID : P_ALL, pid, &how, WEXITED | (wait ? 0 : WNOHANG), &usage);
    } while (done < 0 && errno == EINTR);
    if (done < 0) return errno == ECHILD ? 0 : -1;
    if (how.si_pid == 0) return 0;
    *out = (struct ops_exit){
        .pid = how.si_pid,
        .status = how.si_status,
        .by_signal = how.si_code != CLD_EXITED,
        .user_microseconds = microseconds(usage.ru_utime),
        .system_microseconds = microseconds(usage.ru_stime),
        .max_resident_bytes = (int64_t)usage.ru_maxrss * 1024,
    };
    return 1;
}

int ops_become_subreaper(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int ops_pidfd(pid_t pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int ops_pidfd_signal(int pidfd, int number) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

int ops_lock_file(int fd) {
    /* Not F_SETLK: that one is lost when any descriptor of the file is closed by this process. */
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole);
}

int ops_end_with_parent(int parent, int number) {
    if (prctl(PR_SET_PDEATHSIG, number) < 0) return -1;
    return getppid() == parent;
}

int ops_terminal_size(int fd, int *columns, int *rows) {
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) < 0) return -1;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return 0;
}

static int set_handler(int number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    if (sigaction(number, &action, NULL) < 0) return -1;
    ops_spawn_forget_ignored_signals();
    return 0;
}

int ops_ignore_signal(int number) {
    return set_handler(number, SIG_IGN);
}

int ops_default_signal(int number) {
    return set_handler(number, SIG_DFL);
}

int ops_block_signal(int number) {
    sigset_t one;
    sigemptyset(&one);
    if (sigaddset(&one, number) < 0) return -1;
    int error = pthread_sigmask(SIG_BLOCK, &one, NULL);
    if (error == 0) return 0;
    errno = error;
    return -1;
}

void ops_return_large_blocks(void) {
    // glibc raises the limit to the largest block that was ever freed, up to 32 MiB, unless it is set.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

void ops_return_free_memory(void) { malloc_trim(0); }

int ops_epoll(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

static int set_member(int epoll, int what, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, what, fd, &event);
}

int ops_epoll_add(int epoll, int fd, uint32_t events, uint64_t token) {
    return set_member(epoll, EPOLL_CTL_ADD, fd, events, token);
}

int ops_epoll_change(int epoll, int fd, uint32_t events, uint64_t token) {
    return set_member(epoll, EPOLL_CTL_MOD, fd, events, token);
}

int ops_epoll_remove(int epoll, int fd) {
    return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
}

int ops_epoll_ready(int epoll, uint64_t *tokens, uint32_t *events, int count) {
    struct epoll_event ready[64];
    int found = epoll_wait(epoll, ready, count < 64 ? count : 64, 0);
    for (int i = 0; i < found; i++) {
        tokens[i] = ready[i].data.u64;
        events[i] = ready[i].events;
    }
    return found;
}

int ops_event(int nonblocking) {
    return eventfd(0, EFD_CLOEXEC | (nonblocking ? EFD_NONBLOCK : 0));
}

int ops_semaphore(unsigned int count) {
    return eventfd(count, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
}

int ops_semaphore_add(int fd) {
    uint64_t one = 1;
    return write(fd, &one, sizeof one) == sizeof one ? 0 : -1;
}

int ops_semaphore_take(int fd) {
    uint64_t one;
    return read(fd, &one, sizeof one) == sizeof one ? 0 : -1;
}

ssize_t ops_send_descriptor(int fd, const void *bytes, size_t size, int passed) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof passed)] = {0};
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(header), &passed, sizeof passed);
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

ssize_t ops_receive_descriptor(int fd, void *bytes, size_t size, int *passed) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof *passed)];
    struct iovec vector = {.iov_base = bytes, .iov_len = size};
    // CMSG_SPACE has room for two on 64 bits. The kernel drops descriptors for which there is no room.
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_LEN(sizeof *passed)};
    *passed = -1;
    ssize_t count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (count < 0) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(passed, CMSG_DATA(header), sizeof *passed);
    return count;
}

int ops_start_thread(void *(*body)(void *), void *argument) {
    pthread_attr_t attributes;
    errno = pthread_attr_init(&attributes);
    if (errno) return -1;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigset_t all, old;
    sigfillset(&all);
    // A thread starts with the signal mask of the thread that made it.
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, body, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    errno = error;
    return error ? -1 : 0;
}

const char *ops_error_text(int number) {
    return strerrordesc_np(number);
}

ssize_t ops_random(void *buffer, size_t count) {
    return getrandom(buffer, count, 0);
}

int ops_get_open_files(uint64_t *soft, uint64_t *hard) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -1;
    *soft = limit.rlim_cur;
    *hard = limit.rlim_max;
    return 0;
}

int ops_set_open_files(uint64_t soft, uint64_t hard) {
    struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    return setrlimit(RLIMIT_NOFILE, &limit);
}

int ops_pooled_group_state(int directory, int events) {
    char text[128];
    ssize_t length = pread(events, text, sizeof text - 1, 0);
    if (length < 0) return -1;
    text[length] = 0;
    struct stat status;
    if (fstat(directory, &status) < 0) return -1;
    /* Two links: it has no group below it. */
    return strcmp(text, "populated 0\nfrozen 0\n") == 0 && status.st_nlink == 2;
}

int ops_set_attribute(int fd, const char *name, const char *value) {
    return fsetxattr(fd, name, value, strlen(value), 0);
}

int64_t ops_get_attribute(const char *path, const char *name, char *value, size_t size) {
    return getxattr(path, name, value, size);
}

int ops_has_flag_attribute(const char *path, const char *name) {
    char value[2];
    return getxattr(path, name, value, sizeof value) == 1 && value[0] == '1';
}

static int open_entry(int directory, const char *name, int flags) {
    struct open_how how = {
        .flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH,
    };
    int entry = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
    // Linux before 5.6 cannot tell where a file system begins.
    return entry < 0 && errno == ENOSYS ? openat(directory, name, (int)how.flags) : entry;
}

int ops_open_entry(int directory, const char *name) { return open_entry(directory, name, O_PATH); }

int ops_open_subdirectory(int directory, const char *name) {
    return open_entry(directory, name, O_RDONLY | O_DIRECTORY);
}

int ops_has_entries(int directory) {
    _Alignas(struct dirent64) char buffer[2048];
    for (;;) {
        ssize_t count = getdents64(directory, buffer, sizeof buffer);
        if (count <= 0) return (int)count;
        const struct dirent64 *entry;
        for (ssize_t at = 0; at < count; at += entry->d_reclen) {
            entry = (const struct dirent64 *)(buffer + at);
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) return 1;
        }
    }
}

int ops_rename_to_new(const char *path, const char *other) {
    int result = (int)syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, RENAME_NOREPLACE);
    // Some file systems do not have the flag.
    return result < 0 && errno == EINVAL ? rename(path, other) : result;
}

int ops_open_reference(const char *path) {
    return open(path, O_PATH | O_CLOEXEC);
}

int ops_open_directory_reference(int directory, const char *name) {
    return openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}
