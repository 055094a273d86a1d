// What the C++ library of GCC, where it is linked into ours, keeps for exceptions without memory is given back when the
// host unloads us: it is allocated at every loading (73 kB), and hosts load and unload us for every run.
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
