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
