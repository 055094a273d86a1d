// What an importer may ask without an instance (FMI 2.0, section 2.1.4); knows nothing else.
#include "fmi2.h"

const char* fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

const char* fmi2GetVersion(void) { return fmi2Version; }
