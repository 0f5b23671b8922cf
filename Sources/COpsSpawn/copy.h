/*
 * Copies of this process that do one thing and never return. A fork copies the tables of the whole memory, and each page
 * that this process writes to afterwards costs a fault; of that, such a copy needs next to nothing. So the rest of the
 * memory is left out of it (MADV_DONTFORK), for good: nothing but what is declared here may fork this process afterwards.
 *
 * A copy has the code of this program, constants that are declared with OPS_IN_COPY, a stack, and a room: a block of
 * memory with everything that its task needs. It must not use what lies elsewhere, nor call the C library: its functions
 * make system calls through raw_call.h. `make lint` checks what they refer to.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#define OPS_IN_COPY __attribute__((section("ops_in_copy")))
#define OPS_COPY_STACK_SIZE (64 * 1024)

/* Returns the room of the next copy: `size` bytes, aligned for every type, with what was in them before. NULL: see errno.
 * To be followed by ops_copy_end on the same thread; other threads wait meanwhile. */
void *ops_copy_begin(size_t size);
/* Returns the lowest address of the stack, and leaves out of the copy what it does not need. */
char *ops_copy_stack(void);
void ops_copy_end(void);

/*
 * clone and clone3 for a child that calls `entry` on a stack of its own. Negative: an errno. `first` and `second`: the
 * arguments of the call, for clone flags and the end of the stack.
 */
long ops_clone_call(long number, long first, long second, int (*entry)(void *), void *context);
