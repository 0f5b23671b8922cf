/*
 * System calls without the C library, for processes that have only a part of its memory (see copy.h). All return a
 * negative errno on failure: errno itself belongs to the thread that the process was made by.
 */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A program that a sanitizer instruments needs its shadow memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(SANITIZED)
#define RAW_CALLS 1
#else
/* A new process needs the whole memory of this one: calls go through the C library, or a sanitizer checks them. */
#define RAW_CALLS 0
#endif

static inline long raw_call5(long number, long a, long b, long c, long d, long e) {
#if defined(__x86_64__)
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long call __asm__("x8") = number;
    register long first __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    register long fifth __asm__("x4") = e;
    __asm__ volatile("svc #0"
                     : "+r"(first)
                     : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
                     : "memory", "cc");
    return first;
#else
    long result = syscall(number, a, b, c, d, e);
    return result < 0 ? -errno : result;
#endif
}

static inline long raw_call(long number, long a, long b, long c) { return raw_call5(number, a, b, c, 0, 0); }

/* Numbers that are the same on all machines: open, dup2 and access are missing on newer ones. */
static inline int raw_open_at(int directory, const char *path, int flags, mode_t mode) {
    return (int)raw_call5(SYS_openat, directory, (long)path, flags, mode, 0);
}
static inline int raw_open(const char *path, int flags, mode_t mode) {
    return raw_open_at(AT_FDCWD, path, flags, mode);
}
/* `to` differs from `from`, and stays open over an exec. */
static inline int raw_duplicate(int from, int to) { return (int)raw_call(SYS_dup3, from, to, 0); }
static inline int raw_close(int fd) { return (int)raw_call(SYS_close, fd, 0, 0); }
static inline long raw_read(int fd, void *bytes, size_t size) {
    return raw_call(SYS_read, fd, (long)bytes, (long)size);
}
static inline long raw_write(int fd, const void *bytes, size_t size) {
    return raw_call(SYS_write, fd, (long)bytes, (long)size);
}
static inline int raw_fcntl(int fd, int command, long argument) {
    return (int)raw_call(SYS_fcntl, fd, command, argument);
}
static inline int raw_close_range(unsigned first, unsigned last) {
    return first > last ? 0 : (int)raw_call(SYS_close_range, first, last, 0);
}
static inline int raw_get_limit(int resource, uint64_t limit[2]) {
    return (int)raw_call5(SYS_prlimit64, 0, resource, 0, (long)limit, 0);
}
static inline int raw_set_limit(int resource, const uint64_t limit[2]) {
    return (int)raw_call5(SYS_prlimit64, 0, resource, (long)limit, 0, 0);
}
static inline void raw_close_all_but_first(void) {
    if (raw_close_range(1u, ~0u) == 0) return;
    uint64_t limit[2];
    if (raw_get_limit(RLIMIT_NOFILE, limit) < 0) return;
    for (uint64_t fd = 1; fd < limit[0] && fd < INT32_MAX; fd++) raw_close((int)fd);
}
static inline int raw_status(int fd, struct stat *status) { return (int)raw_call(SYS_fstat, fd, (long)status, 0); }
static inline int raw_file_system_status(int fd, struct statfs *status) {
    return (int)raw_call(SYS_fstatfs, fd, (long)status, 0);
}

static inline _Noreturn void raw_exit(int status) {
    for (;;) raw_call(SYS_exit_group, status, 0, 0);
}
