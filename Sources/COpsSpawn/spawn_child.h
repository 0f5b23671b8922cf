/* The new process's side: after ops_spawn it shares its memory with the caller until the exec, after ops_spawn_apart it
 * has a copy of a part of it. */
#pragma once
#include "ops_spawn.h"

/* Features of the kernel with a fallback. */
enum ops_spawn_feature {
    OPS_SPAWN_CLONE3 = 1,
    OPS_SPAWN_INTO_CGROUP = 2,
    OPS_SPAWN_CLOSE_RANGE = 4,
    OPS_SPAWN_CLEAR_SIGHAND = 8,
};

struct ops_spawn_child {
    const struct ops_spawn_request *request;
    /* Features that the kernel is known to lack. */
    unsigned lacking;
    /* Written by the child, read by the parent once it wakes. */
    volatile int step;
    volatile int error;
    /* The child still has to move itself into the cgroup. */
    int enter_cgroup;
    /* A bit for each signal that may not be at its default. */
    uint64_t signals_to_reset;
    /* Where to write a struct ops_spawn_report when something fails; -1: into this struct, which the parent reads. */
    int report_fd;
};

/* Report through the pipe; none if the program runs. */
struct ops_spawn_report {
    int step;
    int error;
};

/* Returns whether the request can be carried out at all. */
int ops_spawn_is_valid(const struct ops_spawn_request *request);
/* Clones the child with every signal of this thread blocked: no handler of this process may run in it. `stack`: lowest
 * address of OPS_COPY_STACK_SIZE bytes. `flags`: of clone, for the memory. -1: see errno. */
pid_t ops_spawn_clone(struct ops_spawn_child *child, char *stack, uint64_t flags);
/* For clone: takes a struct ops_spawn_child and never returns. */
int ops_spawn_child_main(void *child);
