/* A SQLite VFS that stands before the system's and breaks on command. It becomes the default of the process and leaves
   every file outside the armed directory alone, so that the code under test needs no switch. */
#ifndef FAULT_VFS_H
#define FAULT_VFS_H

/* Registers it; again is no harm. 0 or a SQLite error. */
int fault_vfs_register(void);

/* From now on counts the writes, syncs, truncations and opens below `directory`. The one with the number `fail_at`
   (from 1) fails once with `code`; 0: none does. */
void fault_vfs_arm(const char *directory, int fail_at, int code);

/* Keeps in `shadow` what of each file was synced. What a failed sync did not bring there no later one does, unless it is
   written once more. The sync with the number `lose_at` (from 1) and all
   that would change a file after it fail: the power has gone. 0: it never goes. */
void fault_vfs_lose_power(const char *shadow, int lose_at);

/* From now on the system refuses every read below the armed directory, as it does of a failing device. */
void fault_vfs_refuse_reads(void);

void fault_vfs_disarm(void);

/* Since it was armed. */
int fault_vfs_operations(void);
int fault_vfs_syncs(void);
int fault_vfs_has_failed(void);

#endif
