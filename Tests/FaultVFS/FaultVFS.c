#include "FaultVFS.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fault_file {
    sqlite3_file base;
    /* Null for files without a name and those elsewhere. */
    const char *path;
    /* Number of failures to write this file back that a sync through this handle has reported. */
    int errors_reported;
    /* The system's file follows in the same allocation. */
};

/* One scenario at a time on a thread, which alone uses its files. */
static _Thread_local struct {
    char directory[512], shadow[512];
    int fail_at, code, operations, lose_at, syncs, failed, dark, refuses_reads, forgets;
} armed;

/* Pages of files of up to 16 MiB that the kernel has yet to write to the disk. */
enum { most_files = 16, most_pages = 4096, page_size = 4096 };
static _Thread_local struct tracked {
    char path[512];
    char dirty[most_pages];
    /* Number of its pages on the disk; a truncation since the last sync lowers it. */
    off_t pages;
    /* Number of failures to write it back, and 1 if a sync has reported the last one. */
    int errors, is_reported;
} tracked[most_files];

static sqlite3_vfs *system_vfs;
static sqlite3_vfs fault_vfs;
static sqlite3_io_methods methods;

static sqlite3_file *inner(sqlite3_file *file) { return (sqlite3_file *)((struct fault_file *)file + 1); }

static int is_armed(const char *path)
{
    size_t length = strlen(armed.directory);
    return length > 0 && path && strncmp(path, armed.directory, length) == 0 && path[length] == '/';
}

static int is_armed_file(sqlite3_file *file) { return is_armed(((struct fault_file *)file)->path); }

/* Returns 1 if the system refuses to read this file. */
static int is_refused(sqlite3_file *file)
{
    if (!is_armed_file(file)) return 0;
    const char *suffix = strrchr(((struct fault_file *)file)->path, '-');
    return armed.refuses_reads == FAULT_EVERY_READ
        || (armed.refuses_reads == FAULT_LOG_READS && suffix && strcmp(suffix, "-wal") == 0);
}

static void shadow_path(const char *path, char *out, size_t size)
{
    const char *name = strrchr(path, '/');
    snprintf(out, size, "%s%s", armed.shadow, name ? name : "/");
}

static void begin_tracking(struct tracked *file, const char *path)
{
    char copy[1024];
    struct stat status;
    snprintf(file->path, sizeof file->path, "%s", path);
    shadow_path(path, copy, sizeof copy);
    file->pages = stat(copy, &status) == 0 ? (status.st_size + page_size - 1) / page_size : 0;
}

static struct tracked *track(const char *path)
{
    for (int i = 0; i < most_files; i++) {
        if (tracked[i].path[0] == 0) begin_tracking(&tracked[i], path);
        if (strcmp(tracked[i].path, path) == 0) return &tracked[i];
    }
    abort();
}

static void mark_dirty(const char *path, int count, sqlite3_int64 offset)
{
    struct tracked *file = track(path);
    for (sqlite3_int64 page = offset / page_size; page * page_size < offset + count; page++) {
        if (page >= most_pages) abort();
        file->dirty[page] = 1;
    }
}

static void forget(const char *path)
{
    struct tracked *file = track(path);
    memset(file->dirty, 0, sizeof file->dirty);
    file->pages = file->errors = 0;
}

static void mark_cut(const char *path, sqlite3_int64 size)
{
    struct tracked *file = track(path);
    off_t pages = (size + page_size - 1) / page_size;
    if (pages < most_pages) memset(file->dirty + pages, 0, (size_t)(most_pages - pages));
    if (pages < file->pages) file->pages = pages;
}

/* Lets the kernel fail to write anything to the disk. It gives up on those pages: no later sync tries again, and one
   sync of a program that has the file open reports the failure. The pages can be read until the kernel needs the
   memory, which may be at once. */
static void fail_write_back(void)
{
    char copy[1024];
    for (struct tracked *file = tracked; file < tracked + most_files && file->path[0]; file++) {
        if (!memchr(file->dirty, 1, sizeof file->dirty)) continue;
        file->errors++;
        file->is_reported = 0;
        shadow_path(file->path, copy, sizeof copy);
        int to = armed.forgets ? open(file->path, O_WRONLY | O_CLOEXEC) : -1, from = open(copy, O_RDONLY | O_CLOEXEC);
        struct stat status;
        for (off_t page = 0; to >= 0 && fstat(to, &status) == 0 && page * page_size < status.st_size; page++) {
            char bytes[page_size] = {0};
            off_t at = page * page_size, count = status.st_size - at < page_size ? status.st_size - at : page_size;
            if (!file->dirty[page]) continue;
            if (from >= 0 && page < file->pages && pread(from, bytes, sizeof bytes, at) < 0) abort();
            if (pwrite(to, bytes, (size_t)count, at) != count) abort();
        }
        if (to >= 0) close(to);
        if (from >= 0) close(from);
        memset(file->dirty, 0, sizeof file->dirty);
    }
}

/* Returns 1 if a sync through this handle must report an earlier failure, and notes that it does. */
static int report_failure(struct fault_file *file)
{
    struct tracked *kept = track(file->path);
    if (file->errors_reported == kept->errors) return 0;
    file->errors_reported = kept->errors;
    kept->is_reported = 1;
    return 1;
}

/* Counts an operation. Returns the error with which it must fail, or SQLITE_OK if it is to be done. */
static int next_fault(int otherwise)
{
    armed.operations++;
    if (armed.dark) return otherwise;
    if (armed.operations != armed.fail_at) return SQLITE_OK;
    armed.failed = 1;
    if (armed.code == FAULT_WRITE_BACK) return fail_write_back(), SQLITE_OK;
    return armed.code == SQLITE_IOERR ? otherwise : armed.code;
}

static void keep_shadow(const char *path)
{
    char copy[1024], page[page_size];
    struct stat status;
    struct tracked *file = track(path);
    shadow_path(path, copy, sizeof copy);
    int from = open(path, O_RDONLY | O_CLOEXEC), to = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (from < 0 || to < 0 || fstat(from, &status) < 0) abort();
    for (off_t at = 0; at < status.st_size; at += page_size) {
        if (!file->dirty[at / page_size]) continue;
        ssize_t count = pread(from, page, sizeof page, at);
        if (count < 0 || pwrite(to, page, (size_t)count, at) != count) abort();
    }
    if (ftruncate(to, status.st_size) < 0) abort();
    memset(file->dirty, 0, sizeof file->dirty);
    file->pages = (status.st_size + page_size - 1) / page_size;
    close(from);
    close(to);
}

static int fault_close(sqlite3_file *file) { return inner(file)->pMethods->xClose(inner(file)); }

static int fault_read(sqlite3_file *file, void *buffer, int count, sqlite3_int64 offset)
{
    if (is_refused(file)) return SQLITE_IOERR_CORRUPTFS;
    return inner(file)->pMethods->xRead(inner(file), buffer, count, offset);
}

static int fault_write(sqlite3_file *file, const void *buffer, int count, sqlite3_int64 offset)
{
    int fault = is_armed_file(file) ? next_fault(SQLITE_IOERR_WRITE) : SQLITE_OK;
    if (armed.shadow[0] && is_armed_file(file)) mark_dirty(((struct fault_file *)file)->path, count, offset);
    /* A full disk has often taken a part. */
    if (fault == SQLITE_FULL) inner(file)->pMethods->xWrite(inner(file), buffer, count / 2, offset);
    return fault ? fault : inner(file)->pMethods->xWrite(inner(file), buffer, count, offset);
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int fault = is_armed_file(file) ? next_fault(SQLITE_IOERR_TRUNCATE) : SQLITE_OK;
    if (!fault && armed.shadow[0] && is_armed_file(file)) mark_cut(((struct fault_file *)file)->path, size);
    return fault ? fault : inner(file)->pMethods->xTruncate(inner(file), size);
}

static int fault_sync(sqlite3_file *file, int flags)
{
    if (!is_armed_file(file)) return inner(file)->pMethods->xSync(inner(file), flags);
    armed.syncs++;
    if (armed.lose_at > 0 && armed.syncs >= armed.lose_at) armed.dark = 1;
    int fault = next_fault(SQLITE_IOERR_FSYNC);
    if (fault) return fault;
    int result = inner(file)->pMethods->xSync(inner(file), flags);
    if (result != SQLITE_OK || !armed.shadow[0]) return result;
    keep_shadow(((struct fault_file *)file)->path);
    return report_failure((struct fault_file *)file) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int fault_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return inner(file)->pMethods->xFileSize(inner(file), size);
}
static int fault_lock(sqlite3_file *file, int level) { return inner(file)->pMethods->xLock(inner(file), level); }
static int fault_unlock(sqlite3_file *file, int level) { return inner(file)->pMethods->xUnlock(inner(file), level); }
static int fault_reserved(sqlite3_file *file, int *is)
{
    return inner(file)->pMethods->xCheckReservedLock(inner(file), is);
}
static int fault_control(sqlite3_file *file, int operation, void *argument)
{
    if (operation == SQLITE_FCNTL_LAST_ERRNO && armed.refuses_reads && is_armed_file(file)) {
        *(int *)argument = is_refused(file) ? EIO : ENOSPC;
        return SQLITE_OK;
    }
    return inner(file)->pMethods->xFileControl(inner(file), operation, argument);
}
static int fault_sector(sqlite3_file *file) { return inner(file)->pMethods->xSectorSize(inner(file)); }
static int fault_device(sqlite3_file *file)
{
    /* As the system's, and as Disk.swift assumes: a write does not harm the bytes beside it. */
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}
static int fault_map(sqlite3_file *file, int page, int size, int extend, void volatile **at)
{
    return inner(file)->pMethods->xShmMap(inner(file), page, size, extend, at);
}
static int fault_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return inner(file)->pMethods->xShmLock(inner(file), offset, count, flags);
}
static void fault_barrier(sqlite3_file *file) { inner(file)->pMethods->xShmBarrier(inner(file)); }
static int fault_unmap(sqlite3_file *file, int remove)
{
    return inner(file)->pMethods->xShmUnmap(inner(file), remove);
}

static int fault_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    struct fault_file *opened = (struct fault_file *)file;
    opened->path = name;
    /* SQLite closes a file that has methods, even if the open has failed. */
    opened->base.pMethods = 0;
    if (is_armed(name)) {
        int fault = next_fault(SQLITE_CANTOPEN);
        if (fault) return fault;
    }
    if (armed.shadow[0] && is_armed(name)) {
        struct tracked *kept = track(name);
        opened->errors_reported = kept->errors > 0 && !kept->is_reported ? kept->errors - 1 : kept->errors;
    }
    int result = system_vfs->xOpen(system_vfs, name, inner(file), flags, out);
    if (inner(file)->pMethods) opened->base.pMethods = &methods;
    return result;
}

static int fault_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    if (is_armed(name)) {
        if (armed.dark) return SQLITE_IOERR_DELETE;
        char copy[1024];
        shadow_path(name, copy, sizeof copy);
        if (armed.shadow[0]) unlink(copy), forget(name);
    }
    return system_vfs->xDelete(system_vfs, name, sync);
}

int fault_vfs_register(void)
{
    if (system_vfs) return SQLITE_OK;
    sqlite3_vfs *found = sqlite3_vfs_find(0);
    if (!found) return SQLITE_ERROR;
    methods = (sqlite3_io_methods){
        2, fault_close, fault_read, fault_write, fault_truncate, fault_sync, fault_size, fault_lock, fault_unlock,
        fault_reserved, fault_control, fault_sector, fault_device, fault_map, fault_shm_lock, fault_barrier,
        fault_unmap, 0, 0,
    };
    fault_vfs = *found;
    fault_vfs.zName = "fault";
    fault_vfs.szOsFile = (int)sizeof(struct fault_file) + found->szOsFile;
    fault_vfs.xOpen = fault_open;
    fault_vfs.xDelete = fault_delete;
    system_vfs = found;
    return sqlite3_vfs_register(&fault_vfs, 1);
}

void fault_vfs_arm(const char *directory, int fail_at, int code)
{
    memset(&armed, 0, sizeof armed);
    memset(tracked, 0, sizeof tracked);
    armed.fail_at = fail_at;
    armed.code = code;
    snprintf(armed.directory, sizeof armed.directory, "%s", directory);
}

void fault_vfs_lose_power(const char *shadow, int lose_at)
{
    snprintf(armed.shadow, sizeof armed.shadow, "%s", shadow);
    armed.lose_at = lose_at;
}

void fault_vfs_forget(int forgets) { armed.forgets = forgets; }

void fault_vfs_refuse_reads(int reads) { armed.refuses_reads = reads; }

void fault_vfs_disarm(void) { memset(&armed, 0, sizeof armed); }

int fault_vfs_has_failed(void) { return armed.failed || armed.dark; }
