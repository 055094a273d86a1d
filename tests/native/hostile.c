/* An FMU of FMI 2.0 for co-simulation that does the worst in one function, as the environment variable HOSTILE says:
 * FUNCTION:ACTION. It is y = sin(6 t) + u otherwise. Faults of doStep wait until t = 0.5 s. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Status;
enum { OK, WARNING, DISCARD, ERROR, FATAL };
typedef struct {
    void (*logger)(void*, const char*, Status, const char*, const char*, ...);
    void *allocate, *release, *finished, *environment;
} Callbacks;
typedef struct {
    double t, u, y;
    Callbacks callbacks;
} Instance;

static volatile char sink;
static int deep(int n) {
    volatile char frame[4096];
    frame[0] = (char)n;
    const int found = deep(n + 1) + frame[0];
    sink = frame[0];
    return found;
}

/* The status of a function; does not come back from some. */
static Status act(Instance* i, const char* function) {
    const char* given = getenv("HOSTILE");
    const size_t size = strlen(function);
    if (!given || strncmp(given, function, size) || given[size] != ':') return OK;
    const char* action = given + size + 1;
    if (!strcmp(action, "crash")) *(volatile int*)8 = 1;
    if (!strcmp(action, "abort")) abort();
    if (!strcmp(action, "exit")) exit(0);
    if (!strcmp(action, "hang"))
        for (;;) usleep(1000);
    if (!strcmp(action, "overflow")) deep(0);
    if (!strcmp(action, "print")) {
        for (int k = 0; k < 1000; ++k) printf("I am printing\n");
        fflush(stdout);
    }
    if (!strcmp(action, "garbage")) {
        const char bytes[] = "\xff\xfe\x80 %s %n";
        i->callbacks.logger(i->callbacks.environment, "bad", WARNING, "", "%s", bytes);
    }
    if (!strcmp(action, "nan") && i) i->y = NAN;
    if (!strcmp(action, "discard")) return DISCARD;
    if (!strcmp(action, "error")) return ERROR;
    if (!strcmp(action, "fatal")) return FATAL;
    return OK;
}

const char* fmi2GetTypesPlatform(void) { return "default"; }
const char* fmi2GetVersion(void) { return "2.0"; }
void* fmi2Instantiate(const char* name, int type, const char* guid, const char* where, const Callbacks* callbacks,
                      int visible, int logging) {
    (void)name, (void)type, (void)guid, (void)where, (void)visible, (void)logging;
    Instance* i = calloc(1, sizeof *i);
    i->callbacks = *callbacks;
    return act(i, "instantiate") == OK ? i : NULL;
}
void fmi2FreeInstance(void* c) {
    act(c, "free");
    free(c);
}
Status fmi2SetDebugLogging(void* c, int on, size_t n, const char* const names[]) {
    (void)c, (void)on, (void)n, (void)names;
    return OK;
}
Status fmi2SetupExperiment(void* c, int given, double tolerance, double t, int ends, double end) {
    (void)given, (void)tolerance, (void)ends, (void)end;
    ((Instance*)c)->t = t;
    return act(c, "setup");
}
Status fmi2EnterInitializationMode(void* c) { return act(c, "enter"); }
Status fmi2ExitInitializationMode(void* c) { return act(c, "leave"); }
Status fmi2Terminate(void* c) { return act(c, "terminate"); }
Status fmi2Reset(void* c) {
    (void)c;
    return OK;
}
Status fmi2GetReal(void* c, const uint32_t refs[], size_t n, double values[]) {
    Instance* i = c;
    for (size_t k = 0; k < n; ++k) values[k] = refs[k] == 0 ? i->y : i->u;
    return act(i, "get");
}
Status fmi2SetReal(void* c, const uint32_t refs[], size_t n, const double values[]) {
    (void)refs;
    if (n) ((Instance*)c)->u = values[n - 1];
    return act(c, "set");
}
Status fmi2DoStep(void* c, double t, double size, int final) {
    (void)final;
    Instance* i = c;
    i->t = t + size;
    i->y = sin(6 * i->t) + i->u;
    return i->t > 0.5 ? act(i, "step") : OK;
}
Status fmi2CancelStep(void* c) {
    (void)c;
    return ERROR;
}
Status fmi2GetBooleanStatus(void* c, int kind, int* value) {
    (void)c;
    *value = kind == 3 && getenv("HOSTILE") && !strcmp(getenv("HOSTILE"), "step:discard") && getenv("HOSTILE_ENDED");
    return OK;
}

#define UNUSED(name)          \
    Status name(void* c) {    \
        (void)c;              \
        return ERROR;         \
    }
UNUSED(fmi2GetInteger) UNUSED(fmi2GetBoolean) UNUSED(fmi2GetString) UNUSED(fmi2SetInteger) UNUSED(fmi2SetBoolean)
UNUSED(fmi2SetString) UNUSED(fmi2GetFMUstate) UNUSED(fmi2SetFMUstate) UNUSED(fmi2FreeFMUstate)
UNUSED(fmi2SerializedFMUstateSize) UNUSED(fmi2SerializeFMUstate) UNUSED(fmi2DeSerializeFMUstate)
UNUSED(fmi2GetDirectionalDerivative) UNUSED(fmi2SetRealInputDerivatives) UNUSED(fmi2GetRealOutputDerivatives)
UNUSED(fmi2GetStatus) UNUSED(fmi2GetRealStatus) UNUSED(fmi2GetIntegerStatus) UNUSED(fmi2GetStringStatus)
