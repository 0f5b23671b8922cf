/*
 * Between clone and exec: async-signal-safe calls only, on the caller's memory or a copy of it. Credentials are set with raw system
 * calls, because glibc's setuid and its like would also change the caller's threads.
 *
 * Order matters: what needs the caller's privileges comes before the user is set, what must be done with the
 * operation's own rights (directory, files, program) after it.
 */
#define _GNU_SOURCE
#include "spawn_child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define IOPRIO_WHO_PROCESS 1

static int write_number(int directory, const char *path, int number) {
    char text[16];
    size_t start = sizeof text;
    unsigned rest = number < 0 ? 0u - (unsigned)number : (unsigned)number;
    do {
        text[--start] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) text[--start] = '-';
    int fd = openat(directory, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t written = write(fd, text + start, sizeof text - start);
    int error = errno;
    close(fd);
    errno = error;
    return written < 0 ? -1 : 0;
}

/* The descriptors of the request come first: after that all others can be closed. */
static int take_descriptors(const struct ops_spawn_request *request) {
    for (int stream = 0; stream < 3; stream++) {
        const struct ops_spawn_stream *from = &request->streams[stream];
        if (from->path == NULL && from->fd >= 0 && dup2(from->fd, stream) < 0) return OPS_SPAWN_STDIN + stream;
    }
    return OPS_SPAWN_STARTED;
}

/* Without close_range: closes the descriptors that /proc lists, so that the limit of open files does not matter. */
static int close_listed(int kept) {
    int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return -1;
    struct entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
    };
    _Alignas(8) char buffer[4096];
    int closed;
    do {
        /* Closing while listing skips entries: the loop repeats until a whole pass closes nothing. */
        closed = 0;
        if (lseek(directory, 0, SEEK_SET) < 0) return -1;
        long count;
        while ((count = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0) {
            for (long at = 0; at < count;) {
                struct entry *entry = (struct entry *)(buffer + at);
                at += entry->length;
                int fd = 0;
                const char *digit = entry->name;
                while (*digit >= '0' && *digit <= '9') fd = fd * 10 + (*digit++ - '0');
                if (digit == entry->name || *digit != 0 || fd < 3 || fd == directory || fd == kept) continue;
                close(fd);
                closed = 1;
            }
        }
        if (count < 0) return -1;
    } while (closed);
    close(directory);
    return 0;
}

static int close_range_of(unsigned first, unsigned last) {
    return first > last ? 0 : (int)syscall(SYS_close_range, first, last, 0u);
}

/* Closes all but the streams and `kept`, which is -1 or at least 3. */
static int close_others(const struct ops_spawn_request *request, int kept) {
    if (!(request->flags & OPS_SPAWN_WITHOUT_CLOSE_RANGE)) {
        unsigned next = kept < 0 ? 3u : (unsigned)kept + 1;
        if (close_range_of(next, ~0u) == 0 && (kept < 0 || close_range_of(3u, (unsigned)kept - 1) == 0)) return 0;
        if (errno != ENOSYS && errno != EPERM) return -1;
    }
    return close_listed(kept);
}

/*
 * The caller sleeps until the exec, and a file may answer late or never: the process that shares its memory kills itself
 * when its time is over. The kernel deletes the timer at the exec.
 */
static void limit_time(void) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    /* Number of the timer in the kernel, which is not that of the C library. */
    int timer;
    /* If there is no timer, a start without a bound is better than none. */
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) < 0) return;
    struct itimerspec time = {.it_value = {.tv_sec = OPS_SPAWN_SECONDS}};
    syscall(SYS_timer_settime, timer, 0, &time, NULL);
}

static int open_stream(const struct ops_spawn_request *request, int stream) {
    const struct ops_spawn_stream *from = &request->streams[stream];
    if (from->path == NULL) {
        if (from->fd >= 0) return 0;
        return dup2(1, 2) < 0 ? -1 : 0;
    }
    /* The caller may sleep meanwhile: a FIFO without a peer must not delay it. */
    int fd = open(from->path, from->open_flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    if (dup2(fd, stream) < 0) return -1;
    if (fd > 2) close(fd);
    else if (fd == stream && fcntl(fd, F_SETFD, 0) < 0) return -1;
    int flags = fcntl(stream, F_GETFL);
    return flags < 0 || fcntl(stream, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -1 : 0;
}

static int set_limits(const struct ops_spawn_request *request) {
    for (size_t index = 0; index < request->limit_count; index++) {
        const struct ops_spawn_limit *from = &request->limits[index];
        struct rlimit limit = {.rlim_cur = from->soft, .rlim_max = from->hard};
        if (setrlimit(from->resource, &limit) < 0) return -1;
    }
    return 0;
}

static int set_user(const struct ops_spawn_request *request) {
    /* Ambient capabilities that a service manager gave to the caller are not passed on. EINVAL: before Linux 4.3. */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) return -1;
    if (!(request->flags & OPS_SPAWN_SET_USER)) return 0;
    if (syscall(SYS_setgroups, request->group_count, request->groups) < 0) return -1;
    if (syscall(SYS_setresgid, request->gid, request->gid, request->gid) < 0) return -1;
    return (int)syscall(SYS_setresuid, request->uid, request->uid, request->uid);
}

/* Every signal to its default, then none blocked. */
static int reset_signals(uint64_t numbers) {
    /* All zero is SIG_DFL in the kernel's own struct, which is shorter than this on every machine. */
    static const char fallback[64];
    for (int number = 1; number <= 64; number++) {
        if (number == SIGKILL || number == SIGSTOP || !(numbers >> (number - 1) & 1)) continue;
        if (syscall(SYS_rt_sigaction, number, fallback, NULL, 8) < 0) return -1;
    }
    static const uint64_t none = 0;
    return (int)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

static const char *search_path(const char *const *envp) {
    for (; *envp != NULL; envp++) {
        if (strncmp(*envp, "PATH=", 5) == 0) return *envp + 5;
    }
    return "/usr/local/bin:/usr/bin:/bin";
}

/* Searches for a program as execvpe does, but never passes a file of unknown format to a shell. */
static void execute(const struct ops_spawn_request *request) {
    char *const *argv = (char *const *)request->argv;
    char *const *envp = (char *const *)request->envp;
    const char *program = argv[0];
    size_t length = strlen(program);
    if (length == 0) {
        errno = ENOENT;
        return;
    }
    if (strchr(program, '/') != NULL) {
        execve(program, argv, envp);
        return;
    }
    int refused = 0;
    errno = ENOENT;
    for (const char *path = search_path(request->envp);; path++) {
        char candidate[PATH_MAX];
        size_t directory = strcspn(path, ":");
        if (directory + 1 + length < sizeof candidate) {
            /* An empty element is the current directory. */
            memcpy(candidate, path, directory);
            candidate[directory] = '/';
            memcpy(candidate + directory + (directory > 0), program, length + 1);
            execve(candidate, argv, envp);
            if (errno == EACCES) refused = 1;
            else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV) return;
        }
        path += directory;
        if (*path == 0) break;
    }
    errno = refused ? EACCES : ENOENT;
}

/* Returns the step that failed; only on failure. */
static int run(const struct ops_spawn_child *child) {
    const struct ops_spawn_request *request = child->request;
    if (setsid() < 0) return OPS_SPAWN_SESSION;
    if (child->enter_cgroup && write_number(request->cgroup_fd, "cgroup.procs", 0) < 0) return OPS_SPAWN_CGROUP;
    if (request->flags & OPS_SPAWN_SET_NICE && setpriority(PRIO_PROCESS, 0, request->nice) < 0) return OPS_SPAWN_NICE;
    if (request->flags & OPS_SPAWN_SET_IOPRIO &&
        syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, request->ioprio) < 0) return OPS_SPAWN_IOPRIO;
    if (request->flags & OPS_SPAWN_SET_OOM &&
        write_number(AT_FDCWD, "/proc/self/oom_score_adj", request->oom_score) < 0) return OPS_SPAWN_OOM;
    int failed = take_descriptors(request);
    if (failed != OPS_SPAWN_STARTED) return failed;
    /* Before the limits: a small limit of open files counts from what is left open here. */
    if (close_others(request, child->report_fd) < 0) return OPS_SPAWN_DESCRIPTORS;
    if (child->report_fd < 0) limit_time();
    if (set_limits(request) < 0) return OPS_SPAWN_LIMIT;
    if (set_user(request) < 0) return OPS_SPAWN_USER;
    umask(request->umask);
    if (request->directory != NULL && chdir(request->directory) < 0) return OPS_SPAWN_DIRECTORY;
    for (int stream = 0; stream < 3; stream++) {
        if (open_stream(request, stream) < 0) return OPS_SPAWN_STDIN + stream;
    }
    if (reset_signals(child->signals_to_reset) < 0) return OPS_SPAWN_SIGNALS;
    execute(request);
    /* The kernel returns the same error for a missing program and for a script whose interpreter is missing. */
    int error = errno;
    const char *program = request->argv[0];
    int is_script = error == ENOENT && strchr(program, '/') != NULL && access(program, F_OK) == 0;
    errno = error;
    return is_script ? OPS_SPAWN_INTERPRETER : OPS_SPAWN_EXEC;
}

static void report(int fd, int step, int error) {
    const struct ops_spawn_report report = {.step = step, .error = error};
    /* An empty pipe takes the report as a whole. */
    while (write(fd, &report, sizeof report) < 0 && errno == EINTR) {
    }
}

int ops_spawn_child_main(void *context) {
    struct ops_spawn_child *child = context;
    int step = run(child);
    int error = errno;
    if (child->report_fd >= 0) {
        report(child->report_fd, step, error);
    } else {
        child->error = error;
        child->step = step;
    }
    _exit(127);
}
