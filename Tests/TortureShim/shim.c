// Library that the torture preloads into opsd and opsd-runner. It is between the programs, as they are shipped, and the
// C library: it moves their wall clock and makes calls on their disk fail, without any effect on the machine.
//
// The torture controls it through the file that $TORTURE_SHIM names:
//   - `clock_offset` is added to every reading of CLOCK_REALTIME, and to the clock of every timer that waits for an
//     instant of it. The torture sends SIGRTMIN+5 after it has set the clock. Then the library sets armed timers again,
//     as the kernel would; timers that a change of the clock cancels become readable.
//   - One in `io_every` calls of the kinds in `io_calls` on files of the database fails with `io_error`.
// The library counts its effects, because a fault that never happened proves nothing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { sync_calls = 1, write_calls = 2, read_calls = 4, open_calls = 8 };

// Shim.swift has the same layout.
struct controls {
    _Atomic int64_t clock_offset;
    _Atomic int32_t io_error, io_calls, io_every, unused;
    _Atomic int64_t clock_readings, failed_calls, timers_moved, disk_calls;
};

static struct controls none, *controls = &none;

// ---- The clock -----------------------------------------------------------------------------------------------------

enum { timers = 16 };
// Timers of the wall clock: descriptor + 1 (0: free entry) and the instant that each waits for (0: disarmed).
static struct {
    _Atomic int descriptor;
    _Atomic int64_t instant;
    // TFD_TIMER_CANCEL_ON_SET
    _Atomic int is_cancelled_on_set;
} timer[timers];

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_timerfd_create)(int, int);
static int (*real_timerfd_settime)(int, int, const struct itimerspec *, struct itimerspec *);
static int (*real_close)(int);
static int (*real_fsync)(int), (*real_fdatasync)(int), (*real_ftruncate64)(int, off64_t);
static ssize_t (*real_pread64)(int, void *, size_t, off64_t), (*real_pwrite64)(int, const void *, size_t, off64_t);
static int (*real_open64)(const char *, int, ...);

enum { second = 1000000000 };

static int64_t nanoseconds(const struct timespec *time) { return (int64_t)time->tv_sec * second + time->tv_nsec; }

static struct timespec timespec_of(int64_t nanoseconds) {
    return (struct timespec){.tv_sec = nanoseconds / second, .tv_nsec = nanoseconds % second};
}

// Arms a timer for an instant of the moved clock.
static int arm(int descriptor, int64_t instant) {
    int64_t real = instant - controls->clock_offset;
    // 0 would disarm the timer. A timer whose instant has passed fires at once.
    struct itimerspec value = {.it_value = timespec_of(real > 0 ? real : 1)};
    return real_timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &value, NULL);
}

static void clock_was_set(int number) {
    (void)number;
    int saved = errno;
    for (int i = 0; i < timers; i++) {
        int descriptor = timer[i].descriptor - 1;
        int64_t instant = timer[i].instant;
        if (descriptor < 0 || instant == 0) continue;
        // An instant in the past makes the timer readable at once, as the kernel does with a cancelled timer.
        if (arm(descriptor, timer[i].is_cancelled_on_set ? 0 : instant) == 0) controls->timers_moved++;
    }
    errno = saved;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    // Other constructors may read the clock before `begin` has run.
    if (!real_clock_gettime) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real_clock_gettime(clock, time);
    int64_t offset = controls->clock_offset;
    if (result == 0 && clock == CLOCK_REALTIME && offset != 0) {
        *time = timespec_of(nanoseconds(time) + offset);
        controls->clock_readings++;
    }
    return result;
}

int gettimeofday(struct timeval *restrict value, void *restrict zone) {
    (void)zone;
    struct timespec time;
    if (clock_gettime(CLOCK_REALTIME, &time) < 0) return -1;
    *value = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *result) {
    struct timespec time;
    if (clock_gettime(CLOCK_REALTIME, &time) < 0) return -1;
    if (result) *result = time.tv_sec;
    return time.tv_sec;
}

int timerfd_create(int clock, int flags) {
    int descriptor = real_timerfd_create(clock, flags);
    if (descriptor < 0 || clock != CLOCK_REALTIME) return descriptor;
    for (int i = 0; i < timers; i++) {
        int expected = 0;
        timer[i].instant = 0;
        if (atomic_compare_exchange_strong(&timer[i].descriptor, &expected, descriptor + 1)) return descriptor;
    }
    fputs("torture-shim: too many timers\n", stderr);
    abort();
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *value, struct itimerspec *old) {
    for (int i = 0; i < timers; i++) {
        if (timer[i].descriptor != descriptor + 1) continue;
        int64_t instant = flags & TFD_TIMER_ABSTIME ? nanoseconds(&value->it_value) : 0;
        timer[i].instant = instant;
        timer[i].is_cancelled_on_set = (flags & TFD_TIMER_CANCEL_ON_SET) != 0;
        if (instant != 0) return arm(descriptor, instant);
    }
    return real_timerfd_settime(descriptor, flags, value, old);
}

int close(int descriptor) {
    if (!real_close) real_close = dlsym(RTLD_NEXT, "close");
    for (int i = 0; i < timers && descriptor >= 0; i++) {
        int expected = descriptor + 1;
        atomic_compare_exchange_strong(&timer[i].descriptor, &expected, 0);
    }
    return real_close(descriptor);
}

// ---- The disk ------------------------------------------------------------------------------------------------------

static int is_failing(int call, const char *path) {
    int error = controls->io_error;
    if (error == 0 || (controls->io_calls & call) == 0 || strstr(path, "/opsd.db") == NULL) return 0;
    int64_t number = controls->disk_calls++;
    int every = controls->io_every;
    if (every > 1 && number % every != 0) return 0;
    controls->failed_calls++;
    errno = error;
    return 1;
}

static int is_failing_at(int call, int descriptor) {
    if (controls->io_error == 0) return 0;
    char link[32], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return is_failing(call, path);
}

int fsync(int descriptor) { return is_failing_at(sync_calls, descriptor) ? -1 : real_fsync(descriptor); }

int fdatasync(int descriptor) { return is_failing_at(sync_calls, descriptor) ? -1 : real_fdatasync(descriptor); }

int ftruncate64(int descriptor, off64_t size) {
    return is_failing_at(write_calls, descriptor) ? -1 : real_ftruncate64(descriptor, size);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t at) {
    return is_failing_at(write_calls, descriptor) ? -1 : real_pwrite64(descriptor, bytes, size, at);
}

ssize_t pread64(int descriptor, void *bytes, size_t size, off64_t at) {
    return is_failing_at(read_calls, descriptor) ? -1 : real_pread64(descriptor, bytes, size, at);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    // The mode exists only with these flags. open ignores it otherwise.
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return is_failing(open_calls, path) ? -1 : real_open64(path, flags, mode);
}

// ---- The start -----------------------------------------------------------------------------------------------------

static void *next(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) fprintf(stderr, "torture-shim: no %s\n", name), abort();
    return function;
}

__attribute__((constructor)) static void begin(void) {
    real_clock_gettime = next("clock_gettime");
    real_timerfd_create = next("timerfd_create");
    real_timerfd_settime = next("timerfd_settime");
    real_close = next("close");
    real_fsync = next("fsync");
    real_fdatasync = next("fdatasync");
    real_ftruncate64 = next("ftruncate64");
    real_pread64 = next("pread64");
    real_pwrite64 = next("pwrite64");
    real_open64 = next("open64");
    const char *path = getenv("TORTURE_SHIM");
    if (!path) return;
    int file = real_open64(path, O_RDWR | O_CLOEXEC);
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) perror("torture-shim"), abort();
    real_close(file);
    controls = page;
    struct sigaction action = {.sa_handler = clock_was_set, .sa_flags = SA_RESTART};
    sigaction(SIGRTMIN + 5, &action, NULL);
}
