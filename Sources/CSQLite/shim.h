#include <sqlite3.h>

/* sqlite3_db_config is variadic, which Swift does not import. */
static inline int opsd_sqlite3_set_option(sqlite3 *database, int option, int on)
{
    return sqlite3_db_config(database, option, on, (int *)0);
}
