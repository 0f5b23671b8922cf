/* A SQLite VFS that stands before the system's and breaks on command. It becomes the default of the process and leaves
   every file outside the armed directory alone, so that the code under test needs no switch. All but the registration
   concerns the calling thread, which alone uses the armed directory. */
#ifndef FAULT_VFS_H
#define FAULT_VFS_H

/* Registers it; again is no harm. 0 or a SQLite error. */
int fault_vfs_register(void);

/* From now on counts the writes, syncs, truncations and opens below `directory`. The one with the number `fail_at`
   (from 1) fails once with `code`; 0: none does. */
void fault_vfs_arm(const char *directory, int fail_at, int code);

/* In place of a code: that operation is done, but before it the system fails to bring to the disk all that was written
   and not synced. No later sync tries again, unless it is written once more; a program that has such a file open is told
   by its next sync. Wants a disk that can be told from what was written (`fault_vfs_lose_power`). */
enum { FAULT_WRITE_BACK = -1 };

/* Keeps in `shadow` what of each file was synced; what is there already counts as that. The sync with the number `lose_at` (from 1) and all that would change a
   file after it fail: the power has gone. 0: it never goes. */
void fault_vfs_lose_power(const char *shadow, int lose_at);

/* Whether what the system could not bring to the disk can be read no more at once; otherwise it always can. */
void fault_vfs_forget(int forgets);

/* From now on the system refuses reads below the armed directory, as it does of a failing device: all, or those of logs,
   where it has said last of the other files that the disk was full. */
enum { FAULT_EVERY_READ = 1, FAULT_LOG_READS };
void fault_vfs_refuse_reads(int reads);

void fault_vfs_disarm(void);

/* Since it was armed. */
int fault_vfs_has_failed(void);

#endif
