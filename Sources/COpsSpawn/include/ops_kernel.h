/* Kernel calls that are missing from, or awkward in, Swift's Glibc module. All return -1 with errno set on failure. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ops_credentials {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
};

/* A path too long for sockaddr_un is reached through its directory; it is never cut short. */
int ops_bind_unix(int fd, const char *path);
int ops_connect_unix(int fd, const char *path);
/* A new stream socket, always close-on-exec. */
int ops_unix_socket(int nonblocking);
/* The accepted socket is close-on-exec and non-blocking. */
int ops_accept(int fd);
int ops_peer_credentials(int fd, struct ops_credentials *out);

/* How a child ended, with what it used. */
struct ops_exit {
    int32_t pid;
    /* The exit code, or the signal's number where `by_signal` is set. */
    int32_t status;
    int32_t by_signal;
    int64_t user_microseconds;
    int64_t system_microseconds;
    int64_t max_resident_bytes;
};
/*
 * Takes an ended child: this one, or with 0 any. 1: `out` is filled; 0: none has ended, or there is none; -1: error.
 * `wait`: sleeps until there is one.
 */
int ops_wait_child(pid_t pid, int wait, struct ops_exit *out);
int ops_become_subreaper(void);

/* A hold on the process that has this number now, close-on-exec. */
int ops_pidfd(pid_t pid);
int ops_pidfd_signal(int pidfd, int number);

/* A lock on the open file description: it ends with its last descriptor, whoever dies how. */
int ops_lock_file(int fd);

int ops_terminal_size(int fd, int *columns, int *rows);
int ops_ignore_signal(int number);
int ops_default_signal(int number);
int ops_block_signal(int number);

/* The limit of open files. */
int ops_get_open_files(uint64_t *soft, uint64_t *hard);
int ops_set_open_files(uint64_t soft, uint64_t hard);

/*
 * A datagram socket that tells who sent; `path` may begin with '@' for an abstract address. The file is open to all:
 * who is heard is decided by the sender's credentials.
 */
int ops_notify_socket(const char *path);
/*
 * Receives one datagram. `sender`: who sent it, as the kernel vouches. Descriptors that came along are closed at once,
 * which is what a sender that waits for its barrier waits for. A message cut short has `truncated` set.
 */
ssize_t ops_notify_receive(int fd, void *buffer, size_t size, struct ops_credentials *sender, int *truncated);

/* Goes to the background, with the standard streams alone: the caller's process exits with the status its grandchild
 * passes to `ops_detached`. */
int ops_detach(void);
/* Lets the process that `ops_detach` left behind exit, with this status. */
void ops_detached(int status);

/* Frees the disk blocks of all but the last `keep` bytes of a file, and of what was reserved behind its end; its size
 * stays. It waits for whoever is writing to the file. */
int ops_trim_log(int fd, int64_t keep);
/* The same in a process of its own, whose pid is returned; it exits with 0 or an errno. */
pid_t ops_trim_log_apart(int fd, int64_t keep);
/* A lease for writing, which is given (EAGAIN) only while nobody else has the file open; until its end nobody else opens
 * it. Who tries to is answered later, or EAGAIN, and this process gets SIGIO. */
int ops_take_lease(int fd);
int ops_end_lease(int fd);
/* Makes an open file this process's, mode 0600. */
int ops_take_from_owner(int fd);
/* 1: in this group of cgroup v2 and below it nothing lives, no group is below it, and it is not frozen. -1: see errno.
 * Its directory and its cgroup.events, both open. */
int ops_pooled_group_state(int directory, int events);
/* An extended attribute of an open file. */
int ops_set_attribute(int fd, const char *name, const char *value);
/* How many bytes the attribute of a file has, now in `value`; -1: see errno. */
int64_t ops_get_attribute(const char *path, const char *name, char *value, size_t size);
/* 1: the attribute of a file is "1". */
int ops_has_flag_attribute(const char *path, const char *name);

/* From now on blocks of a mebibyte and more go back to the kernel when they are freed. */
void ops_return_large_blocks(void);
/* Memory that was freed goes back to the kernel, whichever thread it was freed by. */
void ops_return_free_memory(void);

/* An epoll set, close-on-exec, and its members; each is told apart by its token. */
int ops_epoll(void);
int ops_epoll_add(int epoll, int fd, uint32_t events, uint64_t token);
int ops_epoll_change(int epoll, int fd, uint32_t events, uint64_t token);
int ops_epoll_remove(int epoll, int fd);
/* At most `count` members that are ready now; returns how many. */
int ops_epoll_ready(int epoll, uint64_t *tokens, uint32_t *events, int count);

/* An eventfd, close-on-exec; what is read from it is how often it was written to. */
int ops_event(int nonblocking);
/* An eventfd of which each read takes one, and fails with EAGAIN when there is none. */
int ops_semaphore(void);
/* Adds one. */
int ops_semaphore_add(int fd);
/* Takes one. */
int ops_semaphore_take(int fd);
/* As send and recv on a stream socket, with a descriptor beside the bytes; of those that come only the first is kept,
 * close-on-exec; -1: none came. */
ssize_t ops_send_descriptor(int fd, const void *bytes, size_t size, int passed);
ssize_t ops_receive_descriptor(int fd, void *bytes, size_t size, int *passed);
/* A detached thread that no signal interrupts; `argument` is handed to `body`. */
int ops_start_thread(void *(*body)(void *), void *argument);

/* The C library's words for an errno, untranslated and never freed; NULL for a number it does not know. */
const char *ops_error_text(int number);
/* Returns how many bytes were filled. */
ssize_t ops_random(void *buffer, size_t count);
