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
