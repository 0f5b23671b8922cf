/* The process that reads files for ops_start_reader. It is a copy of its caller: see copy.h. */
#define _GNU_SOURCE
#include "read_child.h"
#include "ops_kernel.h"
#include "raw_call.h"

#define MOST_BYTES (4 << 20)

struct packet {
    unsigned char kind;
    char bytes[16 * 1024];
};

static void send_packet(struct packet *packet, int kind, long size) {
    packet->kind = (unsigned char)kind;
    if (raw_write(0, packet, 1 + (size_t)size) < 0) raw_exit(0);
}

/* Returns how often this process has slept. The times at which it was preempted do not count. */
static long sleeps(void) {
    struct rusage usage;
    return raw_call(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0) < 0 ? 0 : usage.ru_nvcsw;
}

static void answer(const char *path) {
    struct packet packet;
    long rest = MOST_BYTES;
    long before = sleeps();
    int fd = raw_open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC, 0);
    long count = fd;
    while (fd >= 0 && (count = raw_read(fd, packet.bytes, sizeof packet.bytes)) > 0) {
        rest -= count;
        if (rest < 0) break;
        send_packet(&packet, OPS_READER_MORE, count);
    }
    /* Before the last packet: the caller relies on it that this process waits for nothing else afterwards. */
    if (fd >= 0) raw_close(fd);
    int waited = sleeps() != before ? OPS_READER_WAITED : 0;
    send_packet(&packet, (count == 0 ? OPS_READER_END : OPS_READER_FAILED) | waited, 0);
}

int ops_read_in_copy(void *context) {
    const struct ops_reading *reading = context;
    if (reading->socket != 0 && raw_duplicate(reading->socket, 0) < 0) raw_exit(1);
    /* This process may stay for long, and must not keep locks and sockets of its caller open meanwhile. */
    raw_close_all_but_first();
    for (;;) {
        char path[OPS_READER_PATH + 1];
        long count = raw_read(0, path, OPS_READER_PATH);
        if (count <= 0) raw_exit(0);
        path[count] = 0;
        answer(path);
    }
}
