/* A master for FMI 2.0 co-simulation without Python: it loads an unpacked FMU as other tools do and plays a script of
 * calls. Must not know the solver, its headers or the models; what it declares of FMI is written from the standard.
 *
 *   host play    [-s] FOLDER SCRIPT        one call a line; values that are read are printed with 17 digits
 *   host cycles  FOLDER SCRIPT COUNT       plays it COUNT times; prints bytes a cycle and open files before and after
 *   host loads   FOLDER SCRIPT COUNT       the same, and the library is loaded and unloaded every time
 *   host threads FOLDER SCRIPT COUNT       plays it alone, then in COUNT threads at once; the same output or failure
 *
 * -s: go on after refusals, and print after every call its status and what was said (`= 3 logStatusError: ...`).
 * Exit codes: 0, 1 a call was refused or an output differs, 2 wrong use.
 *
 * Calls (R: value reference, V: value, -: not given; K: a slot):
 *   use K | instantiate [guid=G] [type=N] [resources=URI] [callbacks=none|mute] [logging=N] | free
 *   setup START [STOP [TOLERANCE]] | enter | exit | terminate | reset | debug ON [CATEGORY...]
 *   real R V ... | integer R V ... | boolean R V ... | string R TEXT | slope ORDER R V ...
 *   getreal R ... | getinteger R ... | getboolean R ... | getstring R ... | rates ORDER R ...
 *   step TIME SIZE | march SIZE COUNT | lasttime | ended | cancel | derivative UNKNOWN KNOWN SEED
 *   save K | restore K | forget K | write K FILE | load K FILE | clock (ns of the processor since the last one)
 */
#ifdef _WIN32
#include <windows.h>
#else
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#endif
#ifdef __linux__
#include <dirent.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- FMI 2.0, sections 2.1 and 4.2 */

typedef void* Component;
typedef void* State;
typedef unsigned int Reference;
enum { FMI_OK, FMI_WARNING, FMI_DISCARD, FMI_ERROR, FMI_FATAL };
enum { LAST_SUCCESSFUL_TIME = 2, TERMINATED = 3 };

typedef struct {
    void (*logger)(void* environment, const char* instance, int status, const char* category, const char* message, ...);
    void* (*allocate)(size_t count, size_t size);
    void (*release)(void* memory);
    void (*step_finished)(void* environment, int status);
    void* environment;
} Callbacks;

#define FUNCTIONS(F)                                                                                     \
    F(const char*, GetTypesPlatform, (void))                                                             \
    F(const char*, GetVersion, (void))                                                                   \
    F(int, SetDebugLogging, (Component, int, size_t, const char* const[]))                               \
    F(Component, Instantiate, (const char*, int, const char*, const char*, const Callbacks*, int, int))  \
    F(void, FreeInstance, (Component))                                                                   \
    F(int, SetupExperiment, (Component, int, double, double, int, double))                               \
    F(int, EnterInitializationMode, (Component))                                                         \
    F(int, ExitInitializationMode, (Component))                                                          \
    F(int, Terminate, (Component))                                                                       \
    F(int, Reset, (Component))                                                                           \
    F(int, GetReal, (Component, const Reference[], size_t, double[]))                                    \
    F(int, GetInteger, (Component, const Reference[], size_t, int[]))                                    \
    F(int, GetBoolean, (Component, const Reference[], size_t, int[]))                                    \
    F(int, GetString, (Component, const Reference[], size_t, const char*[]))                             \
    F(int, SetReal, (Component, const Reference[], size_t, const double[]))                              \
    F(int, SetInteger, (Component, const Reference[], size_t, const int[]))                              \
    F(int, SetBoolean, (Component, const Reference[], size_t, const int[]))                              \
    F(int, SetString, (Component, const Reference[], size_t, const char* const[]))                       \
    F(int, GetFMUstate, (Component, State*))                                                             \
    F(int, SetFMUstate, (Component, State))                                                              \
    F(int, FreeFMUstate, (Component, State*))                                                            \
    F(int, SerializedFMUstateSize, (Component, State, size_t*))                                          \
    F(int, SerializeFMUstate, (Component, State, char[], size_t))                                        \
    F(int, DeSerializeFMUstate, (Component, const char[], size_t, State*))                               \
    F(int, GetDirectionalDerivative,                                                                     \
      (Component, const Reference[], size_t, const Reference[], size_t, const double[], double[]))       \
    F(int, SetRealInputDerivatives, (Component, const Reference[], size_t, const int[], const double[])) \
    F(int, GetRealOutputDerivatives, (Component, const Reference[], size_t, const int[], double[]))      \
    F(int, DoStep, (Component, double, double, int))                                                     \
    F(int, CancelStep, (Component))                                                                      \
    F(int, GetStatus, (Component, int, int*))                                                            \
    F(int, GetRealStatus, (Component, int, double*))                                                     \
    F(int, GetIntegerStatus, (Component, int, int*))                                                     \
    F(int, GetBooleanStatus, (Component, int, int*))                                                     \
    F(int, GetStringStatus, (Component, int, const char**))

typedef struct {
    char *guid, *identifier, *resources;
    void* library;
#define POINTER(result, name, arguments) result(*name) arguments;
    FUNCTIONS(POINTER)
#undef POINTER
} Fmu;

/* ---------------------------------------------------------------- texts */

typedef struct {
    char* data;
    size_t size, room;
} Text;

static void die(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("host: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

static void* allocated(void* memory) {
    if (!memory) die("out of memory");
    return memory;
}

static void append_n(Text* text, const char* data, size_t size) {
    if (text->size + size + 1 > text->room) {
        text->room = 2 * (text->size + size + 1);
        text->data = allocated(realloc(text->data, text->room));
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = 0;
}

static void append(Text* text, const char* data) { append_n(text, data, strlen(data)); }

static void append_number(Text* text, double value) {
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", value);
    append(text, digits);
}

static char* copy_of(const char* data, size_t size) {
    Text text = {0};
    append_n(&text, data, size);
    return text.data;
}

static char* joined(const char* a, const char* b) {
    Text text = {0};
    append(&text, a);
    append(&text, b);
    return text.data;
}

/* ---------------------------------------------------------------- the machine: files, libraries, threads, clocks */

#ifdef _WIN32
#define SUFFIX ".dll"
#ifdef _WIN64
#define PLATFORM "win64"
#else
#define PLATFORM "win32"
#endif

static wchar_t* wide(const char* text) {
    int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t* result = allocated(malloc(size * sizeof *result));
    MultiByteToWideChar(CP_UTF8, 0, text, -1, result, size);
    return result;
}

static char* narrow(const wchar_t* text) {
    int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char* result = allocated(malloc(size));
    WideCharToMultiByte(CP_UTF8, 0, text, -1, result, size, NULL, NULL);
    return result;
}

static FILE* opened(const char* path, const char* mode) {
    wchar_t *path_ = wide(path), *mode_ = wide(mode);
    FILE* file = _wfopen(path_, mode_);
    free(path_);
    free(mode_);
    return file;
}

static char* absolute(const char* path) {
    wchar_t *path_ = wide(path), *full = _wfullpath(NULL, path_, 0);
    char* result = full ? narrow(full) : NULL;
    free(path_);
    free(full);
    for (char* c = result; c && *c; ++c)
        if (*c == '\\') *c = '/';
    return result;
}

static void* open_library(const char* path) {
    wchar_t* path_ = wide(path);
    void* library = LoadLibraryW(path_);
    free(path_);
    if (!library) die("%s: cannot be loaded, error %lu", path, GetLastError());
    return library;
}

static void* symbol(void* library, const char* name) { return (void*)GetProcAddress(library, name); }
static void close_library(void* library) { FreeLibrary(library); }

static double nanoseconds(void) {
    LARGE_INTEGER ticks, frequency;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&frequency);
    return 1e9 * ticks.QuadPart / frequency.QuadPart;
}

typedef HANDLE Thread;
static DWORD WINAPI entered(void* argument);
static void start_thread(Thread* thread, void* argument) {
    *thread = CreateThread(NULL, 0, entered, argument, 0, NULL);
}
static void join_thread(Thread thread) { WaitForSingleObject(thread, INFINITE); }
#define ENTERED static DWORD WINAPI entered(void* argument)
#else
#ifdef __APPLE__
#define SUFFIX ".dylib"
#else
#define SUFFIX ".so"
#endif
#if defined __APPLE__ && defined __aarch64__
#define PLATFORM "aarch64-darwin"
#elif defined __APPLE__
#define PLATFORM "darwin64"
#elif defined __aarch64__
#define PLATFORM "aarch64-linux"
#else
#define PLATFORM "linux64"
#endif

static FILE* opened(const char* path, const char* mode) { return fopen(path, mode); }
static char* absolute(const char* path) { return realpath(path, NULL); }

static void* open_library(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) die("%s", dlerror());
    return library;
}

static void* symbol(void* library, const char* name) { return dlsym(library, name); }
static void close_library(void* library) { dlclose(library); }

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * now.tv_sec + now.tv_nsec;
}

typedef pthread_t Thread;
static void* entered(void* argument);
static void start_thread(Thread* thread, void* argument) {
    if (pthread_create(thread, NULL, entered, argument)) die("no more threads");
}
static void join_thread(Thread thread) { pthread_join(thread, NULL); }
#define ENTERED static void* entered(void* argument)
#endif

/* What the process holds: of the heap where the C library tells, else of resident pages. */
static double bytes_in_use(void) {
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
#elif defined __linux__
    long pages = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
#else
    return 0;
#endif
}

static int open_files(void) {
    int count = 0;
#ifdef __linux__
    DIR* folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) ++count;
    if (folder) closedir(folder);
#elif defined _WIN32
    DWORD handles = 0;
    if (GetProcessHandleCount(GetCurrentProcess(), &handles)) count = (int)handles;
#endif
    return count;
}

static Text content_of(const char* path) {
    FILE* file = opened(path, "rb");
    if (!file) die("%s: cannot be read: %s", path, strerror(errno));
    Text text = {0};
    char block[4096];
    append(&text, "");
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) append_n(&text, block, n);
    fclose(file);
    return text;
}

/* ---------------------------------------------------------------- the FMU */

static char* attribute(const char* xml, const char* name) {
    char* start = joined(name, "=\"");
    const char* found = strstr(xml, start);
    if (!found) die("modelDescription.xml has no attribute %s", name);
    found += strlen(start);
    free(start);
    return copy_of(found, strcspn(found, "\""));
}

/* RFC 3986: whatever is not unreserved is written as %XX, byte by byte of UTF-8. */
static char* uri_of(const char* path) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:";
    Text uri = {0};
    append(&uri, *path == '/' ? "file://" : "file:///");
    for (; *path; ++path) {
        char code[4];
        snprintf(code, sizeof code, "%%%02X", (unsigned char)*path);
        append_n(&uri, strchr(plain, *path) ? path : code, strchr(plain, *path) ? 1 : 3);
    }
    return uri.data;
}

static char* library_of(const char* folder, const char* identifier) {
    Text path = {0};
    append(&path, folder);
    append(&path, "/binaries/" PLATFORM "/");
    append(&path, identifier);
    append(&path, SUFFIX);
    return path.data;
}

static void load(Fmu* fmu, const char* given) {
    char* folder = absolute(given);
    if (!folder) die("%s: there is no such folder", given);
    char* xml_file = joined(folder, "/modelDescription.xml");
    Text xml = content_of(xml_file);
    fmu->guid = attribute(xml.data, "guid");
    fmu->identifier = attribute(xml.data, "modelIdentifier");
    char *resources = joined(folder, "/resources"), *library = library_of(folder, fmu->identifier);
    fmu->resources = uri_of(resources);
    fmu->library = open_library(library);
#define FIND(result, name, arguments)                         \
    *(void**)&fmu->name = symbol(fmu->library, "fmi2" #name); \
    if (!fmu->name) die("%s has no function fmi2" #name, library);
    FUNCTIONS(FIND)
#undef FIND
    free(folder), free(xml_file), free(xml.data), free(resources), free(library);
}

static void unload(Fmu* fmu) {
    close_library(fmu->library);
    free(fmu->guid), free(fmu->identifier), free(fmu->resources);
}

/* ---------------------------------------------------------------- the player */

enum { INSTANCES = 8, SLOTS = 16, WORDS = 8192 };

typedef struct {
    const Fmu* fmu;
    int trace; /* go on after refusals and print every status */
    int current;
    Component instances[INSTANCES];
    State slots[SLOTS];
    Component owners[SLOTS];
    Callbacks callbacks;
    double time; /* end of the last step that was asked for */
    double clock;
    Text out, heard;
    int refused; /* the first status that was not accepted */
    char** words;
    int count;
} Player;

static void hear(void* environment, const char* instance, int status, const char* category, const char* message, ...) {
    Player* player = environment;
    char text[4096];
    va_list arguments;
    va_start(arguments, message);
    vsnprintf(text, sizeof text, message, arguments);
    va_end(arguments);
    (void)instance, (void)status;
    if (player->heard.size) append(&player->heard, "; ");
    append(&player->heard, category ? category : "(null)");
    append(&player->heard, ": ");
    append(&player->heard, text);
}

static Component instance_of(Player* p) { return p->instances[p->current]; }
static const char* word(const Player* p, int k) { return k < p->count ? p->words[k] : "-"; }
static double number(const Player* p, int k) { return strtod(word(p, k), NULL); }
static int given(const Player* p, int k) { return strcmp(word(p, k), "-") != 0; }

static int slot(const Player* p, int k) {
    int index = atoi(word(p, k));
    if (index < 0 || index >= SLOTS) die("there is no slot %s", word(p, k));
    return index;
}

/* References and values of words k, k + 1, ...; pairs where `values` are asked for. The caller frees both. */
static size_t arrays(const Player* p, int k, Reference** references, double** values) {
    int stride = values ? 2 : 1;
    size_t n = p->count > k ? (size_t)(p->count - k) / stride : 0;
    *references = allocated(calloc(n + 1, sizeof **references));
    if (values) *values = allocated(calloc(n + 1, sizeof **values));
    for (size_t i = 0; i < n; ++i) {
        (*references)[i] = (Reference)strtoul(word(p, k + stride * (int)i), NULL, 10);
        if (values) (*values)[i] = number(p, k + 2 * (int)i + 1);
    }
    return n;
}

static void print_row(Player* p, const double* values, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (i) append(&p->out, ",");
        append_number(&p->out, values[i]);
    }
    append(&p->out, "\n");
}

static int do_use(Player* p) {
    p->current = slot(p, 1) % INSTANCES;
    return FMI_OK;
}

static void* unwanted(size_t count, size_t size) {
    (void)count, (void)size;
    die("the FMU allocates memory through the master, although it says that it does not");
    return NULL;
}

static int do_instantiate(Player* p) {
    const char *guid = p->fmu->guid, *resources = p->fmu->resources;
    int type = 1, logging = 0;
    Callbacks* callbacks = &p->callbacks;
    *callbacks = (Callbacks){hear, unwanted, free, NULL, p};
    for (int k = 1; k < p->count; ++k) {
        const char* w = word(p, k);
        if (!strncmp(w, "guid=", 5)) guid = strcmp(w + 5, "none") ? w + 5 : NULL;
        if (!strncmp(w, "resources=", 10)) resources = strcmp(w + 10, "none") ? w + 10 : NULL;
        if (!strncmp(w, "type=", 5)) type = atoi(w + 5);
        if (!strncmp(w, "logging=", 8)) logging = atoi(w + 8);
        if (!strcmp(w, "callbacks=mute")) callbacks->logger = NULL;
        if (!strcmp(w, "callbacks=none")) callbacks = NULL;
    }
    p->instances[p->current] = p->fmu->Instantiate("judged", type, guid, resources, callbacks, 0, logging);
    return instance_of(p) ? FMI_OK : FMI_ERROR;
}

static int do_free(Player* p) {
    for (int k = 0; k < SLOTS; ++k) {
        if (!p->slots[k] || p->owners[k] != instance_of(p)) continue;
        p->fmu->FreeFMUstate(instance_of(p), &p->slots[k]);
        p->slots[k] = NULL;
    }
    p->fmu->FreeInstance(instance_of(p));
    p->instances[p->current] = NULL;
    return FMI_OK;
}

static int do_setup(Player* p) {
    p->time = number(p, 1);
    return p->fmu->SetupExperiment(instance_of(p), given(p, 3), given(p, 3) ? number(p, 3) : 0, p->time, given(p, 2),
                                   given(p, 2) ? number(p, 2) : 0);
}

static int do_enter(Player* p) { return p->fmu->EnterInitializationMode(instance_of(p)); }
static int do_exit(Player* p) { return p->fmu->ExitInitializationMode(instance_of(p)); }
static int do_terminate(Player* p) { return p->fmu->Terminate(instance_of(p)); }
static int do_reset(Player* p) { return p->fmu->Reset(instance_of(p)); }
static int do_cancel(Player* p) { return p->fmu->CancelStep(instance_of(p)); }

static int do_debug(Player* p) {
    size_t n = p->count > 2 ? (size_t)p->count - 2 : 0;
    return p->fmu->SetDebugLogging(instance_of(p), atoi(word(p, 1)), n, (const char* const*)p->words + 2);
}

static int do_real(Player* p) {
    Reference* references;
    double* values;
    size_t n = arrays(p, 1, &references, &values);
    int status = p->fmu->SetReal(instance_of(p), references, n, values);
    free(references), free(values);
    return status;
}

static int set_whole(Player* p, int (*set)(Component, const Reference[], size_t, const int[])) {
    Reference* references;
    double* values;
    size_t n = arrays(p, 1, &references, &values);
    int* whole = allocated(calloc(n + 1, sizeof *whole));
    for (size_t i = 0; i < n; ++i) whole[i] = (int)values[i];
    int status = set(instance_of(p), references, n, whole);
    free(references), free(values), free(whole);
    return status;
}

static int do_integer(Player* p) { return set_whole(p, p->fmu->SetInteger); }
static int do_boolean(Player* p) { return set_whole(p, p->fmu->SetBoolean); }

static int do_string(Player* p) {
    Reference reference = (Reference)strtoul(word(p, 1), NULL, 10);
    const char* value = word(p, 2);
    return p->fmu->SetString(instance_of(p), &reference, 1, &value);
}

static int* orders_of(const Player* p, size_t n) {
    int* orders = allocated(calloc(n + 1, sizeof *orders));
    for (size_t i = 0; i < n; ++i) orders[i] = atoi(word(p, 1));
    return orders;
}

static int do_slope(Player* p) {
    Reference* references;
    double* values;
    size_t n = arrays(p, 2, &references, &values);
    int* orders = orders_of(p, n);
    int status = p->fmu->SetRealInputDerivatives(instance_of(p), references, n, orders, values);
    free(references), free(values), free(orders);
    return status;
}

static int do_getreal(Player* p) {
    Reference* references;
    size_t n = arrays(p, 1, &references, NULL);
    double* values = allocated(calloc(n + 1, sizeof *values));
    int status = p->fmu->GetReal(instance_of(p), references, n, values);
    if (status <= FMI_WARNING) print_row(p, values, n);
    free(references), free(values);
    return status;
}

static int get_whole(Player* p, int (*get)(Component, const Reference[], size_t, int[])) {
    Reference* references;
    size_t n = arrays(p, 1, &references, NULL);
    int* whole = allocated(calloc(n + 1, sizeof *whole));
    double* values = allocated(calloc(n + 1, sizeof *values));
    int status = get(instance_of(p), references, n, whole);
    for (size_t i = 0; i < n; ++i) values[i] = whole[i];
    if (status <= FMI_WARNING) print_row(p, values, n);
    free(references), free(values), free(whole);
    return status;
}

static int do_getinteger(Player* p) { return get_whole(p, p->fmu->GetInteger); }
static int do_getboolean(Player* p) { return get_whole(p, p->fmu->GetBoolean); }

static int do_getstring(Player* p) {
    Reference* references;
    size_t n = arrays(p, 1, &references, NULL);
    const char** values = allocated(calloc(n + 1, sizeof *values));
    int status = p->fmu->GetString(instance_of(p), references, n, values);
    for (size_t i = 0; i < n && status <= FMI_WARNING; ++i) {
        append(&p->out, values[i] ? values[i] : "(null)");
        append(&p->out, "\n");
    }
    free(references), free((void*)values);
    return status;
}

static int do_rates(Player* p) {
    Reference* references;
    size_t n = arrays(p, 2, &references, NULL);
    double* values = allocated(calloc(n + 1, sizeof *values));
    int* orders = orders_of(p, n);
    int status = p->fmu->GetRealOutputDerivatives(instance_of(p), references, n, orders, values);
    if (status <= FMI_WARNING) print_row(p, values, n);
    free(references), free(values), free(orders);
    return status;
}

static int do_derivative(Player* p) {
    Reference unknown = (Reference)strtoul(word(p, 1), NULL, 10), known = (Reference)strtoul(word(p, 2), NULL, 10);
    double seed = number(p, 3), value = 0;
    int status = p->fmu->GetDirectionalDerivative(instance_of(p), &unknown, 1, &known, 1, &seed, &value);
    if (status <= FMI_WARNING) print_row(p, &value, 1);
    return status;
}

static int do_step(Player* p) {
    double time = number(p, 1), size = number(p, 2);
    p->time = time + size;
    return p->fmu->DoStep(instance_of(p), time, size, 0);
}

/* Communication points as in the example of the standard, section 4.2.5: tc += h. */
static int do_march(Player* p) {
    double size = number(p, 1);
    long count = atol(word(p, 2));
    Component instance = instance_of(p);
    for (long k = 0; k < count; ++k) {
        int status = p->fmu->DoStep(instance, p->time, size, 1);
        if (status > FMI_WARNING) return status;
        p->time += size;
    }
    return FMI_OK;
}

static int do_lasttime(Player* p) {
    double value = 0;
    int status = p->fmu->GetRealStatus(instance_of(p), LAST_SUCCESSFUL_TIME, &value);
    if (status <= FMI_WARNING) print_row(p, &value, 1);
    return status;
}

static int do_ended(Player* p) {
    int value = 0;
    int status = p->fmu->GetBooleanStatus(instance_of(p), TERMINATED, &value);
    double number_ = value;
    if (status <= FMI_WARNING) print_row(p, &number_, 1);
    return status;
}

static int do_save(Player* p) {
    int k = slot(p, 1);
    p->owners[k] = instance_of(p);
    return p->fmu->GetFMUstate(instance_of(p), &p->slots[k]);
}

static int do_restore(Player* p) { return p->fmu->SetFMUstate(instance_of(p), p->slots[slot(p, 1)]); }

static int do_forget(Player* p) {
    int k = slot(p, 1), status = p->fmu->FreeFMUstate(instance_of(p), &p->slots[k]);
    if (p->slots[k]) append(&p->out, "the pointer is left\n");
    p->slots[k] = NULL;
    return status;
}

static int do_write(Player* p) {
    State state = p->slots[slot(p, 1)];
    size_t size = 0;
    int status = p->fmu->SerializedFMUstateSize(instance_of(p), state, &size);
    if (status > FMI_WARNING) return status;
    char* bytes = allocated(malloc(size + 1));
    status = p->fmu->SerializeFMUstate(instance_of(p), state, bytes, size);
    FILE* file = status <= FMI_WARNING ? opened(word(p, 2), "wb") : NULL;
    if (file) {
        fwrite(bytes, 1, size, file);
        fclose(file);
    }
    free(bytes);
    return status;
}

static int do_load(Player* p) {
    Text bytes = content_of(word(p, 2));
    int k = slot(p, 1);
    p->owners[k] = instance_of(p);
    int status = p->fmu->DeSerializeFMUstate(instance_of(p), bytes.data, bytes.size, &p->slots[k]);
    free(bytes.data);
    return status;
}

static int do_clock(Player* p) {
    double now = nanoseconds(), since = now - p->clock;
    if (p->clock) print_row(p, &since, 1);
    p->clock = nanoseconds();
    return FMI_OK;
}

typedef struct {
    const char* name;
    int (*run)(Player*);
} Call;

#define CALL(name) {#name, do_##name}
static const Call CALLS[] = {
    CALL(use),       CALL(instantiate), CALL(free),    CALL(setup),      CALL(enter),      CALL(exit),
    CALL(terminate), CALL(reset),       CALL(debug),   CALL(real),       CALL(integer),    CALL(boolean),
    CALL(string),    CALL(slope),       CALL(getreal), CALL(getinteger), CALL(getboolean), CALL(getstring),
    CALL(rates),     CALL(derivative),  CALL(step),    CALL(march),      CALL(lasttime),   CALL(ended),
    CALL(cancel),    CALL(save),        CALL(restore), CALL(forget),     CALL(write),      CALL(load),
    CALL(clock),
};

/* `string` and the names of files may hold blanks: the last of three words goes on to the end of the line. */
static int split(char* line, char** words) {
    int count = 0, most = WORDS;
    if (!strncmp(line, "string ", 7) || !strncmp(line, "write ", 6) || !strncmp(line, "load ", 5)) most = 3;
    for (char* next = line; *next && count < most;) {
        words[count++] = next;
        char* end = count < most ? next + strcspn(next, " ") : next + strlen(next);
        next = *end ? end + 1 : end;
        *end = 0;
    }
    return count;
}

static int call(Player* p) {
    for (size_t k = 0; k < sizeof CALLS / sizeof *CALLS; ++k)
        if (!strcmp(word(p, 0), CALLS[k].name)) return CALLS[k].run(p);
    die("there is no call %s", word(p, 0));
    return FMI_ERROR;
}

static void tell(Player* p, int status) {
    char code[16];
    snprintf(code, sizeof code, "= %d ", status);
    append(&p->out, code);
    for (char* c = p->heard.data; c && *c; ++c)
        if (*c == '\n') *c = ' ';
    append(&p->out, p->heard.size ? p->heard.data : "");
    append(&p->out, "\n");
}

static void play_line(Player* p, char* line) {
    char* words[WORDS];
    char name[64];
    snprintf(name, sizeof name, "%s", line);
    p->words = words;
    p->count = split(line, words);
    if (!p->count || *words[0] == '#') return;
    p->heard.size = 0;
    int status = call(p);
    if (p->trace) tell(p, status);
    if (p->trace || status <= FMI_WARNING) return;
    p->refused = status;
    fprintf(stderr, "host: '%s' gave status %d: %s\n", name, status, p->heard.size ? p->heard.data : "nothing said");
}

/* Plays the script; what it has printed is in p->out. With tracing every line is written at once: a crash is seen. */
static void play(Player* p, const char* script) {
    char* text = copy_of(script, strlen(script));
    for (char* line = text; *line && !p->refused;) {
        char* end = line + strcspn(line, "\n");
        char* next = *end ? end + 1 : end;
        *end = 0;
        play_line(p, line);
        line = next;
        if (!p->trace) continue;
        fwrite(p->out.data, 1, p->out.size, stdout);
        fflush(stdout);
        p->out.size = 0;
    }
    free(text);
}

static Player player_of(const Fmu* fmu) {
    Player p;
    memset(&p, 0, sizeof p);
    p.fmu = fmu;
    append(&p.out, "");
    append(&p.heard, "");
    return p;
}

static void discard(Player* p) { free(p->out.data), free(p->heard.data); }

/* ---------------------------------------------------------------- modes */

static int mode_play(const Fmu* fmu, const char* script, int trace) {
    Player p = player_of(fmu);
    p.trace = trace;
    play(&p, script);
    fwrite(p.out.data, 1, p.out.size, stdout);
    fflush(stdout);
    int refused = p.refused;
    discard(&p);
    return refused != 0;
}

static int play_quietly(const Fmu* fmu, const char* script) {
    Player p = player_of(fmu);
    play(&p, script);
    int refused = p.refused;
    discard(&p);
    return refused;
}

/* `folder`: that the FMU is loaded from every time; null: it is loaded. */
static int play_again(Fmu* fmu, const char* folder, const char* script) {
    if (folder) load(fmu, folder);
    int refused = play_quietly(fmu, script);
    if (folder) unload(fmu);
    return refused;
}

static int mode_cycles(Fmu* fmu, const char* folder, const char* script, int count) {
    enum { WARM = 50 }; /* what a library keeps after its first use is no leak */
    for (int k = 0; k < WARM; ++k)
        if (play_again(fmu, folder, script)) return 1;
    int files = open_files();
    double bytes = bytes_in_use();
    for (int k = 0; k < count; ++k)
        if (play_again(fmu, folder, script)) return 1;
    bytes = (bytes_in_use() - bytes) / count;
    printf("bytes a cycle,files before,files after\n%.17g,%d,%d\n", bytes, files, open_files());
    return 0;
}

typedef struct {
    const Fmu* fmu;
    const char* script;
    Player player;
} Job;

ENTERED {
    Job* job = argument;
    job->player = player_of(job->fmu);
    play(&job->player, job->script);
    return 0;
}

static int mode_threads(const Fmu* fmu, const char* script, int count) {
    Job alone = {fmu, script, {0}};
    entered(&alone);
    Job* jobs = allocated(calloc(count, sizeof *jobs));
    Thread* threads = allocated(calloc(count, sizeof *threads));
    for (int k = 0; k < count; ++k) {
        jobs[k].fmu = fmu, jobs[k].script = script;
        start_thread(&threads[k], &jobs[k]);
    }
    int different = alone.player.refused != 0;
    for (int k = 0; k < count; ++k) {
        join_thread(threads[k]);
        Player* p = &jobs[k].player;
        different += p->refused || p->out.size != alone.player.out.size ||
                     memcmp(p->out.data, alone.player.out.data, p->out.size) != 0;
        discard(p);
    }
    printf("threads,different\n%d,%d\n", count, different);
    discard(&alone.player);
    free(jobs), free(threads);
    return different != 0;
}

static int run_mode(const char* mode, const char* folder, const char* script, int repeats, int trace) {
    Fmu fmu;
    if (!strcmp(mode, "loads")) return mode_cycles(&fmu, folder, script, repeats);
    load(&fmu, folder);
    int code = 2;
    if (!strcmp(mode, "play"))
        code = mode_play(&fmu, script, trace);
    else if (!strcmp(mode, "cycles"))
        code = mode_cycles(&fmu, NULL, script, repeats);
    else if (!strcmp(mode, "threads"))
        code = mode_threads(&fmu, script, repeats);
    else
        fprintf(stderr, "host: there is no mode %s\n", mode);
    unload(&fmu);
    return code;
}

static int run(int count, char** arguments) {
    int trace = count > 2 && !strcmp(arguments[2], "-s");
    if (count < 4 + trace) die("usage: host play [-s] FOLDER SCRIPT | host cycles|loads|threads FOLDER SCRIPT COUNT");
    int repeats = count > 4 + trace ? atoi(arguments[4 + trace]) : 0;
    if (strcmp(arguments[1], "play") && repeats < 1) die("%s: how often?", arguments[1]);
    Text script = content_of(arguments[3 + trace]);
    int code = run_mode(arguments[1], arguments[2 + trace], script.data, repeats, trace);
    free(script.data);
    return code;
}

#ifdef _WIN32
int main(void) {
    int count = 0;
    wchar_t** wides = CommandLineToArgvW(GetCommandLineW(), &count);
    char** arguments = allocated(calloc(count + 1, sizeof *arguments));
    for (int k = 0; k < count; ++k) arguments[k] = narrow(wides[k]);
    return run(count, arguments);
}
#else
int main(int count, char** arguments) { return run(count, arguments); }
#endif
