#define _GNU_SOURCE
#include "copy.h"
#include "raw_call.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>

/* Room that is kept for the next copy. */
#define USUAL_ROOM (64 * 1024)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Guard, stack and room, one after the other. */
static char *block;
static size_t block_size;

static uintptr_t page_size(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }
static size_t before_room(void) { return page_size() + OPS_COPY_STACK_SIZE; }

static void drop_block(void) {
    if (block != NULL) munmap(block, block_size);
    block = NULL;
    block_size = 0;
}

static int make_block(size_t room) {
    size_t size = (before_room() + room + page_size() - 1) / page_size() * page_size();
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return -1;
    if (mprotect(pages, page_size(), PROT_NONE) < 0) {
        int error = errno;
        munmap(pages, size);
        errno = error;
        return -1;
    }
    block = pages;
    block_size = size;
    return 0;
}

void *ops_copy_begin(size_t size) {
    pthread_mutex_lock(&mutex);
    if (block_size < before_room() + size) drop_block();
    if (block == NULL && make_block(size < USUAL_ROOM ? USUAL_ROOM : size) < 0) {
        pthread_mutex_unlock(&mutex);
        return NULL;
    }
    return block + before_room();
}

void ops_copy_end(void) {
    /* The memory of a large request goes back at once. */
    if (block_size > before_room() + USUAL_ROOM) drop_block();
    pthread_mutex_unlock(&mutex);
}

#if RAW_CALLS
/* Made by the linker: begin of the program or library that this file is in, end of its code, and its OPS_IN_COPY. */
#define HIDDEN __attribute__((visibility("hidden")))
extern const char __ehdr_start[] HIDDEN, etext[] HIDDEN, __start_ops_in_copy[] HIDDEN, __stop_ops_in_copy[] HIDDEN;

/* Place of the area that glibc registers for the thread (since 2.35): the kernel writes to it when a thread, and so a copy
 * of it, goes to another CPU. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
/* No less than the area, now and in the kernels to come that this program does not know. */
#define RSEQ_SIZE 256

static uintptr_t thread_pointer(void) {
    uintptr_t pointer;
#if defined(__x86_64__)
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
#else
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
}

/* Addresses from `from` to before `to`. */
struct range {
    uintptr_t from, to;
};

static struct range pages_of(uintptr_t from, uintptr_t to) {
    uintptr_t size = page_size();
    return (struct range){from / size * size, (to + size - 1) / size * size};
}

static void leave_out(uintptr_t from, uintptr_t to) {
    /* ENOMEM: there are holes. After any other failure the copy has more than it needs. */
    if (from < to) madvise((void *)from, to - from, MADV_DONTFORK);
}

/* Copies with new memory in them, before that is left out too: a look at all mappings takes ten microseconds. */
#define MOST_COPIES 64

static void leave_out_rest(void) {
    static uintptr_t last_rseq;
    static int copies;
    uintptr_t rseq = thread_pointer() + (uintptr_t)(&__rseq_offset == NULL ? 0 : __rseq_offset);
    if (rseq == last_rseq && copies++ < MOST_COPIES) return;
    last_rseq = rseq;
    copies = 0;
    struct range kept[] = {
        pages_of((uintptr_t)__ehdr_start, (uintptr_t)etext),
        pages_of((uintptr_t)__start_ops_in_copy, (uintptr_t)__stop_ops_in_copy),
        pages_of(rseq, rseq + RSEQ_SIZE),
        pages_of((uintptr_t)block + page_size(), (uintptr_t)block + block_size),
    };
    uintptr_t from = page_size();
    while (1) {
        const struct range *next = NULL;
        for (int index = 0; index < (int)(sizeof kept / sizeof *kept); index++) {
            if (kept[index].to > from && (next == NULL || kept[index].from < next->from)) next = &kept[index];
        }
        if (next == NULL) break;
        leave_out(from, next->from);
        from = next->to;
    }
    leave_out(from, UINTPTR_MAX / 2 / page_size() * page_size());
    /* Another thread may have left out the area of this one. */
    for (int index = 0; index < (int)(sizeof kept / sizeof *kept); index++) {
        madvise((void *)kept[index].from, kept[index].to - kept[index].from, MADV_DOFORK);
    }
}
#else
static void leave_out_rest(void) {}
#endif

char *ops_copy_stack(void) {
    leave_out_rest();
    return block + page_size();
}

/* Neither call can go through the C library: the child would return into an empty stack, or into memory it lacks. */
long ops_clone_call(long number, long first, long second, int (*entry)(void *), void *context) {
#if defined(__x86_64__)
    long result;
    register int (*function)(void *) __asm__("r12") = entry;
    register void *argument __asm__("r13") = context;
    register long fourth __asm__("r10") = 0;
    register long fifth __asm__("r8") = 0;
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
        : "a"(number), "D"(first), "S"(second), "d"(0L), "r"(function), "r"(argument), "r"(fourth), "r"(fifth)
        : "rcx", "r11", "memory", "cc");
    return result;
#elif defined(__aarch64__)
    register long call __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = 0;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    register int (*function)(void *) __asm__("x19") = entry;
    register void *argument __asm__("x20") = context;
    __asm__ volatile(
        "svc #0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x29, xzr\n\t"
        "mov x0, x20\n\t"
        "blr x19\n\t"
        "brk #0\n"
        "1:"
        : "+r"(x0)
        : "r"(call), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(function), "r"(argument)
        : "memory", "cc");
    return x0;
#else
    if (number != SYS_clone) return -ENOSYS;
    long pid = clone(entry, (void *)second, (int)first, context);
    return pid < 0 ? -errno : pid;
#endif
}
