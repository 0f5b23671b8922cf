// tiny: the smallest programs that a measurement needs. `scripts/bench` compiles it, statically, so that nothing of the
// Swift runtime or of the dynamic linker is in its times.
//
//   tiny echo SOCKET [FILE]    a server: sends each NUL-ended message back, where FILE is given after appending it
//                              there and waiting for the disk; `load` is its client
//   tiny stamp FILE            appends a line to FILE: when this program began and ended, in seconds
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what) {
    fprintf(stderr, "tiny: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static int append_to(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) die(path);
    return file;
}

// One client after the other, one message at a time.
static void echo(const char *path, const char *log) {
    static char buffer[1 << 16];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 16) < 0) die(path);
    int file = log ? append_to(log) : -1;
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0) die("accept");
        size_t held = 0;
        ssize_t size;
        while ((size = recv(client, buffer + held, sizeof buffer - held, 0)) > 0) {
            held += size;
            if (buffer[held - 1] != 0) continue;
            if (file >= 0 && (write(file, buffer, held) < 0 || fdatasync(file) < 0)) die(log);
            if (send(client, buffer, held, MSG_NOSIGNAL) < 0) break;
            held = 0;
        }
        close(client);
    }
}

static void stamp(const char *path, double begun) {
    char line[64];
    int file = append_to(path);
    int size = snprintf(line, sizeof line, "%.6f %.6f\n", begun, now());
    if (write(file, line, size) != size) die(path);
}

int main(int argc, char **argv) {
    double begun = now();
    if (argc == 3 && strcmp(argv[1], "stamp") == 0) stamp(argv[2], begun);
    else if ((argc == 3 || argc == 4) && strcmp(argv[1], "echo") == 0) echo(argv[2], argv[3]);
    else {
        fprintf(stderr, "usage: see the first lines of Benchmarks/Tiny/main.c\n");
        return 2;
    }
    return 0;
}
