/*
 * Between clone and exec, on the caller's memory or a copy of a part of it: see copy.h. Nothing here calls the C library,
 * whose setuid and its like would also change the caller's threads.
 *
 * Order matters: what needs the caller's privileges comes before the user is set, what must be done with the
 * operation's own rights (directory, files, program) after it.
 */
#define _GNU_SOURCE
#include "copy.h"
#include "raw_call.h"
#include "spawn_child.h"

#include <limits.h>
#include <linux/keyctl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

#define IOPRIO_WHO_PROCESS 1

static const char group_members[] OPS_IN_COPY = "cgroup.procs";
static const char oom_score[] OPS_IN_COPY = "/proc/self/oom_score_adj";
static const char open_files[] OPS_IN_COPY = "/proc/self/fd";
static const char path_variable[] OPS_IN_COPY = "PATH=";
static const char usual_path[] OPS_IN_COPY = "/usr/local/bin:/usr/bin:/bin";
/* All zero is SIG_DFL in the kernel's own struct, which is shorter than this on every machine. */
static const char default_action[64] OPS_IN_COPY = {0};
static const uint64_t no_signals OPS_IN_COPY = 0;
static const struct sigevent time_is_over OPS_IN_COPY = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
static const struct itimerspec longest_start OPS_IN_COPY = {.it_value = {.tv_sec = OPS_SPAWN_SECONDS}};

static int write_number(int directory, const char *path, int number) {
    char text[16];
    size_t start = sizeof text;
    unsigned rest = number < 0 ? 0u - (unsigned)number : (unsigned)number;
    do {
        text[--start] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) text[--start] = '-';
    int fd = raw_open_at(directory, path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0) return fd;
    long written = raw_write(fd, text + start, sizeof text - start);
    raw_close(fd);
    return written < 0 ? (int)written : 0;
}

/* The descriptors of the request come first: after that all others can be closed. Returns the stream that failed. */
static int duplicate_descriptors(const struct ops_spawn_request *request, int *error) {
    for (int stream = 0; stream < 3; stream++) {
        const struct ops_spawn_stream *from = &request->streams[stream];
        if (from->path != NULL || from->fd < 0) continue;
        if ((*error = raw_duplicate(from->fd, stream)) < 0) return stream;
    }
    return -1;
}

/* Without close_range: closes the descriptors that /proc lists, so that the limit of open files does not matter. */
static int close_listed(int kept) {
    int directory = raw_open(open_files, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (directory < 0) return directory;
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
        long count = raw_call(SYS_lseek, directory, 0, SEEK_SET);
        if (count < 0) return (int)count;
        while ((count = raw_call(SYS_getdents64, directory, (long)buffer, sizeof buffer)) > 0) {
            for (long at = 0; at < count;) {
                struct entry *entry = (struct entry *)(buffer + at);
                at += entry->length;
                int fd = 0;
                const char *digit = entry->name;
                while (*digit >= '0' && *digit <= '9') fd = fd * 10 + (*digit++ - '0');
                if (digit == entry->name || *digit != 0 || fd < 3 || fd == directory || fd == kept) continue;
                raw_close(fd);
                closed = 1;
            }
        }
        if (count < 0) return (int)count;
    } while (closed);
    raw_close(directory);
    return 0;
}

/* Closes all but the streams and `kept`, which is -1 or at least 3. */
static int close_others(unsigned lacking, int kept) {
    if (!(lacking & OPS_SPAWN_CLOSE_RANGE)) {
        int error = raw_close_range(kept < 0 ? 3u : (unsigned)kept + 1, ~0u);
        if (error == 0 && kept >= 0) error = raw_close_range(3u, (unsigned)kept - 1);
        if (error != -ENOSYS && error != -EPERM) return error;
    }
    return close_listed(kept);
}

/*
 * The caller sleeps until the exec, and a file may answer late or never: the process that shares its memory kills itself
 * when its time is over. The kernel deletes the timer at the exec.
 */
static void limit_time(void) {
    /* Number of the timer in the kernel, which is not that of the C library. */
    int timer;
    /* If there is no timer, a start without a bound is better than none. */
    if (raw_call(SYS_timer_create, CLOCK_MONOTONIC, (long)&time_is_over, (long)&timer) < 0) return;
    raw_call5(SYS_timer_settime, timer, 0, (long)&longest_start, 0, 0);
}

static int open_stream(const struct ops_spawn_request *request, int stream) {
    const struct ops_spawn_stream *from = &request->streams[stream];
    if (from->path == NULL) return from->fd >= 0 ? 0 : raw_duplicate(1, 2);
    /* The caller may sleep meanwhile: a FIFO without a peer must not delay it. */
    int fd = raw_open(from->path, from->open_flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0) return fd;
    int error = fd == stream ? raw_fcntl(fd, F_SETFD, 0) : raw_duplicate(fd, stream);
    if (error < 0) return error;
    if (fd > 2) raw_close(fd);
    int flags = raw_fcntl(stream, F_GETFL, 0);
    return flags < 0 ? flags : raw_fcntl(stream, F_SETFL, flags & ~O_NONBLOCK);
}

/*
 * Reads the value of a secret behind its name. Only a regular file has one: a FIFO or a terminal could delay the caller.
 * 1: the file belongs to /proc and is refused. This process still has memory of the caller, whose addresses a file such as
 * /proc/self/maps contains.
 */
static int read_secret(const struct ops_spawn_secret *secret) {
    char *value = secret->variable;
    while (*value != '=') value++;
    value++;
    int fd = raw_open(secret->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    if (fd < 0) return fd;
    struct stat status;
    int error = raw_status(fd, &status);
    if (error < 0) return error;
    if (!S_ISREG(status.st_mode)) return -EINVAL;
    struct statfs file_system;
    error = raw_file_system_status(fd, &file_system);
    if (error < 0) return error;
    if (file_system.f_type == PROC_SUPER_MAGIC) return 1;
    long size = 0;
    for (;;) {
        long count = raw_call(SYS_read, fd, (long)(value + size), OPS_SPAWN_SECRET_SIZE + 1 - size);
        if (count == -EINTR) continue;
        if (count < 0) return (int)count;
        if (count == 0) break;
        size += count;
        if (size > OPS_SPAWN_SECRET_SIZE) return -EFBIG;
    }
    raw_close(fd);
    if (size > 0 && value[size - 1] == '\n') size--;
    value[size] = 0;
    for (long at = 0; at < size; at++) {
        if (value[at] == 0) return -EINVAL;
    }
    return 0;
}

static int set_limits(const struct ops_spawn_request *request) {
    for (size_t index = 0; index < request->limit_count; index++) {
        const struct ops_spawn_limit *from = &request->limits[index];
        const uint64_t limit[2] = {from->soft, from->hard};
        int error = raw_set_limit(from->resource, limit);
        if (error < 0) return error;
    }
    return 0;
}

static int set_user(const struct ops_spawn_request *request) {
    /* Ambient capabilities that a service manager gave to the caller are not passed on. EINVAL: before Linux 4.3. */
    long error = raw_call5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (error < 0 && error != -EINVAL) return (int)error;
    if (!(request->flags & OPS_SPAWN_SET_USER)) return 0;
    /* The keys of one user are not for the next one. A machine without keys, or a filter of calls, has none to share. */
    error = raw_call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0);
    if (error < 0 && error != -ENOSYS && error != -EPERM) return (int)error;
    error = raw_call(SYS_setgroups, (long)request->group_count, (long)request->groups, 0);
    if (error == 0) error = raw_call(SYS_setresgid, request->gid, request->gid, request->gid);
    if (error == 0) error = raw_call(SYS_setresuid, request->uid, request->uid, request->uid);
    return (int)error;
}

/* Every signal to its default, then none blocked. */
static int reset_signals(uint64_t numbers) {
    for (int number = 1; number <= 64; number++) {
        if (number == SIGKILL || number == SIGSTOP || !(numbers >> (number - 1) & 1)) continue;
        long error = raw_call5(SYS_rt_sigaction, number, (long)default_action, 0, 8, 0);
        if (error < 0) return (int)error;
    }
    return (int)raw_call5(SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0, sizeof no_signals, 0);
}

static const char *search_path(const char **envp) {
    for (; *envp != NULL; envp++) {
        const char *value = *envp;
        for (const char *name = path_variable; *name != 0 && *value == *name; name++) value++;
        if (value == *envp + sizeof path_variable - 1) return value;
    }
    return usual_path;
}

static int has_slash(const char *program) {
    while (*program != 0 && *program != '/') program++;
    return *program == '/';
}

/* Writes `directory`, a slash and `program` to `to`, unless they are too long for it. An empty element of a PATH is the
 * current directory. Returns the end of the element. */
static const char *candidate_in(const char *directory, const char *program, char *to, size_t size) {
    size_t length = 0;
    size_t end = 0;
    for (; directory[length] != 0 && directory[length] != ':'; length++) {
        if (end < size) to[end++] = directory[length];
    }
    if (length > 0 && end < size) to[end++] = '/';
    for (const char *next = program; *next != 0; next++) {
        if (end < size) to[end++] = *next;
    }
    if (end < size) to[end] = 0;
    else to[0] = 0;
    return directory + length;
}

/* Searches for a program as execvpe does, but never passes a file of unknown format to a shell. Returns an error. */
static int execute(const struct ops_spawn_request *request) {
    const char *program = request->argv[0];
    if (*program == 0) return -ENOENT;
    if (has_slash(program)) return (int)raw_call(SYS_execve, (long)program, (long)request->argv, (long)request->envp);
    int refused = 0;
    for (const char *path = search_path(request->envp);; path++) {
        char candidate[PATH_MAX];
        path = candidate_in(path, program, candidate, sizeof candidate);
        /* ENOENT for the empty name of a candidate that is too long. */
        long error = raw_call(SYS_execve, (long)candidate, (long)request->argv, (long)request->envp);
        if (error == -EACCES) refused = 1;
        else if (error != -ENOENT && error != -ENOTDIR && error != -ESTALE && error != -ENODEV) return (int)error;
        if (*path == 0) return refused ? -EACCES : -ENOENT;
    }
}

/* Returns the step that failed, with a negative errno; only on failure. */
static int run(const struct ops_spawn_child *child, int *error) {
    const struct ops_spawn_request *request = child->request;
    if ((*error = (int)raw_call(SYS_setsid, 0, 0, 0)) < 0) return OPS_SPAWN_SESSION;
    if (child->enter_cgroup && (*error = write_number(request->cgroup_fd, group_members, 0)) < 0)
        return OPS_SPAWN_CGROUP;
    if (request->flags & OPS_SPAWN_SET_NICE &&
        (*error = (int)raw_call(SYS_setpriority, PRIO_PROCESS, 0, request->nice)) < 0) return OPS_SPAWN_NICE;
    if (request->flags & OPS_SPAWN_SET_IOPRIO &&
        (*error = (int)raw_call(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, request->ioprio)) < 0) return OPS_SPAWN_IOPRIO;
    if (request->flags & OPS_SPAWN_SET_OOM &&
        (*error = write_number(AT_FDCWD, oom_score, request->oom_score)) < 0) return OPS_SPAWN_OOM;
    int failed = duplicate_descriptors(request, error);
    if (failed >= 0) return OPS_SPAWN_STDIN + failed;
    /* Before the limits: a small limit of open files counts from what is left open here. */
    if ((*error = close_others(child->lacking, child->report_fd)) < 0) return OPS_SPAWN_DESCRIPTORS;
    if (child->report_fd < 0 && !request->no_start_limit) limit_time();
    if ((*error = set_user(request)) < 0) return OPS_SPAWN_USER;
    /* As that user, who cannot go beyond the limits of the caller. */
    if ((*error = set_limits(request)) < 0) return OPS_SPAWN_LIMIT;
    raw_call(SYS_umask, request->umask, 0, 0);
    if (request->directory != NULL && (*error = (int)raw_call(SYS_chdir, (long)request->directory, 0, 0)) < 0)
        return OPS_SPAWN_DIRECTORY;
    for (size_t index = 0; index < request->secret_count; index++) {
        if ((*error = read_secret(&request->secrets[index])) < 0) return OPS_SPAWN_SECRET + (int)index;
        if (*error == 0) continue;
        *error = -EPERM;
        return OPS_SPAWN_PROC_SECRET + (int)index;
    }
    for (int stream = 0; stream < 3; stream++) {
        if ((*error = open_stream(request, stream)) < 0) return OPS_SPAWN_STDIN + stream;
    }
    if ((*error = reset_signals(child->signals_to_reset)) < 0) return OPS_SPAWN_SIGNALS;
    *error = execute(request);
    /* The kernel returns the same error for a missing program and for a script whose interpreter is missing. */
    const char *program = request->argv[0];
    int is_script = *error == -ENOENT && has_slash(program) &&
        raw_call(SYS_faccessat, AT_FDCWD, (long)program, F_OK) == 0;
    return is_script ? OPS_SPAWN_INTERPRETER : OPS_SPAWN_EXEC;
}

static void report(int fd, int step, int error) {
    const struct ops_spawn_report report = {.step = step, .error = error};
    /* An empty pipe takes the report as a whole. */
    while (raw_write(fd, &report, sizeof report) == -EINTR) {
    }
}

int ops_spawn_child_main(void *context) {
    struct ops_spawn_child *child = context;
    int error = 0;
    int step = run(child, &error);
    if (child->report_fd >= 0) {
        report(child->report_fd, step, -error);
    } else {
        child->error = -error;
        child->step = step;
    }
    raw_exit(127);
}
