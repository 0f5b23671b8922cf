#pragma once
#include <sys/types.h>

// Connects to the Unix socket at `path` as another user, whose ids the service is told by the kernel: those of the
// calling thread change for the moment of the call. The descriptor, or -1 with errno.
int torture_connect_as(const char *path, uid_t user, gid_t group);
