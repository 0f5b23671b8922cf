/* Reading files for another process, in a copy of it: see copy.h. */
#pragma once

/* Task of such a copy. */
struct ops_reading {
    /* Its end of the pair of sockets. */
    int socket;
};
/* Takes a struct ops_reading. Never returns. */
int ops_read_in_copy(void *reading);
