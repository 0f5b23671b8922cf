/*
 * The parent's side of the start of another user's process. It gets a copy of what it needs of the memory, and a pipe
 * that the exec closes reports: nothing waits for a process that its user can stop or delay.
 */
#define _GNU_SOURCE
#include "copy.h"
#include "ops_spawn.h"
#include "spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Writer into the room of a copy. Without `to` it only counts. */
struct writer {
    char *to;
    size_t size;
};

static void *put(struct writer *writer, const void *bytes, size_t size) {
    size_t unit = _Alignof(max_align_t);
    void *copy = writer->to == NULL ? NULL : writer->to + writer->size;
    writer->size += (size + unit - 1) / unit * unit;
    return copy == NULL || size == 0 ? copy : memcpy(copy, bytes, size);
}

static const char *put_string(struct writer *writer, const char *string) {
    return string == NULL ? NULL : put(writer, string, strlen(string) + 1);
}

static const char **put_strings(struct writer *writer, const char *const *strings) {
    size_t count = 0;
    while (strings[count] != NULL) count++;
    const char **copy = put(writer, strings, (count + 1) * sizeof *strings);
    for (size_t index = 0; index < count; index++) {
        const char *string = put_string(writer, strings[index]);
        if (copy != NULL) copy[index] = string;
    }
    return copy;
}

/* Copies the secrets, and lets the last variables be theirs. */
static const struct ops_spawn_secret *put_secrets(
    struct writer *writer, const struct ops_spawn_request *request, const char **envp) {
    struct ops_spawn_secret *copy = put(writer, request->secrets, request->secret_count * sizeof *request->secrets);
    size_t count = 0;
    while (request->envp[count] != NULL) count++;
    for (size_t index = 0; index < request->secret_count; index++) {
        const struct ops_spawn_secret *secret = &request->secrets[index];
        const char *path = put_string(writer, secret->path);
        char *variable = put(writer, secret->variable, strlen(secret->variable) + OPS_SPAWN_SECRET_SIZE + 2);
        if (copy == NULL) continue;
        copy[index] = (struct ops_spawn_secret){.path = path, .variable = variable};
        envp[count - request->secret_count + index] = variable;
    }
    return copy;
}

/* Returns a child that refers to nothing outside the room; NULL without one. */
static struct ops_spawn_child *put_child(struct writer *writer, const struct ops_spawn_request *request, int report_fd) {
    struct ops_spawn_request copy = *request;
    copy.argv = put_strings(writer, request->argv);
    copy.envp = put_strings(writer, (const char *const *)request->envp);
    copy.secrets = put_secrets(writer, request, copy.envp);
    copy.directory = put_string(writer, request->directory);
    for (int stream = 0; stream < 3; stream++) {
        copy.streams[stream].path = put_string(writer, request->streams[stream].path);
    }
    copy.groups = put(writer, request->groups, request->group_count * sizeof *request->groups);
    copy.limits = put(writer, request->limits, request->limit_count * sizeof *request->limits);
    const struct ops_spawn_child child = {.request = put(writer, &copy, sizeof copy), .report_fd = report_fd};
    return put(writer, &child, sizeof child);
}

static pid_t start_copy(const struct ops_spawn_request *request, int report_fd) {
    struct writer writer = {0};
    put_child(&writer, request, report_fd);
    writer.to = ops_copy_begin(writer.size);
    if (writer.to == NULL) return -1;
    writer.size = 0;
    struct ops_spawn_child *child = put_child(&writer, request, report_fd);
    pid_t pid = ops_spawn_clone(child, ops_copy_stack(), 0);
    int error = errno;
    ops_copy_end();
    errno = error;
    return pid;
}

int ops_spawn_apart(const struct ops_spawn_request *request, struct ops_spawn_result *result) {
    *result = (struct ops_spawn_result){.pid = -1, .step = OPS_SPAWN_REQUEST, .error = EINVAL, .report_fd = -1};
    if (!ops_spawn_is_valid(request)) return -1;
    result->step = OPS_SPAWN_CLONE;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        result->error = errno;
        return -1;
    }
    pid_t pid = start_copy(request, ends[1]);
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        result->error = error;
        return -1;
    }
    *result = (struct ops_spawn_result){.pid = pid, .step = OPS_SPAWN_STARTED, .report_fd = ends[0]};
    return 0;
}

int ops_spawn_outcome(int report_fd, int *step, int *error) {
    struct ops_spawn_report report;
    ssize_t count;
    do count = read(report_fd, &report, sizeof report);
    while (count < 0 && errno == EINTR);
    if (count < 0 && errno == EAGAIN) return 0;
    *step = OPS_SPAWN_STARTED;
    *error = 0;
    /* So few bytes are written whole or not at all. */
    if (count == sizeof report) {
        *step = report.step;
        *error = report.error;
    }
    return 1;
}
