/* A SQLite VFS in front of the system's, with faults on command. It becomes the default of the process and leaves every
   file outside the armed directory alone, so that the code under test needs no switch. All functions but the
   registration affect the calling thread alone, and only that thread may use the armed directory. */
#ifndef FAULT_VFS_H
#define FAULT_VFS_H

/* Registers the VFS, once however often it is called. Returns 0 or a SQLite error. */
int fault_vfs_register(void);

/* Counts the writes, syncs, truncations and opens below `directory` from now on. The one with the number `fail_at`
   (from 1) fails once with `code`; 0: none does. */
void fault_vfs_arm(const char *directory, int fail_at, int code);

/* A value for `code`: the operation is done, but before it the system fails to write to the disk everything that was
   not synced. No later sync tries again, unless the data is written once more. The next sync of a program that has such
   a file open reports the failure. Needs a disk beside the files (`fault_vfs_lose_power`). */
enum { FAULT_WRITE_BACK = -1 };

/* Keeps the synced part of each file in the directory `shadow`; files that are there already count as synced. The
   power fails at the sync with the number `lose_at` (from 1): that sync, and every later change of a file, fails.
   0: never. */
void fault_vfs_lose_power(const char *shadow, int lose_at);

/* Sets if pages that could not be written to the disk are lost at once; otherwise they can still be read. */
void fault_vfs_forget(int forgets);

/* Lets the system refuse reads below the armed directory from now on, as for a failing device: all reads, or those of
   logs, while its last error of the other files is a full disk. */
enum { FAULT_EVERY_READ = 1, FAULT_LOG_READS };
void fault_vfs_refuse_reads(int reads);

void fault_vfs_disarm(void);

/* Returns 1 if a fault has occurred since the directory was armed. */
int fault_vfs_has_failed(void);

#endif
