#pragma once
#include <sys/types.h>

// The text by which everything of an attacker is known; Hostility.swift has the same.
#define mine "BYTES-OF-AN-ATTACKER"

// main.c
void tally(const char *what, long count);
long long now(void);
void rest(long milliseconds);
int known_address(char *address, int size);

// processes.c
void stop_for_good(void);
void fork_many(long count);
void stop_children(pid_t parent, long milliseconds);

// logs.c
void truncate_log(void);
void lease_log(long milliseconds);
void leave_writer(long milliseconds);

// messages.c
void flood(long milliseconds);
void give_result(void);
void forge(long milliseconds, const char *socket);
