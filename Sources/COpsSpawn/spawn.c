/*
 * The parent's side. ops_spawn makes one clone that shares memory and puts the caller to sleep until the exec, so that
 * its cost does not depend on the size of the caller and a failure is reported through plain memory. A process of
 * another user must not be waited for like that: once it has its user's id, that user can stop it, or make it open
 * files that answer late. ops_spawn_apart copies the memory instead, and a pipe that the exec closes reports.
 *
 * Fallbacks: no CLONE_INTO_CGROUP (before Linux 5.7): the child writes itself into cgroup.procs. No CLONE_CLEAR_SIGHAND
 * (before 5.5): it resets every signal itself. No clone3 (before 5.3, or forbidden by a seccomp filter): clone. No
 * close_range (before 5.9): see spawn_child.c.
 */
#define _GNU_SOURCE
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

/* Room for PATH_MAX bytes and the calls; the page below is left unmapped. */
#define STACK_SIZE (64 * 1024)
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

/*
 * clone3 with a stack of its own cannot go through syscall(): the child would return into an empty stack. glibc has
 * no public wrapper (2.36), so the child's first call is made here.
 */
static long clone3_call(struct clone3_arguments *arguments, int (*entry)(void *), void *child) {
#if defined(__x86_64__)
    long result;
    register int (*function)(void *) __asm__("r12") = entry;
    register void *argument __asm__("r13") = child;
    __asm__ volatile(
        "syscall\n\t"
        "testq %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xorl %%ebp, %%ebp\n\t"
        "andq $-16, %%rsp\n\t"
        "movq %%r13, %%rdi\n\t"
        "callq *%%r12\n\t"
        "hlt\n"
        "1:"
        : "=a"(result)
        : "a"((long)SYS_clone3), "D"(arguments), "S"(sizeof *arguments), "r"(function), "r"(argument)
        : "rcx", "r11", "memory", "cc");
    return result;
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_clone3;
    register long first __asm__("x0") = (long)arguments;
    register long second __asm__("x1") = sizeof *arguments;
    register int (*function)(void *) __asm__("x19") = entry;
    register void *argument __asm__("x20") = child;
    __asm__ volatile(
        "svc #0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x29, xzr\n\t"
        "mov x0, x20\n\t"
        "blr x19\n\t"
        "brk #0\n"
        "1:"
        : "+r"(first)
        : "r"(number), "r"(second), "r"(function), "r"(argument)
        : "memory", "cc");
    return first;
#else
    (void)arguments, (void)entry, (void)child;
    return -ENOSYS;
#endif
}

/* Features that this kernel is known to lack. */
static atomic_uint lacking;

/*
 * Signals that this process ignores, one bit each. CLONE_CLEAR_SIGHAND does not reset these in a new process. They are
 * read from the kernel at the first start, and at the first start after each change made by this library.
 */
static _Atomic uint64_t ignored;
static atomic_int is_ignored_known;

void ops_spawn_ask_signals(void) { atomic_store(&is_ignored_known, 0); }

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

/* `stack` NULL: the child gets a copy of the memory, the stack included, and the caller continues at once. */
static pid_t start(struct ops_spawn_child *child, char *stack, unsigned without) {
    const struct ops_spawn_request *request = child->request;
    uint64_t flags = stack == NULL ? 0 : CLONE_VM | CLONE_VFORK;
    int into_cgroup = request->cgroup_fd >= 0 && !(without & OPS_SPAWN_WITHOUT_INTO_CGROUP);
    if (!(without & OPS_SPAWN_WITHOUT_CLONE3)) {
        int clears = !(without & OPS_SPAWN_WITHOUT_CLEAR_SIGHAND);
        struct clone3_arguments arguments = {
            .flags = flags | (into_cgroup ? CLONE_INTO_CGROUP : 0) | (clears ? CLONE_CLEAR_SIGHAND : 0),
            .exit_signal = SIGCHLD,
            .stack = (uint64_t)(uintptr_t)stack,
            .stack_size = stack == NULL ? 0 : STACK_SIZE,
            .cgroup = into_cgroup ? (uint64_t)request->cgroup_fd : 0,
        };
        child->enter_cgroup = request->cgroup_fd >= 0 && !into_cgroup;
        child->signals_to_reset = clears ? ignored_signals() : ~UINT64_C(0);
        long pid = clone3_call(&arguments, ops_spawn_child_main, child);
        if (pid >= 0) return (pid_t)pid;
        /* An old kernel fails with E2BIG or EINVAL for an argument that it does not know. */
        if (into_cgroup && (pid == -E2BIG || pid == -EINVAL || pid == -EOPNOTSUPP)) {
            pid_t again = start(child, stack, without | OPS_SPAWN_WITHOUT_INTO_CGROUP);
            if (again >= 0) atomic_fetch_or(&lacking, OPS_SPAWN_WITHOUT_INTO_CGROUP);
            return again;
        }
        if (clears && pid == -EINVAL) {
            pid_t again = start(child, stack, without | OPS_SPAWN_WITHOUT_CLEAR_SIGHAND);
            if (again >= 0) atomic_fetch_or(&lacking, OPS_SPAWN_WITHOUT_CLEAR_SIGHAND);
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
    pid_t pid;
    if (stack == NULL) {
        /* Like fork, without the handlers of the C library in the child. The order of the last arguments differs
         * between machines; all are 0. */
        pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
        if (pid == 0) ops_spawn_child_main(child);
    } else {
        pid = clone(ops_spawn_child_main, stack + STACK_SIZE, (int)flags | SIGCHLD, child);
    }
    if (pid >= 0 && !(without & OPS_SPAWN_WITHOUT_CLONE3)) atomic_fetch_or(&lacking, OPS_SPAWN_WITHOUT_CLONE3);
    return pid;
}

static int is_valid(const struct ops_spawn_request *request) {
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
    char *pages = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (pages == MAP_FAILED) return -1;
    if (mprotect(pages + GUARD_SIZE, STACK_SIZE, PROT_READ | PROT_WRITE) < 0) {
        int error = errno;
        munmap(pages, GUARD_SIZE + STACK_SIZE);
        errno = error;
        return -1;
    }
    stack = pages + GUARD_SIZE;
    return 0;
}

/* Starts the child with every signal of this thread blocked: no handler of this process may run in the child. */
static pid_t start_blocked(struct ops_spawn_child *child, int shares_memory) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t pid;
    if (shares_memory) {
        pthread_mutex_lock(&stack_mutex);
        pid = make_stack() < 0 ? -1 : start(child, stack, child->request->flags | atomic_load(&lacking));
    } else {
        pid = start(child, NULL, child->request->flags | atomic_load(&lacking));
    }
    int error = errno;
    if (shares_memory) pthread_mutex_unlock(&stack_mutex);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
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
    if (!is_valid(request)) return -1;
    result->step = OPS_SPAWN_CLONE;
    struct ops_spawn_child child = {.request = request, .report_fd = -1};
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    pid_t pid = start_blocked(&child, 1);
    if (pid < 0) {
        result->error = errno;
        return -1;
    }
    result->step = child.step;
    result->error = child.error;
    if (child.step == OPS_SPAWN_STARTED) {
        if (!ran_out_of_time(pid, &began)) {
            result->pid = pid;
            return 0;
        }
        result->step = OPS_SPAWN_TIME;
        result->error = ETIMEDOUT;
    }
    wait_for(pid);
    return -1;
}

int ops_spawn_apart(const struct ops_spawn_request *request, struct ops_spawn_result *result) {
    *result = (struct ops_spawn_result){.pid = -1, .step = OPS_SPAWN_REQUEST, .error = EINVAL, .report_fd = -1};
    if (!is_valid(request)) return -1;
    result->step = OPS_SPAWN_CLONE;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        result->error = errno;
        return -1;
    }
    struct ops_spawn_child child = {.request = request, .report_fd = ends[1]};
    pid_t pid = start_blocked(&child, 0);
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        result->error = error;
        return -1;
    }
    *result = (struct ops_spawn_result){.pid = pid, .step = OPS_SPAWN_STARTED, .report_fd = ends[0]};
    return 0;
}

int ops_spawn_outcome(int report_fd, int *step, int *error) {
    struct ops_spawn_report report;
    ssize_t count;
    do count = read(report_fd, &report, sizeof report);
    while (count < 0 && errno == EINTR);
    if (count < 0 && errno == EAGAIN) return 0;
    *step = OPS_SPAWN_STARTED;
    *error = 0;
    /* So few bytes are written whole or not at all. */
    if (count == sizeof report) {
        *step = report.step;
        *error = report.error;
    }
    return 1;
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
    }
    return "unknown";
}
