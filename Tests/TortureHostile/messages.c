// Attacks by messages to the runner.
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int send_to(const char *path, const char *message, size_t size, int flags) {
    static int descriptor = -1;
    if (descriptor < 0) descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (descriptor < 0 || length >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path, path, length);
    socklen_t total = offsetof(struct sockaddr_un, sun_path) + length;
    if (path[0] == '@') address.sun_path[0] = 0;
    else total++;
    return sendto(descriptor, message, size, flags, (struct sockaddr *)&address, total);
}

static size_t long_message(char *message, size_t size, const char *name) {
    size_t length = snprintf(message, size, "%s=%s ", name, mine);
    size_t end = strlen(name) + 1 + 4096;
    while (length < end) message[length++] = 'x';
    return length;
}

void flood(long milliseconds) {
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path) return;
    char message[8192];
    size_t size = long_message(message, sizeof message, "STATUS");
    long long end = now() + milliseconds;
    long sent = 0;
    while (now() < end)
        for (int i = 0; i < 100; i++) sent += send_to(path, message, size, MSG_DONTWAIT) >= 0;
    tally("messages of 4 KiB", sent);
}

void give_result(void) {
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path) return;
    char message[8192];
    size_t size = long_message(message, sizeof message, "X_OPS_RESULT");
    tally("results of 4 KiB", send_to(path, message, size, 0) >= 0);
    // The sender is still there when it is asked for.
    rest(5);
}

// Everything that an operation can say of itself, and ends that no honest operation has.
static void forge_to(const char *path, long *sent) {
    static const char *messages[] = {
        "STATUS=" mine, "X_OPS_RESULT=" mine, "X_OPS_PROGRESS=4711/4711", "EXTEND_TIMEOUT_USEC=86400000000",
        "X_OPS_FINISHED=0\nX_OPS_RESULT=" mine, "X_OPS_FINISHED=99",
    };
    for (unsigned i = 0; i < sizeof messages / sizeof *messages; i++)
        *sent += send_to(path, messages[i], strlen(messages[i]), MSG_DONTWAIT) >= 0;
}

void forge(long milliseconds, const char *socket) {
    char address[128];
    if (socket[0]) snprintf(address, sizeof address, "%s", socket);
    else if (!known_address(address, sizeof address)) return;
    // All sockets of a runner begin alike; the kernel names them to everybody.
    char *slash = strrchr(address, '/');
    if (!slash) return;
    slash[1] = 0;
    long long end = now() + milliseconds;
    long sent = 0;
    while (now() < end) {
        FILE *sockets = fopen("/proc/net/unix", "re");
        char line[512];
        while (sockets && fgets(line, sizeof line, sockets)) {
            char *path = strrchr(line, ' ');
            if (!path || strncmp(path + 1, address, strlen(address)) != 0) continue;
            path[strcspn(path, "\n")] = 0;
            forge_to(path + 1, &sent);
        }
        if (sockets) fclose(sockets);
        rest(3);
    }
    tally("forged messages", sent);
}
