// log-holder lease|stuck|listing|path FILE FIFO: an operation that does what an owner can with its log, which is its
// standard output, or with its directory.
//
// It says in FILE, a line each, what it has done, and waits for a line in FIFO before it goes on.
//
//   lease   takes a lease on it ("leased", or "refused" and its end), says when somebody wants to open it ("wanted"),
//           and gives the lease back after FIFO
//   stuck   writes to it from memory that is never brought ("stuck"): the file's lock is held until the process is killed
//   listing lists its current directory into such memory ("stuck"), so that the directory's lock is held
//   path    keeps nothing but a path to it ("closed"), and opens that for writing after FIFO ("opened" or "refused")
//
// 77: the kernel does not let this user do it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *file, *fifo;

static void say(const char *line) {
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, line, strlen(line)) < 0) _exit(1);
    close(fd);
}

static void await_go(void) {
    char byte;
    int fd = open(fifo, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &byte, 1) < 0) _exit(1);
    close(fd);
}

static int lease(void) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGIO);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    if (fcntl(1, F_SETLEASE, F_WRLCK) < 0) {
        say("refused\n");
        return 0;
    }
    say("leased\n");
    int number;
    sigwait(&wanted, &number);
    say("wanted\n");
    await_go();
    return fcntl(1, F_SETLEASE, F_UNLCK) < 0;
}

static int stuck(int is_listing) {
    int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (faults < 0) return 77;
    struct uffdio_api api = {.api = UFFD_API};
    if (ioctl(faults, UFFDIO_API, &api) < 0) return 77;
    size_t size = 4096;
    char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    struct uffdio_register range = {
        .range = {.start = (unsigned long)page, .len = size}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (ioctl(faults, UFFDIO_REGISTER, &range) < 0) return 77;
    int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    say("stuck\n");
    return is_listing ? syscall(SYS_getdents64, directory, page, size) < 0 : write(1, page, size) < 0;
}

static int path(void) {
    int kept = open("/proc/self/fd/1", O_PATH | O_CLOEXEC);
    if (kept < 0) return 1;
    close(1);
    close(2);
    say("closed\n");
    await_go();
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", kept);
    say(open(name, O_WRONLY | O_APPEND | O_CLOEXEC) < 0 ? "refused\n" : "opened\n");
    return 0;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    file = words[2];
    fifo = words[3];
    if (strcmp(words[1], "lease") == 0) return lease();
    if (strcmp(words[1], "stuck") == 0) return stuck(0);
    if (strcmp(words[1], "listing") == 0) return stuck(1);
    if (strcmp(words[1], "path") == 0) return path();
    return 2;
}
