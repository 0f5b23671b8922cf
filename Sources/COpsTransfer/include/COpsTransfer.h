/* The little C of transfers: a digest, and kernel calls that Swift's Glibc module leaves out. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* SHA-256 (FIPS 180-4). */
struct ops_sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
};
void ops_sha256_begin(struct ops_sha256 *digest);
void ops_sha256_add(struct ops_sha256 *digest, const void *bytes, size_t count);
void ops_sha256_end(struct ops_sha256 *digest, uint8_t result[32]);

/* The functions below return -1 with errno set on failure. All descriptors are close-on-exec. */

/* A set of descriptors that is itself readable while one of them is ready. */
int ops_readiness_set(void);
enum { OPS_READABLE = 1, OPS_WRITABLE = 2, OPS_BROKEN = 4 };
struct ops_ready {
    int fd;
    /* OPS_READABLE, OPS_WRITABLE, OPS_BROKEN */
    int how;
};
/* Watches `fd` for `how`, whether it is in the set already or not. */
int ops_readiness_watch(int set, int fd, int how);
/* Forgets `fd`; no error where it is not in the set. */
int ops_readiness_forget(int set, int fd);
/* Fills `ready` with at most `limit` descriptors, without waiting; returns how many. */
int ops_readiness_collect(int set, struct ops_ready *ready, int limit);

/* A descriptor that becomes readable once, at the time that was set. */
int ops_timer(void);
/* Sets it `milliseconds` from now; below 0: never. */
int ops_timer_set(int timer, long milliseconds);
void ops_timer_clear(int timer);

/* A counter that wakes others: readable while it is above zero. With `is_shared` each thread that waits takes one of it. */
int ops_wake_event(int is_shared);
void ops_wake(int event);
/* Waits until the counter of a shared event is above zero, and takes one. Resets that of another one without waiting. */
void ops_wait_for_wake(int event);

/* Starts to write bytes of a file to its disk, without waiting for the end of it. */
void ops_start_writing(int file);

/* Sends one datagram to the address of a service manager ('@': abstract). */
int ops_notify_send(const char *address, const void *bytes, size_t count);

/* Gives this thread the effective user and groups of somebody else for all of its life: files are opened, written and
 * renamed with these rights. Other threads keep theirs. After a failure the thread must do nothing more. */
int ops_keep_rights(uint32_t uid, uint32_t gid, const uint32_t *groups, size_t count);
/* Frees the buffers of an OpenSSL connection, 16 KiB for the next record, which OpenSSL can keep although libcurl asks it to
 * release them. Nothing is freed while bytes of a record are left. NULL has no effect. */
void ops_free_tls_buffers(void *connection);
/* Returns freed memory to the system. */
void ops_release_memory(void);

