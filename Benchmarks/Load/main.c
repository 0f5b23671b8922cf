// load: clients of the control socket, as many and as fast as asked. Each mode prints one line of figures.
//
//   load submit SOCKET CLIENTS COUNT     COUNT one-operation submissions (held), each client one after the other
//   load status SOCKET COUNT             COUNT status calls: median and 99th percentile in milliseconds
//   load calls SOCKET FIRST COUNT CALL   COUNT such calls, one after the other; each # in CALL is a number, from FIRST on
//   load beside SOCKET CMD ARG...        status calls, a millisecond apart, while a program runs: the same, and the longest
//   load stamp                           OPS_ID and the nanoseconds since boot, at once
//   load start SOCKET CMD ARG...         milliseconds from the start of a server until it has answered a status call
//   load until FILE COUNT CMD ARG...     COUNT times: milliseconds from the start of a program until somebody writes to
//                                        FILE, which is made as a FIFO
//   load watch SOCKET WATCHERS CLIENTS COUNT   as submit, while WATCHERS watch: events that each of them got
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SUBMIT "{\"method\":\"org.opsd.Control.Submit\",\"parameters\":{\"operations\":[{\"command\":[\"true\"],\"held\":true}]}}"
#define STATUS "{\"method\":\"org.opsd.Control.Status\",\"parameters\":{}}"
#define WATCH "{\"method\":\"org.opsd.Control.Watch\",\"parameters\":{\"since\":0},\"more\":true}"

struct client {
    int fd, watches;
    long replies;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

// -1: nobody listens there.
static int try_to_dial(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) die("socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

static int dial(const char *path) {
    int fd = try_to_dial(path);
    if (fd < 0) die(path);
    return fd;
}

static pid_t begin_program(char **command) {
    pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid > 0) return pid;
    execvp(command[0], command);
    die(command[0]);
    return -1;
}

static void ask(int fd, const char *frame) {
    size_t size = strlen(frame) + 1; // a frame ends with NUL
    if (send(fd, frame, size, MSG_NOSIGNAL) != (ssize_t)size) die("send");
}

// Counts the frames that have come; a reply with an error ends the run, for its rate would be a lie.
static long receive(int fd) {
    static char buffer[1 << 16];
    ssize_t size = recv(fd, buffer, sizeof buffer - 1, 0);
    if (size <= 0) die("the daemon hung up");
    long frames = 0;
    buffer[size] = 0;
    if (memmem(buffer, size, "\"error\":", 8)) {
        fprintf(stderr, "load: %s\n", buffer);
        exit(1);
    }
    for (ssize_t i = 0; i < size; i++) frames += buffer[i] == 0;
    return frames;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// Milliseconds of one status call.
static double once(int fd) {
    double begin = now();
    ask(fd, STATUS);
    while (receive(fd) == 0) {}
    return (now() - begin) * 1e3;
}

static void tell(double *times, int count) {
    qsort(times, count, sizeof *times, by_value);
    printf("median_ms %.3f p99_ms %.3f max_ms %.3f calls %d", times[count / 2], times[count * 99 / 100],
        times[count - 1], count);
}

static void status(const char *path, int count) {
    int fd = dial(path);
    double *times = calloc(count, sizeof *times);
    for (int i = 0; i < count; i++) times[i] = once(fd);
    tell(times, count);
    putchar('\n');
}

static void calls(const char *path, long first, int count, const char *call) {
    char frame[4096];
    int fd = dial(path);
    double *times = calloc(count, sizeof *times);
    for (int i = 0; i < count; i++) {
        size_t size = 0;
        for (const char *c = call; *c && size < sizeof frame - 24; c++) {
            if (*c == '#') size += sprintf(frame + size, "%ld", first + i);
            else frame[size++] = *c;
        }
        frame[size] = 0;
        double begin = now();
        ask(fd, frame);
        while (receive(fd) == 0) {}
        times[i] = (now() - begin) * 1e3;
    }
    tell(times, count);
    putchar('\n');
}

static void beside(const char *path, char **command) {
    static double times[1 << 20];
    int fd = dial(path), count = 0, end;
    double begin = now();
    pid_t pid = begin_program(command);
    while (waitpid(pid, &end, WNOHANG) == 0 && count < 1 << 20) {
        times[count++] = once(fd);
        usleep(1000);
    }
    tell(times, count);
    printf(" seconds %.3f exit %d\n", now() - begin, WIFEXITED(end) ? WEXITSTATUS(end) : 128 + WTERMSIG(end));
}

static void start(const char *path, char **command) {
    int fd, end;
    double begin = now();
    pid_t pid = begin_program(command);
    while ((fd = try_to_dial(path)) < 0) {
        if (waitpid(pid, &end, WNOHANG) != 0) die(command[0]);
        usleep(50);
    }
    once(fd);
    printf("%.3f\n", (now() - begin) * 1e3);
    close(fd);
    kill(pid, SIGTERM);
    waitpid(pid, &end, 0);
}

static void until(const char *path, int count, char **command) {
    char bytes[4096];
    double *times = calloc(count, sizeof *times);
    if (mkfifo(path, 0600) < 0) die(path);
    int fifo = open(path, O_RDWR | O_CLOEXEC); // for writing too: so it never ends
    if (fifo < 0) die(path);
    for (int i = 0; i < count; i++) {
        double begin = now();
        pid_t pid = begin_program(command);
        struct pollfd ready = {.fd = fifo, .events = POLLIN};
        if (poll(&ready, 1, 30000) != 1 || read(fifo, bytes, sizeof bytes) <= 0) die(path);
        times[i] = (now() - begin) * 1e3;
        waitpid(pid, NULL, 0);
        usleep(20000); // so that all is idle again
    }
    tell(times, count);
    putchar('\n');
}

static void add(int epoll, struct client *client, const char *path, const char *frame) {
    client->fd = dial(path);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event) < 0) die("epoll_ctl");
    ask(client->fd, frame);
}

static void submit(const char *path, int watchers, int clients, long count) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct client *all = calloc(watchers + clients, sizeof *all);
    for (int i = 0; i < watchers; i++) {
        all[i].watches = 1;
        add(epoll, &all[i], path, WATCH);
    }
    double begin = now();
    long sent = 0, answered = 0;
    // Events of one held submission: `submitted` and `ready`; earlier submissions may add more.
    long wanted = 2 * count, behind = count > 0 ? watchers : 0;
    for (int i = 0; i < clients && sent < count; i++, sent++) add(epoll, &all[watchers + i], path, SUBMIT);
    double done = 0;
    while (answered < count || behind > 0) {
        struct epoll_event events[256];
        int ready = epoll_wait(epoll, events, 256, 30000);
        if (ready <= 0) {
            fprintf(stderr, "load: nothing came for 30 s (%ld answered, %ld watchers behind)\n", answered, behind);
            exit(1);
        }
        for (int i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            long frames = receive(client->fd);
            if (client->watches) {
                if (client->replies < wanted && client->replies + frames >= wanted) behind--;
                client->replies += frames;
                continue;
            }
            answered += frames;
            if (frames > 0 && sent < count) {
                ask(client->fd, SUBMIT);
                sent++;
            }
        }
        if (answered == count && done == 0) done = now();
    }
    printf("per_second %.0f seconds %.6f all_events_seconds %.6f\n", count / (done - begin), done - begin, now() - begin);
}

static void stamp(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    const char *operation = getenv("OPS_ID");
    printf("%s %lld\n", operation ? operation : "0", t.tv_sec * 1000000000LL + t.tv_nsec);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "stamp") == 0) stamp();
    else if (argc == 5 && strcmp(argv[1], "submit") == 0) submit(argv[2], 0, atoi(argv[3]), atol(argv[4]));
    else if (argc == 4 && strcmp(argv[1], "status") == 0) status(argv[2], atoi(argv[3]));
    else if (argc >= 4 && strcmp(argv[1], "beside") == 0) beside(argv[2], argv + 3);
    else if (argc == 6 && strcmp(argv[1], "calls") == 0) calls(argv[2], atol(argv[3]), atoi(argv[4]), argv[5]);
    else if (argc >= 4 && strcmp(argv[1], "start") == 0) start(argv[2], argv + 3);
    else if (argc >= 5 && strcmp(argv[1], "until") == 0) until(argv[2], atoi(argv[3]), argv + 4);
    else if (argc == 6 && strcmp(argv[1], "watch") == 0) submit(argv[2], atoi(argv[3]), atoi(argv[4]), atol(argv[5]));
    else {
        fprintf(stderr, "usage: see the first lines of Benchmarks/Load/main.c\n");
        return 2;
    }
    return 0;
}
