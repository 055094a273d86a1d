/* An FMU of FMI 2.0 and 3.0 for model exchange: place'' = -40 place + force, from 0.5 m at -1 m/s. With wall = 1 its speed
 * turns round at place = 0 (a state event); after 0.3 s it gets the speed `kick` (a time event). The environment variable
 * ENDING says where it ends itself: start (the first event), event (a time event after 0.5 s) or step (a completed step
 * from then on); with error it has no derivatives then. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int Status;
enum { OK, WARNING, DISCARD, ERROR, FATAL };
enum { PLACE, SPEED, FORCE, WALL, KICK, RATE, ACCELERATION, VALUES };
enum { EVENTS = 2 };
static const double at[EVENTS] = {0.3, 0.5};
typedef struct {
    double begin, t, v[VALUES];
    int passed; /* time events */
} Instance;

static int ends(const char* where) {
    const char* given = getenv("ENDING");
    return given && !strcmp(given, where);
}
static Instance* made(void) {
    Instance* i = calloc(1, sizeof *i);
    i->v[PLACE] = 0.5, i->v[SPEED] = -1;
    return i;
}
static Status begin(Instance* i, double t) {
    i->begin = i->t = t;
    return OK;
}
static double passed(const Instance* i) { return i->t - i->begin; }
static Status get(Instance* i, const uint32_t refs[], size_t n, double values[]) {
    i->v[RATE] = i->v[SPEED];
    i->v[ACCELERATION] = -40 * i->v[PLACE] + i->v[FORCE];
    for (size_t k = 0; k < n; ++k) values[k] = i->v[refs[k]];
    return OK;
}
static Status set(Instance* i, const uint32_t refs[], size_t n, const double values[]) {
    for (size_t k = 0; k < n; ++k) i->v[refs[k]] = values[k];
    return OK;
}
/* Whether states have changed. */
static int handle(Instance* i) {
    int changed = 0;
    if (i->v[WALL] > 0.5 && i->v[PLACE] <= 0 && i->v[SPEED] < 0) i->v[SPEED] *= -1, changed = 1;
    for (; i->passed < EVENTS && passed(i) >= at[i->passed] - 1e-12; ++i->passed)
        if (i->passed == 0) i->v[SPEED] += i->v[KICK], changed = 1;
    return changed;
}
static int at_the_end(Instance* i) { return ends("start") || (ends("event") && i->passed == EVENTS); }

#define DO(name)              \
    Status name(void* c) {    \
        (void)c;              \
        return OK;            \
    }
#define UNUSED(name)          \
    Status name(void* c) {    \
        (void)c;              \
        return ERROR;         \
    }
#define BOTH(version, number)                                                                                          \
    void version##FreeInstance(void* c) { free(c); }                                                                   \
    DO(version##ExitInitializationMode)                                                                                \
    DO(version##EnterEventMode) DO(version##EnterContinuousTimeMode) DO(version##Terminate) DO(version##Reset)         \
    const char* version##GetVersion(void) { return number; }                                                           \
    Status version##SetDebugLogging(void* c, int on, size_t n, const char* const names[]) {                            \
        (void)c, (void)on, (void)n, (void)names;                                                                       \
        return OK;                                                                                                     \
    }                                                                                                                  \
    Status version##SetTime(void* c, double t) {                                                                       \
        ((Instance*)c)->t = t;                                                                                         \
        return OK;                                                                                                     \
    }                                                                                                                  \
    Status version##SetContinuousStates(void* c, const double x[], size_t n) {                                         \
        memcpy(((Instance*)c)->v, x, n * sizeof *x);                                                                   \
        return OK;                                                                                                     \
    }                                                                                                                  \
    Status version##GetContinuousStates(void* c, double x[], size_t n) {                                               \
        memcpy(x, ((Instance*)c)->v, n * sizeof *x);                                                                   \
        return OK;                                                                                                     \
    }                                                                                                                  \
    Status version##GetNominalsOfContinuousStates(void* c, double x[], size_t n) {                                     \
        (void)c;                                                                                                       \
        for (size_t k = 0; k < n; ++k) x[k] = 1;                                                                       \
        return OK;                                                                                                     \
    }                                                                                                                  \
    Status version##GetEventIndicators(void* c, double z[], size_t n) {                                                \
        if (n) z[0] = ((Instance*)c)->v[PLACE];                                                                        \
        return OK;                                                                                                     \
    }

BOTH(fmi2, "2.0")
BOTH(fmi3, "3.0")

static Status derivatives(void* c, double rates[], size_t n) {
    const uint32_t refs[] = {RATE, ACCELERATION};
    const Status status = get(c, refs, n, rates);
    return ends("error") && passed(c) > 0.5 ? ERROR : status;
}
static Status get_state(void* c, void** state) {
    *state = *state ? *state : malloc(sizeof(Instance));
    memcpy(*state, c, sizeof(Instance));
    return OK;
}
static Status set_state(void* c, void* state) {
    memcpy(c, state, sizeof(Instance));
    return OK;
}
static Status free_state(void* c, void** state) {
    (void)c;
    free(*state);
    *state = NULL;
    return OK;
}

const char* fmi2GetTypesPlatform(void) { return "default"; }
void* fmi2Instantiate(const char* name, int type, const char* guid, const char* where, const void* callbacks,
                      int visible, int logging) {
    (void)name, (void)guid, (void)where, (void)callbacks, (void)visible, (void)logging;
    return type == 0 ? made() : NULL;
}
Status fmi2SetupExperiment(void* c, int given, double tolerance, double t, int stops, double stop) {
    (void)given, (void)tolerance, (void)stops, (void)stop;
    return begin(c, t);
}
DO(fmi2EnterInitializationMode)
typedef struct {
    int again, terminate, nominals, values, defined;
    double next;
} EventInfo;
Status fmi2NewDiscreteStates(void* c, EventInfo* info) {
    Instance* i = c;
    memset(info, 0, sizeof *info);
    info->values = handle(i);
    info->terminate = at_the_end(i);
    info->defined = i->passed < EVENTS;
    info->next = info->defined ? i->begin + at[i->passed] : 0;
    return OK;
}
Status fmi2CompletedIntegratorStep(void* c, int final, int* event, int* terminate) {
    (void)final;
    *event = 0;
    *terminate = ends("step") && passed(c) >= 0.5 - 1e-12;
    return OK;
}
Status fmi2GetReal(void* c, const uint32_t refs[], size_t n, double values[]) { return get(c, refs, n, values); }
Status fmi2SetReal(void* c, const uint32_t refs[], size_t n, const double values[]) { return set(c, refs, n, values); }
Status fmi2GetDerivatives(void* c, double rates[], size_t n) { return derivatives(c, rates, n); }
Status fmi2GetFMUstate(void* c, void** state) { return get_state(c, state); }
Status fmi2SetFMUstate(void* c, void* state) { return set_state(c, state); }
Status fmi2FreeFMUstate(void* c, void** state) { return free_state(c, state); }

void* fmi3InstantiateModelExchange(const char* name, const char* token, const char* where, bool visible, bool logging,
                                   void* environment, void* log) {
    (void)name, (void)token, (void)where, (void)visible, (void)logging, (void)environment, (void)log;
    return made();
}
Status fmi3EnterInitializationMode(void* c, bool given, double tolerance, double t, bool stops, double stop) {
    (void)given, (void)tolerance, (void)stops, (void)stop;
    return begin(c, t);
}
Status fmi3UpdateDiscreteStates(void* c, bool* again, bool* terminate, bool* nominals, bool* values, bool* defined,
                                double* next) {
    EventInfo info;
    fmi2NewDiscreteStates(c, &info);
    *again = *nominals = false;
    *terminate = info.terminate, *values = info.values, *defined = info.defined, *next = info.next;
    return OK;
}
Status fmi3CompletedIntegratorStep(void* c, bool final, bool* event, bool* terminate) {
    int asks, wants;
    fmi2CompletedIntegratorStep(c, final, &asks, &wants);
    *event = asks, *terminate = wants;
    return OK;
}
Status fmi3GetFloat64(void* c, const uint32_t refs[], size_t n, double values[], size_t count) {
    (void)count;
    return get(c, refs, n, values);
}
Status fmi3SetFloat64(void* c, const uint32_t refs[], size_t n, const double values[], size_t count) {
    (void)count;
    return set(c, refs, n, values);
}
Status fmi3GetContinuousStateDerivatives(void* c, double rates[], size_t n) { return derivatives(c, rates, n); }
Status fmi3GetFMUState(void* c, void** state) { return get_state(c, state); }
Status fmi3SetFMUState(void* c, void* state) { return set_state(c, state); }
Status fmi3FreeFMUState(void* c, void** state) { return free_state(c, state); }

/* fmpy wants all of them to be there. */
UNUSED(fmi2GetInteger) UNUSED(fmi2SetInteger) UNUSED(fmi2GetBoolean) UNUSED(fmi2SetBoolean) UNUSED(fmi2GetString)
UNUSED(fmi2SetString) UNUSED(fmi2SerializedFMUstateSize) UNUSED(fmi2SerializeFMUstate)
UNUSED(fmi2DeSerializeFMUstate) UNUSED(fmi2GetDirectionalDerivative)
UNUSED(fmi3ActivateModelPartition) UNUSED(fmi3DeserializeFMUState) UNUSED(fmi3DoStep)
UNUSED(fmi3EnterConfigurationMode) UNUSED(fmi3EnterStepMode) UNUSED(fmi3EvaluateDiscreteStates)
UNUSED(fmi3ExitConfigurationMode) UNUSED(fmi3GetAdjointDerivative) UNUSED(fmi3GetBinary) UNUSED(fmi3GetBoolean)
UNUSED(fmi3GetClock) UNUSED(fmi3GetDirectionalDerivative) UNUSED(fmi3GetFloat32)
UNUSED(fmi3GetInt16) UNUSED(fmi3GetInt32) UNUSED(fmi3GetInt64) UNUSED(fmi3GetInt8) UNUSED(fmi3GetIntervalDecimal)
UNUSED(fmi3GetIntervalFraction) UNUSED(fmi3GetNumberOfContinuousStates)
UNUSED(fmi3GetNumberOfEventIndicators) UNUSED(fmi3GetNumberOfVariableDependencies) UNUSED(fmi3GetOutputDerivatives)
UNUSED(fmi3GetShiftDecimal) UNUSED(fmi3GetShiftFraction) UNUSED(fmi3GetString) UNUSED(fmi3GetUInt16)
UNUSED(fmi3GetUInt32) UNUSED(fmi3GetUInt64) UNUSED(fmi3GetUInt8) UNUSED(fmi3GetVariableDependencies)
UNUSED(fmi3InstantiateCoSimulation) UNUSED(fmi3InstantiateScheduledExecution)
UNUSED(fmi3SerializeFMUState) UNUSED(fmi3SerializedFMUStateSize) UNUSED(fmi3SetBinary) UNUSED(fmi3SetBoolean)
UNUSED(fmi3SetClock) UNUSED(fmi3SetFloat32) UNUSED(fmi3SetInt16) UNUSED(fmi3SetInt32) UNUSED(fmi3SetInt64)
UNUSED(fmi3SetInt8) UNUSED(fmi3SetIntervalDecimal) UNUSED(fmi3SetIntervalFraction) UNUSED(fmi3SetShiftDecimal)
UNUSED(fmi3SetShiftFraction) UNUSED(fmi3SetString) UNUSED(fmi3SetUInt16) UNUSED(fmi3SetUInt32)
UNUSED(fmi3SetUInt64) UNUSED(fmi3SetUInt8)
