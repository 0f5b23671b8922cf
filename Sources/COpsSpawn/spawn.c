#include "COpsSpawn.h"
