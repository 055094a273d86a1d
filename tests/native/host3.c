/* A master for FMI 3.0 co-simulation without Python: steps an unpacked FMU through its events and prints what it reads.
 *
 *   host3 LIBRARY RESOURCES TOKEN EVENTS SIZE COUNT REFERENCE...
 *
 * COUNT communication steps of SIZE; a row for each, numbers with 17 digits; EVENTS 1: with event mode and early
 * return. Includes our declarations of FMI 3.0, which so are seen to be plain C.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../solver/fmi/fmi3.h"

enum { MOST = 64 };

static void log_message(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category, fmi3String text) {
    (void)environment;
    fprintf(stderr, "%d %s: %s\n", (int)status, category, text);
}

static void* library;

static void* function(const char* name) {
    void* found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s is not exported\n", name);
        exit(2);
    }
    return found;
}

#define CALL(NAME, ...) ((__typeof__(&NAME))function(#NAME))(__VA_ARGS__)
#define CHECK(NAME, ...)                     \
    if (CALL(NAME, __VA_ARGS__) != fmi3OK) { \
        fprintf(stderr, #NAME " failed\n");  \
        return 1;                            \
    }

static int happen(fmi3Instance fmu) {
    fmi3Boolean again, terminate, nominals, values, defined;
    fmi3Float64 next;
    CHECK(fmi3UpdateDiscreteStates, fmu, &again, &terminate, &nominals, &values, &defined, &next)
    CHECK(fmi3EnterStepMode, fmu)
    return 0;
}

static int step_to(fmi3Instance fmu, double* time, double end) {
    while (*time < end) {
        fmi3Boolean event, terminate, early;
        CHECK(fmi3DoStep, fmu, *time, end - *time, true, &event, &terminate, &early, time)
        if (!event) continue;
        CHECK(fmi3EnterEventMode, fmu)
        if (happen(fmu)) return 1;
    }
    return 0;
}

int main(int count, char** arguments) {
    if (count < 8 || count > 7 + MOST) return 2;
    library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    const bool events = atoi(arguments[4]) != 0;
    const double size = atof(arguments[5]);
    const long steps = atol(arguments[6]);
    const size_t wanted = (size_t)count - 7;
    fmi3ValueReference references[MOST];
    for (size_t k = 0; k < wanted; ++k) references[k] = (fmi3ValueReference)strtoul(arguments[7 + k], NULL, 10);
    fmi3Instance fmu = CALL(fmi3InstantiateCoSimulation, "host", arguments[3], arguments[2], false, true, events,
                            events, NULL, 0, NULL, log_message, NULL);
    if (!fmu) return 1;
    CHECK(fmi3EnterInitializationMode, fmu, false, 0, 0, false, 0)
    CHECK(fmi3ExitInitializationMode, fmu)
    if (events && happen(fmu)) return 1;
    double time = 0;
    for (long k = 1; k <= steps; ++k) {
        double values[MOST];
        if (step_to(fmu, &time, (double)k * size)) return 1;
        CHECK(fmi3GetFloat64, fmu, references, wanted, values, wanted)
        for (size_t j = 0; j < wanted; ++j) printf(j ? ",%.17g" : "%.17g", values[j]);
        printf("\n");
    }
    CHECK(fmi3Terminate, fmu)
    CALL(fmi3FreeInstance, fmu);
    return dlclose(library) ? 2 : 0;
}
