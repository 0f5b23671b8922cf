/* The little C that opsd needs: launching a process, and kernel calls that Swift's Glibc module leaves out. */
#pragma once
#include "ops_kernel.h"
#include "ops_spawn.h"
