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
/* Longest path of a socket with the NUL behind it. */
#define OPS_UNIX_PATH 109
/* Writes the path to which a socket is bound; an empty one if it has none. */
int ops_unix_path(int fd, char path[OPS_UNIX_PATH]);
int ops_connect_unix(int fd, const char *path);
/* A new stream socket, always close-on-exec. */
int ops_unix_socket(int nonblocking);
/* The accepted socket is close-on-exec and non-blocking. */
int ops_accept(int fd);
/* Makes the sending of descriptors to a listening socket fail, and to the sockets that it accepts. Has no effect before
 * Linux 6.16. */
int ops_refuse_descriptors(int fd);
int ops_peer_credentials(int fd, struct ops_credentials *out);

/* End of a child, with its usage. */
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
 * Waits for a child that has ended: this one, or with 0 any. 1: `out` is filled; 0: none has ended, or there is none;
 * -1: error. `wait`: sleeps until one has ended.
 */
int ops_wait_child(pid_t pid, int wait, struct ops_exit *out);
int ops_become_subreaper(void);

/* Descriptor of the process that has this number now, close-on-exec. */
int ops_pidfd(pid_t pid);
int ops_pidfd_signal(int pidfd, int number);

/* Locks the open file description. The lock ends with its last descriptor, also when the process is killed. */
int ops_lock_file(int fd);

int ops_terminal_size(int fd, int *columns, int *rows);
/* This process gets the signal when the process that started it ends; 0 if that has ended already. */
int ops_end_with_parent(int parent, int number);
int ops_ignore_signal(int number);
int ops_default_signal(int number);
int ops_block_signal(int number);

/* The limit of open files. */
int ops_get_open_files(uint64_t *soft, uint64_t *hard);
int ops_set_open_files(uint64_t soft, uint64_t hard);

/*
 * A datagram socket that reports the sender; `path` may begin with '@' for an abstract address. Every user can write to
 * the file: the receiver decides by the credentials of the sender.
 */
int ops_notify_socket(const char *path);
/*
 * Receives one datagram. `sender`: its sender, as recorded by the kernel. Descriptors that came with it are dropped at
 * once; a sender that waits for its barrier waits for that. A message that was cut short has `truncated` set.
 * Only for a process with one thread: signals end the wait for descriptors that do not close.
 */
ssize_t ops_notify_receive(int fd, void *buffer, size_t size, struct ops_credentials *sender, int *truncated);
/* Refuses further messages and drops those that wait: closing the socket would wait for their descriptors. */
void ops_notify_end(int fd);

/* Goes to the background, with the standard streams alone: the caller's process exits with the status its grandchild
 * passes to `ops_detached`. */
int ops_detach(void);
/* Lets the process that `ops_detach` left behind exit, with this status. */
void ops_detached(int status);

/* Frees the disk blocks of all but the last `keep` bytes of a file, and of what was reserved behind its end; its size
 * stays. Waits for processes that are writing to the file. */
int ops_trim_log(int fd, int64_t keep);
/* The same in a process of its own, whose pid is returned; it exits with 0 or an errno. */
pid_t ops_trim_log_apart(int fd, int64_t keep);
/* Longest path of a file that a reader reads. */
#define OPS_READER_PATH 1024
/* First byte of each packet from a reader. OPS_READER_MORE: bytes of the file follow it. */
#define OPS_READER_MORE 1
/* The whole file was read. */
#define OPS_READER_END 2
/* The file cannot be read, or has more than 4 MiB. */
#define OPS_READER_FAILED 3
/* Added to the last packet of a file: the reader has waited for something other than a processor. */
#define OPS_READER_WAITED 16
/*
 * Starts a child that reads files whose reading may take any time. `fd`: the caller's end of a pair of sockets. Each
 * packet to it is the path of a file, which packets from it answer. Waiting for any child does not find the reader, and
 * its end causes no SIGCHLD.
 */
pid_t ops_start_reader(int *fd);
/* Kills a reader. 1: it has ended and was waited for. 0: not yet; never with `wait`, which is for a reader that has
 * answered all requests. */
int ops_end_reader(pid_t pid, int wait);
/* Takes a lease for writing, which is possible (EAGAIN) only while no other process has the file open. Until the end of
 * the lease, opening the file waits or fails with EAGAIN, and this process gets SIGIO. */
int ops_take_lease(int fd);
int ops_end_lease(int fd);
/* Makes this process's user the owner of an open file, mode 0600. */
int ops_take_from_owner(int fd);
/* 1: no process lives in this group of cgroup v2, no group is below it, and it is not frozen. -1: see errno.
 * `directory`, `events`: its directory and its cgroup.events, both open. */
int ops_pooled_group_state(int directory, int events);
/* An extended attribute of an open file. */
int ops_set_attribute(int fd, const char *name, const char *value);
/* Reads the attribute of a file into `value`, and returns its length; -1: see errno. */
int64_t ops_get_attribute(const char *path, const char *name, char *value, size_t size);
/* 1: the attribute of a file is "1". */
int ops_has_flag_attribute(const char *path, const char *name);

/* A reference (O_PATH) to a name in a directory. It follows no link and does not enter another file system that is mounted
 * there (EXDEV): nothing is asked of a file system that a user has mounted, which may never answer. */
int ops_open_entry(int directory, const char *name);
/* Opens a directory for reading, under the same conditions. */
int ops_open_subdirectory(int directory, const char *name);
/* A reference (O_PATH) to any file: to open it like this has no effect on it. */
int ops_open_reference(const char *path);
/* A reference (O_PATH) to a directory in another one; fails with ENOTDIR for a link. */
int ops_open_directory_reference(int directory, const char *name);
/* 1: an open directory, of which nothing has been read, has entries besides `.` and `..`; 0: it has none; -1: error. */
int ops_has_entries(int directory);
/* Renames a file or directory; fails with EEXIST or ENOTEMPTY if the other name is taken. Takes no lock of a directory
 * that has one of the names. Where a file system cannot do this, it replaces an empty directory. */
int ops_rename_to_new(const char *path, const char *other);

/* Makes blocks of a mebibyte and more go back to the kernel when they are freed, from now on. */
void ops_return_large_blocks(void);
/* Returns freed memory of all threads to the kernel. */
void ops_return_free_memory(void);

/* An epoll set, close-on-exec, and its members, each with a token. */
int ops_epoll(void);
int ops_epoll_add(int epoll, int fd, uint32_t events, uint64_t token);
int ops_epoll_change(int epoll, int fd, uint32_t events, uint64_t token);
int ops_epoll_remove(int epoll, int fd);
/* At most `count` members that are ready now; returns how many. */
int ops_epoll_ready(int epoll, uint64_t *tokens, uint32_t *events, int count);

/* An eventfd, close-on-exec. A read returns the number of writes. */
int ops_event(int nonblocking);
/* An eventfd that begins with `count`. Each read takes one, and fails with EAGAIN when there is none. */
int ops_semaphore(unsigned int count);
/* Adds one. */
int ops_semaphore_add(int fd);
/* Takes one. */
int ops_semaphore_take(int fd);
/* Like send on a stream socket, with a descriptor beside the bytes. */
ssize_t ops_send_descriptor(int fd, const void *bytes, size_t size, int passed);
/* Like recv on a stream socket. Keeps only the first of the received descriptors, close-on-exec, and closes the others;
 * -1: there was none. */
ssize_t ops_receive_descriptor(int fd, void *bytes, size_t size, int *passed);
/* Starts a detached thread that no signal interrupts, with `argument` for `body`. */
int ops_start_thread(void *(*body)(void *), void *argument);

/* Returns the text of an errno, untranslated and never freed; NULL for an unknown number. */
const char *ops_error_text(int number);
/* Fills the buffer with random bytes, and returns their number. */
ssize_t ops_random(void *buffer, size_t count);
