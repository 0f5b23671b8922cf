/* Freeing the disk blocks of a log, in this process or in a copy of it: see copy.h. */
#pragma once
#include <stdint.h>

/* Trims an open file, as ops_trim_log does. Returns 0 or a negative errno. */
int ops_trim(int fd, int64_t keep);

/* Task of a copy that trims one file. */
struct ops_trimming {
    int fd;
    int64_t keep;
};
/* Takes a struct ops_trimming. Exits with 0 or an errno. */
int ops_trim_in_copy(void *trimming);
