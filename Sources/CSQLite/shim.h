#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The two below are variadic, which Swift does not import. */

/* Memory statistics cost a mutex and two counters for every allocation, and nobody reads them. */
static inline int opsd_sqlite3_omit_memory_statistics(void)
{
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static inline int opsd_sqlite3_set_option(sqlite3 *database, int option, int on)
{
    return sqlite3_db_config(database, option, on, (int *)0);
}

/* Whether the device has refused to read or write the database or its log on this connection. Each of the two files
   keeps its last error of the system, which may be old. */
static inline int opsd_sqlite3_has_device_failed(sqlite3 *database)
{
    int of_database = 0, of_log = 0;
    sqlite3_file *log = 0;
    sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &of_database);
    if (sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log && log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &of_log);
    return of_database == EIO || of_database == ENXIO || of_log == EIO || of_log == ENXIO;
}

/* Writes every byte of a write-ahead log over itself, and syncs it, without using SQLite's connection.
   No log: nothing is done. */
static inline int opsd_sqlite3_rewrite_log(const char *database, const char *log)
{
    sqlite3_vfs *system = sqlite3_vfs_find(0);
    char block[65536];
    int exists = 0, code = system->xAccess(system, log, SQLITE_ACCESS_EXISTS, &exists);
    if (code != SQLITE_OK || !exists) return code;
    sqlite3_filename names = sqlite3_create_filename(database, "", log, 0, 0);
    sqlite3_file *file = sqlite3_malloc(system->szOsFile);
    if (names && file) {
        file->pMethods = 0;
        code = system->xOpen(system, sqlite3_filename_wal(names), file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, 0);
    } else {
        code = SQLITE_NOMEM;
    }
    sqlite3_int64 size = 0;
    if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
    for (sqlite3_int64 at = 0; code == SQLITE_OK && at < size; at += sizeof block) {
        int count = size - at < (sqlite3_int64)sizeof block ? (int)(size - at) : (int)sizeof block;
        code = file->pMethods->xRead(file, block, count, at);
        if (code == SQLITE_OK) code = file->pMethods->xWrite(file, block, count, at);
    }
    if (code == SQLITE_OK && size > 0) code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    if (file && file->pMethods) file->pMethods->xClose(file);
    sqlite3_free(file);
    sqlite3_free_filename(names);
    return code;
}

/* Makes the file of the log's index before SQLite does, so that it is written in place. SQLite maps it into memory; where
   every write goes to a new block, as on btrfs, a change of a page kills the process (SIGBUS) if a full disk has no block.
   What cannot be done here, SQLite reports itself or does not need. */
static inline void opsd_sqlite3_write_index_in_place(const char *directory, const char *index)
{
    const unsigned btrfs = 0x9123683e; /* BTRFS_SUPER_MAGIC */
    const long not_copied = 0x00800000; /* FS_NOCOW_FL */
    struct statfs system;
    if (statfs(directory, &system) != 0 || (unsigned)system.f_type != btrfs) return;
    int file = open(index, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return;
    /* Only an empty file takes the mark. One that an earlier process has left was marked by it.
       The requests are FS_IOC_GETFLAGS and FS_IOC_SETFLAGS. */
    long flags = 0;
    if (ioctl(file, _IOR('f', 1, long), &flags) == 0) {
        flags |= not_copied;
        (void)ioctl(file, _IOW('f', 2, long), &flags);
    }
    close(file);
}

/* Brings the database, without its log, to the disk. */
static inline int opsd_sqlite3_sync(sqlite3 *database)
{
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return code == SQLITE_OK && file && file->pMethods ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : code;
}

/* Makes the next checkpoint begin with the first frame of the log: sets nBackfill of the WAL-index to 0, holding the
   lock of those who raise it (https://www.sqlite.org/walformat.html, 2.2). Too low a number only has frames copied again.
   If all frames were moved, they are on the disk: SQLite syncs before it counts the last one. Then nothing is done, since a
   commit of another connection may be about to start the log over, and a checkpoint that still took the old frames for
   unmoved ones would copy what that commit writes over them to wrong pages. The connection must have read something. */
static inline int opsd_sqlite3_forget_moved(sqlite3 *database)
{
    enum { checkpoint_lock = 1, version_word = 0, version = 3007000, frames_word = 4, moved_word = 24, region = 32768 };
    sqlite3_file *file = 0;
    volatile void *index = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || !file || !file->pMethods) return code;
    code = file->pMethods->xShmMap(file, 0, region, 0, &index);
    if (code != SQLITE_OK || !index) return code;
    volatile unsigned *words = (volatile unsigned *)index;
    if (words[version_word] != version) return SQLITE_ERROR;
    code = file->pMethods->xShmLock(file, checkpoint_lock, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
    if (code != SQLITE_OK) return code;
    if (words[moved_word] != words[frames_word]) words[moved_word] = 0;
    file->pMethods->xShmBarrier(file);
    return file->pMethods->xShmLock(file, checkpoint_lock, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
}
