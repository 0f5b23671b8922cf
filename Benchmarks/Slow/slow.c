// slow: a disk that takes SYNC_MS milliseconds longer for each sync, for the program that this is preloaded into.
// `scripts/bench` compiles it as a shared library. The sync itself is done: so the answer is as true as without it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int slowly(const char *name, int fd) {
    int (*call)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    const char *milliseconds = getenv("SYNC_MS");
    if (milliseconds) usleep(atoi(milliseconds) * 1000);
    return call(fd);
}

int fdatasync(int fd) { return slowly("fdatasync", fd); }
int fsync(int fd) { return slowly("fsync", fd); }
