// What is left to do when the host unloads the library: it does so after every run, and its process goes on.
#if defined(__ELF__)
// Statics with destructors (the tableaux of formulas) are registered for the end of the process. GCC's start files
// have them destroyed at unloading; those of zig 0.17 do not, and the process would end in memory that is gone.
extern "C" {
extern __attribute__((visibility("hidden"))) void* __dso_handle;
void __cxa_finalize(void*);
}

namespace {
__attribute__((destructor)) void finalize() { __cxa_finalize(&__dso_handle); }
}  // namespace
#endif

// What the C++ library of GCC, where it is linked into ours, keeps for exceptions without memory is given back: it is
// allocated at every loading (73 kB).
#if defined(MBDFMU_OWN_LIBSTDCXX)
namespace __gnu_cxx {
void __freeres();
}

namespace {
struct Unloading {
    ~Unloading() { __gnu_cxx::__freeres(); }
} unloading;
}  // namespace
#endif
