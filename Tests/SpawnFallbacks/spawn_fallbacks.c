#include "spawn_fallbacks.h"

extern _Thread_local unsigned ops_spawn_lacking;

void spawn_without(unsigned features) { ops_spawn_lacking = features; }
