/*
 * The parent's side. ops_spawn makes one clone that shares memory and puts the caller to sleep until the exec, so that
 * its cost does not depend on the size of the caller and a failure is reported through plain memory. A process of
 * another user must not be waited for like that: once it has its user's id, that user can stop it, or make it open
 * files that answer late: see spawn_apart.c.
 *
 * Fallbacks: no CLONE_INTO_CGROUP (before Linux 5.7): the child writes itself into cgroup.procs. No CLONE_CLEAR_SIGHAND
 * (before 5.5): it resets every signal itself. No clone3 (before 5.3, or forbidden by a seccomp filter): clone. No
 * close_range (before 5.9): see spawn_child.c.
 */
#define _GNU_SOURCE
#include "copy.h"
#include "ops_spawn.h"
#include "spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GUARD_SIZE 4096

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif

/* The kernel's struct clone_args, version 2; <linux/sched.h> and <sched.h> cannot be used together. */
struct clone3_arguments {
    _Alignas(8) uint64_t flags;
    uint64_t pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

/* Features that this kernel lacks, as this thread has found out. */
_Thread_local unsigned ops_spawn_lacking;

/*
 * Signals that this process ignores, one bit each. CLONE_CLEAR_SIGHAND does not reset these in a new process. They are
 * read from the kernel at the first start, and at the first start after each change made by this library.
 */
static _Atomic uint64_t ignored;
static atomic_int is_ignored_known;

void ops_spawn_forget_ignored_signals(void) { atomic_store(&is_ignored_known, 0); }

static uint64_t ignored_signals(void) {
    /* Set before reading: a change meanwhile is seen at the next start. */
    if (atomic_exchange(&is_ignored_known, 1)) return atomic_load(&ignored);
    uint64_t found = 0;
    for (int number = 1; number <= 64; number++) {
        struct { uint64_t handler, rest[3]; } action = {0};
        if (syscall(SYS_rt_sigaction, number, NULL, &action, 8) < 0 || action.handler != 1 /* SIG_IGN */) continue;
        found |= UINT64_C(1) << (number - 1);
    }
    atomic_store(&ignored, found);
    return found;
}

static pid_t start(struct ops_spawn_child *child, char *stack, uint64_t flags, unsigned lacking) {
    const struct ops_spawn_request *request = child->request;
    int into_cgroup = request->cgroup_fd >= 0 && !(lacking & OPS_SPAWN_INTO_CGROUP);
    if (!(lacking & OPS_SPAWN_CLONE3)) {
        int clears = !(lacking & OPS_SPAWN_CLEAR_SIGHAND);
        struct clone3_arguments arguments = {
            .flags = flags | (into_cgroup ? CLONE_INTO_CGROUP : 0) | (clears ? CLONE_CLEAR_SIGHAND : 0),
            .exit_signal = SIGCHLD,
            .stack = (uint64_t)(uintptr_t)stack,
            .stack_size = OPS_COPY_STACK_SIZE,
            .cgroup = into_cgroup ? (uint64_t)request->cgroup_fd : 0,
        };
        child->enter_cgroup = request->cgroup_fd >= 0 && !into_cgroup;
        child->signals_to_reset = clears ? ignored_signals() : ~UINT64_C(0);
        long pid = ops_clone_call(SYS_clone3, (long)&arguments, sizeof arguments, ops_spawn_child_main, child);
        if (pid >= 0) return (pid_t)pid;
        /* An old kernel fails with E2BIG or EINVAL for an argument that it does not know. */
        if (into_cgroup && (pid == -E2BIG || pid == -EINVAL || pid == -EOPNOTSUPP)) {
            pid_t again = start(child, stack, flags, lacking | OPS_SPAWN_INTO_CGROUP);
            if (again >= 0) ops_spawn_lacking |= OPS_SPAWN_INTO_CGROUP;
            return again;
        }
        if (clears && pid == -EINVAL) {
            pid_t again = start(child, stack, flags, lacking | OPS_SPAWN_CLEAR_SIGHAND);
            if (again >= 0) ops_spawn_lacking |= OPS_SPAWN_CLEAR_SIGHAND;
            return again;
        }
        /* Seccomp filters of older container runtimes fail with EPERM for a call that they do not know. */
        if (pid != -ENOSYS && pid != -EPERM) {
            errno = (int)-pid;
            return -1;
        }
    }
    child->enter_cgroup = request->cgroup_fd >= 0;
    child->signals_to_reset = ~UINT64_C(0);
    long pid = ops_clone_call(
        SYS_clone, (long)flags | SIGCHLD, (long)(stack + OPS_COPY_STACK_SIZE), ops_spawn_child_main, child);
    if (pid < 0) {
        errno = (int)-pid;
        return -1;
    }
    if (!(lacking & OPS_SPAWN_CLONE3)) ops_spawn_lacking |= OPS_SPAWN_CLONE3;
    return (pid_t)pid;
}

int ops_spawn_is_valid(const struct ops_spawn_request *request) {
    if (request->argv == NULL || request->argv[0] == NULL || request->envp == NULL) return 0;
    for (int stream = 0; stream < 3; stream++) {
        int like_stdout = stream == 2 && request->streams[stream].fd == -1;
        if (request->streams[stream].path == NULL && request->streams[stream].fd < 3 && !like_stdout) return 0;
    }
    return 1;
}

/*
 * The stack of the child until its exec, made once: the caller sleeps meanwhile, so one at a time needs it, and three
 * calls into the memory management for each child would cost as much as the clone.
 */
static pthread_mutex_t stack_mutex = PTHREAD_MUTEX_INITIALIZER;
static char *stack;

static int make_stack(void) {
    if (stack != NULL) return 0;
    char *pages = mmap(NULL, GUARD_SIZE + OPS_COPY_STACK_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (pages == MAP_FAILED) return -1;
    if (mprotect(pages + GUARD_SIZE, OPS_COPY_STACK_SIZE, PROT_READ | PROT_WRITE) < 0) {
        int error = errno;
        munmap(pages, GUARD_SIZE + OPS_COPY_STACK_SIZE);
        errno = error;
        return -1;
    }
    stack = pages + GUARD_SIZE;
    return 0;
}

pid_t ops_spawn_clone(struct ops_spawn_child *child, char *stack, uint64_t flags) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    child->lacking = ops_spawn_lacking;
    pid_t pid = start(child, stack, flags, child->lacking);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return pid;
}

static pid_t start_sharing_memory(struct ops_spawn_child *child) {
    pthread_mutex_lock(&stack_mutex);
    pid_t pid = make_stack() < 0 ? -1 : ops_spawn_clone(child, stack, CLONE_VM | CLONE_VFORK);
    int error = errno;
    pthread_mutex_unlock(&stack_mutex);
    errno = error;
    return pid;
}

static void wait_for(pid_t pid) {
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* The process was killed by the timer that it had set for itself, before its program ran. */
static int ran_out_of_time(pid_t pid, const struct timespec *began) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - began->tv_sec < OPS_SPAWN_SECONDS) return 0;
    /* A killed process wakes its parent a moment before it can be waited for. */
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (ended.fd >= 0) {
        poll(&ended, 1, 1000);
        close(ended.fd);
    }
    siginfo_t end = {0};
    if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0) return 0;
    return end.si_pid == pid && end.si_code == CLD_KILLED && end.si_status == SIGKILL;
}

int ops_spawn(const struct ops_spawn_request *request, struct ops_spawn_result *result) {
    *result = (struct ops_spawn_result){.pid = -1, .step = OPS_SPAWN_REQUEST, .error = EINVAL, .report_fd = -1};
    if (!ops_spawn_is_valid(request)) return -1;
    result->step = OPS_SPAWN_CLONE;
    struct ops_spawn_child child = {.request = request, .report_fd = -1};
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    pid_t pid = start_sharing_memory(&child);
    if (pid < 0) {
        result->error = errno;
        return -1;
    }
    result->step = child.step;
    result->error = child.error;
    if (child.step == OPS_SPAWN_STARTED) {
        if (request->no_start_limit || !ran_out_of_time(pid, &began)) {
            result->pid = pid;
            return 0;
        }
        result->step = OPS_SPAWN_TIME;
        result->error = ETIMEDOUT;
    }
    wait_for(pid);
    return -1;
}

const char *ops_spawn_step_name(int step) {
    switch ((enum ops_spawn_step)step) {
    case OPS_SPAWN_STARTED: return "started";
    case OPS_SPAWN_REQUEST: return "request";
    case OPS_SPAWN_CLONE: return "process";
    case OPS_SPAWN_SESSION: return "session";
    case OPS_SPAWN_CGROUP: return "control group";
    case OPS_SPAWN_NICE: return "nice";
    case OPS_SPAWN_IOPRIO: return "I/O priority";
    case OPS_SPAWN_OOM: return "OOM score";
    case OPS_SPAWN_LIMIT: return "resource limit";
    case OPS_SPAWN_USER: return "user";
    case OPS_SPAWN_DIRECTORY: return "directory";
    case OPS_SPAWN_STDIN: return "standard input";
    case OPS_SPAWN_STDOUT: return "standard output";
    case OPS_SPAWN_STDERR: return "standard error";
    case OPS_SPAWN_DESCRIPTORS: return "descriptors";
    case OPS_SPAWN_SIGNALS: return "signals";
    case OPS_SPAWN_EXEC: return "exec";
    case OPS_SPAWN_INTERPRETER: return "interpreter";
    case OPS_SPAWN_TIME: return "start";
    case OPS_SPAWN_SECRET:
    case OPS_SPAWN_PROC_SECRET: return "secret";
    }
    return "unknown";
}
