#include <sqlite3.h>

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

/* The errno with which the system refused to read or write the database or its log on this connection; 0: it did not. */
static inline int opsd_sqlite3_device_error(sqlite3 *database)
{
    int error = 0;
    sqlite3_file *log = 0;
    sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
    if (error == 0 && sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log
        && log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
    return error;
}

/* Writes every byte of the write-ahead log over itself, and syncs it. Wants a transaction that keeps other writers out. */
static inline int opsd_sqlite3_rewrite_log(sqlite3 *database)
{
    char block[65536];
    sqlite3_file *log = 0;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK || !log || !log->pMethods) return code;
    code = log->pMethods->xFileSize(log, &size);
    for (sqlite3_int64 at = 0; code == SQLITE_OK && at < size; at += sizeof block) {
        int count = size - at < (sqlite3_int64)sizeof block ? (int)(size - at) : (int)sizeof block;
        code = log->pMethods->xRead(log, block, count, at);
        if (code == SQLITE_OK) code = log->pMethods->xWrite(log, block, count, at);
    }
    return code == SQLITE_OK && size > 0 ? log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) : code;
}
