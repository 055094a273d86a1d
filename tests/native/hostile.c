/* An FMU of FMI 2.0 and 3.0 for co-simulation that does the worst in one function, as the environment variable HOSTILE
 * says: FUNCTION:ACTION. It is y = sin(6 t) + u otherwise. `step` and `late` are doStep and the getters behind
 * t = 0.5 s, `first` and `get` the same before; `load` and `unload` are those of the library. With step:end it wants no
 * more steps: in FMI 2.0 it discards a step after half of it, in FMI 3.0 it takes it whole and says so. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
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
    int ended;
    Callbacks callbacks;
    void (*log)(void*, Status, const char*, const char*); /* of FMI 3.0 */
    void* environment;
} Instance;

static volatile char sink;
static int deep(int n) {
    volatile char frame[4096];
    frame[0] = (char)n;
    const int found = deep(n + 1) + frame[0];
    sink = frame[0];
    return found;
}

static void hang(void) {
    for (;;) usleep(1000);
}
static void* leave(void* unused) {
    _exit(3);
    return unused;
}
/* Megabytes in one line. */
static void flood(FILE* file) {
    char words[10000];
    memset(words, 'x', sizeof words);
    for (int k = 0; k < 400; ++k) fwrite(words, 1, sizeof words, file);
    fflush(file);
}
static void say(Instance* i, const char* category, const char* text) {
    if (i->log)
        i->log(i->environment, WARNING, category, text);
    else
        i->callbacks.logger(i->callbacks.environment, "bad", WARNING, category, "%s", text);
}

/* What ends the process, or does not come back. */
static void end(const char* action) {
    if (!strcmp(action, "crash")) *(volatile int*)8 = 1;
    if (!strcmp(action, "abort")) abort();
    if (!strcmp(action, "exit")) exit(0);
    if (!strcmp(action, "hang")) hang();
    if (!strcmp(action, "overflow")) deep(0);
    if (!strcmp(action, "fpe")) raise(SIGFPE);
    if (!strcmp(action, "ill")) raise(SIGILL);
    if (!strcmp(action, "kill")) raise(SIGKILL);
    if (!strcmp(action, "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, leave, NULL);
        hang();
    }
    if (!strcmp(action, "fork")) { /* what it leaves behind has all that it had open */
        if (fork() == 0) _exit(sleep(20));
        abort();
    }
    if (!strcmp(action, "flood")) {
        flood(stdout), flood(stderr);
        abort();
    }
    if (!strcmp(action, "deaf"))
        for (int k = 3; k < 256; ++k) close(k);
}

/* The status of a function; does not come back from some. */
static Status act(Instance* i, const char* function) {
    const char* given = getenv("HOSTILE");
    const size_t size = strlen(function);
    if (!given || strncmp(given, function, size) || given[size] != ':') return OK;
    const char* action = given + size + 1;
    end(action);
    if (!strcmp(action, "print")) {
        for (int k = 0; k < 1000; ++k) printf("I am printing\n");
        fflush(stdout);
    }
    if (!strcmp(action, "close"))
        for (int k = 0; k < 3; ++k) close(k);
    if (!strcmp(action, "move") && chdir("/")) abort();
    if (!strcmp(action, "garbage")) say(i, "", "\xff\xfe\x80 %s %n");
    if (!strcmp(action, "silence")) say(i, NULL, NULL);
    if (!strcmp(action, "nan")) i->y = NAN;
    if (!strcmp(action, "inf")) i->y = -INFINITY;
    if (!strcmp(action, "discard")) return DISCARD;
    if (!strcmp(action, "error")) return ERROR;
    if (!strcmp(action, "fatal")) return FATAL;
    if (!strcmp(action, "unknown")) return 77;
    if (!strcmp(action, "negative")) return -1;
    return OK;
}

__attribute__((constructor)) static void load(void) { act(NULL, "load"); }
__attribute__((destructor)) static void unload(void) { act(NULL, "unload"); }
/* NULL where the function fails, or the description is not the one of this library. */
static Instance* made(Instance i, const char* guid) {
    Instance* found = malloc(sizeof *found);
    *found = i;
    if (act(found, "instantiate") == OK && !strcmp(guid, "{8c4e810f-3df3-4a00-8276-176fa3c9f9e1}")) return found;
    free(found);
    return NULL;
}

const char* fmi2GetTypesPlatform(void) { return "default"; }
const char* fmi2GetVersion(void) { return "2.0"; }
void* fmi2Instantiate(const char* name, int type, const char* guid, const char* where, const Callbacks* callbacks,
                      int visible, int logging) {
    (void)name, (void)type, (void)where, (void)visible, (void)logging;
    return made((Instance){.callbacks = *callbacks}, guid);
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
    return act(i, i->t > 0.5 ? "late" : "get");
}
Status fmi2SetReal(void* c, const uint32_t refs[], size_t n, const double values[]) {
    (void)refs;
    if (n) ((Instance*)c)->u = values[n - 1];
    return act(c, "set");
}
static int wants_to_end(double t) {
    const char* given = getenv("HOSTILE");
    return t > 0.5 && given && !strcmp(given, "step:end");
}
static void move(Instance* i, double t) {
    i->t = t;
    i->y = sin(6 * t) + i->u;
}
Status fmi2DoStep(void* c, double t, double size, int final) {
    (void)final;
    Instance* i = c;
    i->ended = wants_to_end(t + size);
    move(i, t + (i->ended ? size / 2 : size));
    return i->ended ? DISCARD : act(i, i->t > 0.5 ? "step" : "first");
}
Status fmi2GetInteger(void* c, const uint32_t refs[], size_t n, int values[]) {
    for (size_t k = 0; k < n; ++k) values[k] = refs[k] == 0 ? 2 : (int)((Instance*)c)->u;
    return OK;
}
Status fmi2SetInteger(void* c, const uint32_t refs[], size_t n, const int values[]) {
    (void)refs;
    if (n) ((Instance*)c)->u = values[n - 1];
    return OK;
}
Status fmi2CancelStep(void* c) {
    (void)c;
    return ERROR;
}
Status fmi2GetBooleanStatus(void* c, int kind, int* value) {
    *value = kind == 3 && ((Instance*)c)->ended;
    return OK;
}
Status fmi2GetRealStatus(void* c, int kind, double* value) {
    *value = ((Instance*)c)->t;
    return kind == 2 ? OK : DISCARD;
}

#define UNUSED(name)          \
    Status name(void* c) {    \
        (void)c;              \
        return ERROR;         \
    }
UNUSED(fmi2GetBoolean) UNUSED(fmi2GetString) UNUSED(fmi2SetBoolean)
UNUSED(fmi2SetString) UNUSED(fmi2GetFMUstate) UNUSED(fmi2SetFMUstate) UNUSED(fmi2FreeFMUstate)
UNUSED(fmi2SerializedFMUstateSize) UNUSED(fmi2SerializeFMUstate) UNUSED(fmi2DeSerializeFMUstate)
UNUSED(fmi2GetDirectionalDerivative) UNUSED(fmi2SetRealInputDerivatives) UNUSED(fmi2GetRealOutputDerivatives)
UNUSED(fmi2GetStatus) UNUSED(fmi2GetIntegerStatus) UNUSED(fmi2GetStringStatus)

typedef void (*Log)(void*, Status, const char*, const char*);

const char* fmi3GetVersion(void) { return "3.0"; }
void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* where, bool visible, bool logging,
                                  bool events, bool early, const uint32_t asked[], size_t n, void* environment, Log log,
                                  void* update) {
    (void)name, (void)where, (void)visible, (void)logging, (void)events, (void)early, (void)asked, (void)n, (void)update;
    return made((Instance){.log = log, .environment = environment}, token);
}
void fmi3FreeInstance(void* c) { fmi2FreeInstance(c); }
Status fmi3EnterInitializationMode(void* c, bool given, double tolerance, double t, bool ends, double end) {
    (void)given, (void)tolerance, (void)ends, (void)end;
    ((Instance*)c)->t = t;
    return act(c, "enter");
}
Status fmi3ExitInitializationMode(void* c) { return act(c, "leave"); }
Status fmi3Terminate(void* c) { return act(c, "terminate"); }
Status fmi3GetFloat64(void* c, const uint32_t refs[], size_t n, double values[], size_t count) {
    (void)count;
    return fmi2GetReal(c, refs, n, values);
}
Status fmi3SetFloat64(void* c, const uint32_t refs[], size_t n, const double values[], size_t count) {
    (void)count;
    return fmi2SetReal(c, refs, n, values);
}
Status fmi3DoStep(void* c, double t, double size, bool final, bool* event, bool* terminate, bool* early,
                  double* reached) {
    (void)final;
    move(c, t + size);
    *event = *early = false;
    *terminate = wants_to_end(t + size);
    *reached = t + size;
    return act(c, t + size > 0.5 ? "step" : "first");
}

/* fmpy wants all of them to be there. */
UNUSED(fmi3ActivateModelPartition) UNUSED(fmi3CompletedIntegratorStep) UNUSED(fmi3DeserializeFMUState)
UNUSED(fmi3EnterConfigurationMode) UNUSED(fmi3EnterContinuousTimeMode) UNUSED(fmi3EnterEventMode)
UNUSED(fmi3EnterStepMode) UNUSED(fmi3EvaluateDiscreteStates) UNUSED(fmi3ExitConfigurationMode)
UNUSED(fmi3FreeFMUState) UNUSED(fmi3GetAdjointDerivative) UNUSED(fmi3GetBinary) UNUSED(fmi3GetBoolean)
UNUSED(fmi3GetClock) UNUSED(fmi3GetContinuousStateDerivatives) UNUSED(fmi3GetContinuousStates)
UNUSED(fmi3GetDirectionalDerivative) UNUSED(fmi3GetEventIndicators) UNUSED(fmi3GetFMUState) UNUSED(fmi3GetFloat32)
UNUSED(fmi3GetInt16) UNUSED(fmi3GetInt32) UNUSED(fmi3GetInt64) UNUSED(fmi3GetInt8) UNUSED(fmi3GetIntervalDecimal)
UNUSED(fmi3GetIntervalFraction) UNUSED(fmi3GetNominalsOfContinuousStates) UNUSED(fmi3GetNumberOfContinuousStates)
UNUSED(fmi3GetNumberOfEventIndicators) UNUSED(fmi3GetNumberOfVariableDependencies) UNUSED(fmi3GetOutputDerivatives)
UNUSED(fmi3GetShiftDecimal) UNUSED(fmi3GetShiftFraction) UNUSED(fmi3GetString) UNUSED(fmi3GetUInt16)
UNUSED(fmi3GetUInt32) UNUSED(fmi3GetUInt64) UNUSED(fmi3GetUInt8) UNUSED(fmi3GetVariableDependencies)
UNUSED(fmi3InstantiateModelExchange) UNUSED(fmi3InstantiateScheduledExecution) UNUSED(fmi3Reset)
UNUSED(fmi3SerializeFMUState) UNUSED(fmi3SerializedFMUStateSize) UNUSED(fmi3SetBinary) UNUSED(fmi3SetBoolean)
UNUSED(fmi3SetClock) UNUSED(fmi3SetContinuousStates) UNUSED(fmi3SetDebugLogging) UNUSED(fmi3SetFMUState)
UNUSED(fmi3SetFloat32) UNUSED(fmi3SetInt16) UNUSED(fmi3SetInt32) UNUSED(fmi3SetInt64) UNUSED(fmi3SetInt8)
UNUSED(fmi3SetIntervalDecimal) UNUSED(fmi3SetIntervalFraction) UNUSED(fmi3SetShiftDecimal)
UNUSED(fmi3SetShiftFraction) UNUSED(fmi3SetString) UNUSED(fmi3SetTime) UNUSED(fmi3SetUInt16) UNUSED(fmi3SetUInt32)
UNUSED(fmi3SetUInt64) UNUSED(fmi3SetUInt8) UNUSED(fmi3UpdateDiscreteStates)
