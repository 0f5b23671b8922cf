// torture-mark MARKS LOCKS [KEY=VALUE | LOCK]...: the program that operations of the torture execute.
//
// The program appends a mark for its start and one for its end to the file MARKS, and syncs each before it continues.
// The marks show when it ran, independently of the scheduler. While it runs, it holds kernel locks for all slots, units
// and categories that the scheduler gave it. If a lock is not free at once, a promise is broken. The kernel releases the
// locks when the last process of the tree is gone, so they also show whether something was given away too early.
//
//   name=N sleep=MS lines=N       name of the operation; time that it takes; number of lines that it prints
//   code=N until=K signal=N       exit code, or signal that ends it, in attempts before K; later attempts succeed
//   ignore=1                      ignores SIGTERM
//   status=TEXT                   reports that status text on $NOTIFY_SOCKET
//   notify=1                      reports its end on $NOTIFY_SOCKET, before the process exits with 0
//   opsctl=PATH make=NAME         submits an operation of that name as its child, until the submission is acknowledged
//   child=MS                      starts a grandchild in its own session, which keeps all locks for that time
//   x:F s:F                       locks F exclusively; shared
//   n:F:K:U                       locks U of the K units of F
//   u:F:V:U:S                     locks U shares of the units of F that the variable V names; each unit has S shares,
//                                 and U = 0 means all shares of the named units
//
// Marks: "S name id attempt slot pid time", "E name id attempt code logged time", "V name id attempt lock",
// "P name id attempt child" once a child is acknowledged. Times are microseconds since 1970.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { broken = 70 };

static int marks, locks;
static const char *name = "?", *id, *attempt;

static void die(const char *what) {
    dprintf(2, "torture-mark: %s: %s\n", what, strerror(errno));
    _exit(broken);
}

static void mark(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (size >= (int)sizeof line || write(marks, line, size) != size || fdatasync(marks) < 0) die("mark");
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static int take(const char *file, int how) {
    int fd = openat(locks, file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) die(file);
    if (flock(fd, how | LOCK_NB) == 0) return 1;
    if (errno != EWOULDBLOCK) die(file);
    close(fd);
    return 0;
}

static void hold(const char *file, int how) {
    if (!take(file, how)) mark("V %s %s %s %s\n", name, id, attempt, file);
}

// Tries one unit after the other. Other processes take and release units meanwhile, so the promise counts as broken only
// if too few units are free in many rounds.
static void hold_units(char *specification) {
    char *file = strtok(specification, ":");
    int capacity = atoi(strtok(NULL, ":")), wanted = atoi(strtok(NULL, ":"));
    char taken[64] = {0};
    for (int round = 0; round < 50 && wanted > 0; round++)
        for (int unit = 0; unit < capacity && wanted > 0; unit++) {
            char path[256];
            snprintf(path, sizeof path, "%s.%d", file, unit);
            if (!taken[unit] && take(path, LOCK_EX)) taken[unit] = 1, wanted--;
        }
    if (wanted > 0) mark("V %s %s %s %s\n", name, id, attempt, file);
}

// Takes a free share of a unit. As above, this may need more than one round.
static int take_place(const char *file, const char *unit, int share) {
    for (int round = 0; round < 50; round++)
        for (int place = 0; place < share; place++) {
            char path[256];
            snprintf(path, sizeof path, "%s.%s.%d", file, unit, place);
            if (take(path, LOCK_EX)) return 1;
        }
    return 0;
}

static void hold_named_units(char *specification) {
    char *file = strtok(specification, ":"), *variable = strtok(NULL, ":");
    int wanted = atoi(strtok(NULL, ":")), share = atoi(strtok(NULL, ":")), count = 0, held = 0;
    const char *value = getenv(variable);
    char *names = strdup(value ? value : "");
    if (!names) die("strdup");
    for (const char *c = names; *c; c++) count += c == names || *c == ',';
    // The variable names a unit once, regardless of the number of its shares. The torture requests the same number of
    // shares of each unit.
    int each = wanted == 0 ? share : count > 0 ? wanted / count : 0;
    for (char *unit = strtok(names, ","); unit; unit = strtok(NULL, ","))
        for (int place = 0; place < each; place++) held += take_place(file, unit, share);
    if (held != (wanted > 0 ? wanted : count * share) || held == 0)
        mark("V %s %s %s %s=%s:%d\n", name, id, attempt, variable, value ? value : "", held);
}

static void rest(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) < 0 && errno == EINTR) {}
}

static void grandchild(long milliseconds) {
    pid_t child = fork();
    if (child < 0) die("fork");
    if (child > 0) return;
    setsid();
    if (fork() > 0) _exit(0);
    signal(SIGTERM, SIG_IGN);
    rest(milliseconds);
    _exit(0);
}

// Waits after the message, because the runner can identify a sender only while the process exists.
static void tell(const char *key, const char *value) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path || strlen(path) >= sizeof address.sun_path) die("NOTIFY_SOCKET");
    strcpy(address.sun_path, path);
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + strlen(path);
    if (path[0] == '@') address.sun_path[0] = 0;
    else size++;
    char message[64];
    int length = snprintf(message, sizeof message, "%s=%s", key, value);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || sendto(fd, message, length, 0, (struct sockaddr *)&address, size) != length) die("notify");
    rest(200);
}

// Submits a child. The key makes it safe to submit again after a crash, and in a later attempt.
static void produce(const char *opsctl, const char *child, char **argv) {
    char word[128];
    snprintf(word, sizeof word, "name=%s", child);
    for (int round = 0; round < 400; round++) {
        pid_t pid = fork();
        if (pid < 0) die("fork");
        if (pid == 0) {
            int null = open("/dev/null", O_RDWR);
            dup2(null, 1), dup2(null, 2);
            execl(opsctl, "opsctl", "submit", "--child", "--name", child, "--key", child, "--queue", "default", "--",
                  argv[0], argv[1], argv[2], word, "sleep=20", NULL);
            _exit(127);
        }
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return mark("P %s %s %s %s\n", name, id, attempt, child);
        // No daemon (3) or no storage (6): both are temporary. Any other status is a refusal.
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 3 && WEXITSTATUS(status) != 6)) return;
        rest(50);
    }
}

static int print(long lines) {
    int whole = 1;
    for (long i = 0; i < lines; i++) {
        char line[128];
        int size = snprintf(line, sizeof line, "%s attempt %s line %ld\n", name, attempt, i);
        if (write(1, line, size) != size) whole = 0;
    }
    return whole;
}

int main(int argc, char **argv) {
    long long begun = now();
    if (argc < 3) return 2;
    marks = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    locks = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
    id = getenv("OPS_ID"), attempt = getenv("OPS_ATTEMPT");
    const char *slot = getenv("OPS_SLOT");
    if (marks < 0 || locks < 0 || !id || !attempt || !slot) die("start");
    const char *opsctl = NULL, *made = NULL, *status = NULL;
    long sleep = 0, lines = 0, code = 0, until = 1 << 30, by = 0, child = 0, notifies = 0;
    for (int i = 3; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) continue;
        value++;
        if (strncmp(argv[i], "name=", 5) == 0) name = value;
        else if (strncmp(argv[i], "sleep=", 6) == 0) sleep = atol(value);
        else if (strncmp(argv[i], "lines=", 6) == 0) lines = atol(value);
        else if (strncmp(argv[i], "code=", 5) == 0) code = atol(value);
        else if (strncmp(argv[i], "until=", 6) == 0) until = atol(value);
        else if (strncmp(argv[i], "signal=", 7) == 0) by = atol(value);
        else if (strncmp(argv[i], "child=", 6) == 0) child = atol(value);
        else if (strncmp(argv[i], "opsctl=", 7) == 0) opsctl = value;
        else if (strncmp(argv[i], "make=", 5) == 0) made = value;
        else if (strncmp(argv[i], "status=", 7) == 0) status = value;
        else if (strncmp(argv[i], "notify=", 7) == 0) notifies = 1;
        else if (strncmp(argv[i], "ignore=", 7) == 0) signal(SIGTERM, SIG_IGN);
    }
    mark("S %s %s %s %s %d %lld\n", name, id, attempt, slot, getpid(), begun);
    char file[64];
    snprintf(file, sizeof file, "slot-%s", slot);
    hold(file, LOCK_EX);
    for (int i = 3; i < argc; i++) {
        if (strncmp(argv[i], "x:", 2) == 0) hold(argv[i] + 2, LOCK_EX);
        else if (strncmp(argv[i], "s:", 2) == 0) hold(argv[i] + 2, LOCK_SH);
        else if (strncmp(argv[i], "n:", 2) == 0) hold_units(argv[i] + 2);
        else if (strncmp(argv[i], "u:", 2) == 0) hold_named_units(argv[i] + 2);
    }
    if (child > 0) grandchild(child);
    if (opsctl && made) produce(opsctl, made, argv);
    if (status) tell("STATUS", status);
    int logged = print(lines);
    rest(sleep);
    if (atol(attempt) >= until) code = by = 0;
    mark("E %s %s %s %ld %d %lld\n", name, id, attempt, by > 0 ? 128 + by : code, logged, now());
    if (by > 0) raise(by);
    if (notifies && code == 0) tell("X_OPS_FINISHED", "0");
    return code;
}
