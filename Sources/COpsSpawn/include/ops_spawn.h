/* Starting one process with everything set before its program runs. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Step at which a start failed; `ops_spawn_step_name` returns its name. */
enum ops_spawn_step {
    OPS_SPAWN_STARTED = 0,
    OPS_SPAWN_REQUEST,
    OPS_SPAWN_CLONE,
    OPS_SPAWN_SESSION,
    OPS_SPAWN_CGROUP,
    OPS_SPAWN_NICE,
    OPS_SPAWN_IOPRIO,
    OPS_SPAWN_OOM,
    OPS_SPAWN_LIMIT,
    OPS_SPAWN_USER,
    OPS_SPAWN_DIRECTORY,
    OPS_SPAWN_STDIN,
    OPS_SPAWN_STDOUT,
    OPS_SPAWN_STDERR,
    OPS_SPAWN_DESCRIPTORS,
    OPS_SPAWN_SIGNALS,
    OPS_SPAWN_EXEC,
    /* The program is there; the interpreter that it names is not. */
    OPS_SPAWN_INTERPRETER,
    /* The program did not run within OPS_SPAWN_SECONDS, and its process was killed; never with `no_start_limit`. */
    OPS_SPAWN_TIME,
    /* The first secret; the second one is the next number. */
    OPS_SPAWN_SECRET = 100,
    /* The first secret is a file of /proc, which is refused; the second one is the next number. */
    OPS_SPAWN_PROC_SECRET = 200,
};

/* Longest time from the clone to the exec, unless `no_start_limit` is set. */
#define OPS_SPAWN_SECONDS 5
const char *ops_spawn_step_name(int step);

/* Source of one of the three standard streams. */
struct ops_spawn_stream {
    /* Opened by the new process with its own credentials, with `open_flags`; NULL: `fd` is used. */
    const char *path;
    int open_flags;
    /* At least 3; stays open in the caller. For stderr -1 means: the same open file as stdout. */
    int fd;
};

struct ops_spawn_limit {
    int resource;
    uint64_t soft;
    uint64_t hard;
};

/* Most bytes of the value of a secret. */
#define OPS_SPAWN_SECRET_SIZE (64 * 1024)

/* A variable whose value the new process reads from a file, with its own credentials. */
struct ops_spawn_secret {
    const char *path;
    /* `NAME=`, in OPS_SPAWN_SECRET_SIZE + 2 bytes more than that. The value is read into them. */
    char *variable;
};

enum ops_spawn_flags {
    OPS_SPAWN_SET_USER = 1,
    OPS_SPAWN_SET_NICE = 2,
    OPS_SPAWN_SET_IOPRIO = 4,
    OPS_SPAWN_SET_OOM = 8,
};

struct ops_spawn_request {
    const char *const *argv;
    /* If argv[0] has no slash, the program is searched in the PATH of this environment. */
    const char **envp;
    /* Their variables are the last ones of `envp`. */
    const struct ops_spawn_secret *secrets;
    size_t secret_count;
    const char *directory;
    mode_t umask;
    unsigned flags;
    struct ops_spawn_stream streams[3];
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t group_count;
    const struct ops_spawn_limit *limits;
    size_t limit_count;
    int nice;
    /* As ioprio_set takes it: class in the upper three of 16 bits. */
    int ioprio;
    int oom_score;
    /* A directory of a cgroup v2 that the process is to be in from its first instruction; -1: none. */
    int cgroup_fd;
    /* 1: ops_spawn waits for the exec for any time. */
    int no_start_limit;
};

struct ops_spawn_result {
    pid_t pid;
    /* OPS_SPAWN_STARTED, or the step that failed with `error`: then no process is left. */
    int step;
    int error;
    /* For ops_spawn_apart: pipe on which the new process reports; see ops_spawn_outcome. */
    int report_fd;
};

/*
 * 0: the program runs in a session of its own. -1: see `result->step`.
 * The caller's thread sleeps until the exec; its other threads do not. Nothing is inherited but the three streams.
 * Only for a process that no other user can stop or delay before its exec: one of the caller's own user.
 */
int ops_spawn(const struct ops_spawn_request *request, struct ops_spawn_result *result);

/*
 * Like ops_spawn, for a process of any user: it shares no memory, and the caller does not wait for it.
 * 0: the process exists, and ops_spawn_outcome tells from `result->report_fd`, which is the caller's to close,
 * whether its program runs. A failed process ends by itself; the caller has to wait for it.
 * Afterwards a fork of the caller, other than by these functions, lacks most of its memory.
 */
int ops_spawn_apart(const struct ops_spawn_request *request, struct ops_spawn_result *result);

/*
 * Reads what a process started by ops_spawn_apart reports, without blocking. 1: `step` and `error` are set, to
 * OPS_SPAWN_STARTED also for a process that died before its exec; 0: nothing is known yet.
 */
int ops_spawn_outcome(int report_fd, int *step, int *error);

/* Forgets which signals this process ignores: the next start reads them again. To be called after each change by
 * another library. */
void ops_spawn_forget_ignored_signals(void);
