// Functions that Swift's own Glibc module leaves out.
#include <malloc.h>
