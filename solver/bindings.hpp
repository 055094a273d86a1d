// What the files that know Python (bindings*.cpp) share: arrays, and the functions in Python that a model calls.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "instance.hpp"
#include "system.hpp"

namespace mbd {

namespace nb = nanobind;

using Array = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Input = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
auto own(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}
inline Array copy(const std::vector<double>& values) { return own(std::vector<double>(values)); }

// The functions in Python that a model calls, and the exception that one of them has raised last.
class Callables {
public:
    Callables(const System& system, std::vector<nb::callable> functions)
        : system_(system), functions_(std::move(functions)) {
        if (!functions_.empty() && functions_.size() != system_.functions.size())
            throw ModelError("the model calls another number of functions");
    }
    Callables(const Callables&) = delete;
    Callables& operator=(const Callables&) = delete;

    Outside outside() { return functions_.empty() ? Outside{} : Outside{this, &Callables::call}; }
    const std::optional<nb::python_error>& raised() const { return raised_; }

    // Runs `f` without the GIL. Where that ends in StepFailed, an exception that a function has raised is its cause;
    // Ctrl-C inside a function is raised as it is.
    template <class F>
    void run(F&& f) {
        raised_.reset();
        try {
            nb::gil_scoped_release release;
            f();
        } catch (const StepFailed& error) {
            if (!raised_) throw;
            if (interrupted()) throw taken();
            nb::python_error cause = taken();
            nb::raise_from(cause, step_failed, "%s", error.what());
        }
        if (interrupted()) throw taken();
    }

    static inline PyObject* step_failed = nullptr;  // NativeStepFailed

private:
    const System& system_;
    std::vector<nb::callable> functions_;
    std::optional<nb::python_error> raised_;

    bool interrupted() const { return raised_ && !raised_->matches(PyExc_Exception); }

    nb::python_error taken() {
        nb::python_error error = std::move(*raised_);
        raised_.reset();
        return error;
    }

    static bool call(void* context, int function, double t, const double* inputs, const double* parameters,
                     double* values, double* derivatives) {
        auto& self = *static_cast<Callables*>(context);
        nb::gil_scoped_acquire gil;
        try {
            self.evaluate(function, t, inputs, parameters, values, derivatives);
            return true;
        } catch (nb::python_error& error) {
            self.raised_.emplace(std::move(error));
            if (self.interrupted()) throw StepFailed("interrupted");  // at once: no smaller step is tried
            return false;
        }
    }

    // function(t, inputs, parameters, wanted) -> values, derivatives or none
    void evaluate(int function, double t, const double* inputs, const double* parameters, double* values,
                  double* derivatives) const {
        const System::Function& f = system_.functions[function];
        const auto array = [](const double* from, int count) { return own(std::vector<double>(from, from + count)); };
        const nb::object found =
            functions_[function](t, array(inputs, f.inputs), array(parameters, f.parameters), derivatives != nullptr);
        const auto [given, slopes] = nb::cast<std::pair<Input, Input>>(found);
        const std::size_t count = f.values, entries = derivatives ? count * f.inputs : 0;
        if (given.shape(0) != count || slopes.shape(0) != entries)
            throw ModelError("a function has returned another number of values");
        std::copy_n(given.data(), count, values);
        if (derivatives) std::copy_n(slopes.data(), entries, derivatives);
    }
};

void bind_slave(nb::module_& m);

}  // namespace mbd
