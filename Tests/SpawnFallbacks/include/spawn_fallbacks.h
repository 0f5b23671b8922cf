/* Fallbacks of COpsSpawn on a kernel that needs none of them. */
#pragma once

/* Features of enum ops_spawn_feature. */
enum spawn_feature {
    SPAWN_CLONE3 = 1,
    SPAWN_INTO_CGROUP = 2,
    SPAWN_CLOSE_RANGE = 4,
    SPAWN_CLEAR_SIGHAND = 8,
};

/* Lets starts of this thread go on as if it had found out that the kernel lacks these features, and no others. */
void spawn_without(unsigned features);
