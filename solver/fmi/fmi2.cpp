// FMI 2.0: the functions that co-simulation and model exchange share, and those of co-simulation. An adapter without
// logic of its own: arguments are checked for being there, the rest is the slave's.
#include "fmi2.h"

#include <cstring>
#include <optional>

#include "adapter.hpp"

namespace {

using namespace mbd;

static_assert(sizeof(fmi2ValueReference) == sizeof(std::uint32_t));

fmi2Status as_fmi(Answer answer) { return static_cast<fmi2Status>(answer); }

// What a host in C has passed as an enumeration may be any number, and reading that as one is undefined in C++.
template <class Enumeration>
int number_of(const Enumeration& given) {
    int number;
    static_assert(sizeof number == sizeof given);
    std::memcpy(&number, &given, sizeof number);
    return number;
}

// Calls the slave behind a handle.
template <class Action>
fmi2Status with(fmi2Component c, Action&& action) {
    return c ? as_fmi(fmi::answered(*static_cast<Slave*>(c), action)) : fmi2Error;
}

Slave::Hear heard_by(const fmi2CallbackFunctions* callbacks, const std::string& name) {
    if (!callbacks || !callbacks->logger) return [](auto&&...) {};
    const auto logger = callbacks->logger;
    const auto environment = callbacks->componentEnvironment;
    return [=](Answer answer, const char* category, const std::string& text) {
        logger(environment, name.c_str(), as_fmi(answer), category, "%s", fmi::escaped(text).c_str());
    };
}

template <class T>
fmi2Status set(fmi2Component c, const fmi2ValueReference* vr, size_t n, Interface::Type type, const T* values) {
    return with(c, [&](Slave& s) { return fmi::set_as(s, vr, n, type, values, n); });
}

template <class T>
fmi2Status get(fmi2Component c, const fmi2ValueReference* vr, size_t n, Interface::Type type, T* values) {
    return with(
        c, [&](Slave& s) { return fmi::get_as(values, n, [&](double* to) { return s.get(vr, n, type, to, n); }); });
}

}  // namespace

// ---------------------------------------------------------------- creation, logging

const char* fmi2GetTypesPlatform() { return fmi2TypesPlatform; }
const char* fmi2GetVersion() { return fmi2Version; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions* callbacks, fmi2Boolean, fmi2Boolean logging) {
    const auto hear = heard_by(callbacks, name ? name : "");
    return fmi::made(hear, [&] {
        if (!name || !*name) throw ModelError("the instance has no name");
        const int wanted = number_of(type);
        if (wanted != fmi2CoSimulation && wanted != fmi2ModelExchange)
            throw ModelError("there is no FMU type " + std::to_string(wanted) +
                             "; allowed: fmi2ModelExchange (0), fmi2CoSimulation (1)");
        const auto kind = wanted == fmi2CoSimulation ? Slave::Kind::co_simulation : Slave::Kind::model_exchange;
        return fmi::slave_from({resources, guid, kind, logging != fmi2False}, hear).release();
    });
}

void fmi2FreeInstance(fmi2Component c) { delete static_cast<Slave*>(c); }

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]) {
    return with(c, [&](Slave& s) { return s.set_debug_logging(on != fmi2False, fmi::categories(categories, n)); });
}

// ---------------------------------------------------------------- lifecycle

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_defined, fmi2Real tolerance, fmi2Real start,
                               fmi2Boolean stop_defined, fmi2Real stop) {
    const auto optional = [](fmi2Boolean defined, double x) { return defined ? std::optional(x) : std::nullopt; };
    return with(c, [&](Slave& s) {
        return s.setup(start, optional(stop_defined, stop), optional(tolerance_defined, tolerance));
    });
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    return with(c, [](Slave& s) { return s.enter_initialization(); });
}
fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
    return with(c, [](Slave& s) { return s.exit_initialization(); });
}
fmi2Status fmi2Terminate(fmi2Component c) {
    return with(c, [](Slave& s) { return s.terminate(); });
}
fmi2Status fmi2Reset(fmi2Component c) {
    return with(c, [](Slave& s) { return s.reset(); });
}

// ---------------------------------------------------------------- values

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real values[]) {
    return get(c, vr, n, Interface::Type::real, values);
}
fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer values[]) {
    return get(c, vr, n, Interface::Type::integer, values);
}
fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean values[]) {
    return get(c, vr, n, Interface::Type::boolean, values);
}
fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String values[]) {
    return with(c, [&](Slave& s) { return s.get_texts(vr, n, values); });
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real values[]) {
    return set(c, vr, n, Interface::Type::real, values);
}
fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer values[]) {
    return set(c, vr, n, Interface::Type::integer, values);
}
fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean values[]) {
    return set(c, vr, n, Interface::Type::boolean, values);
}
fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String values[]) {
    return with(c, [&](Slave& s) { return s.set_texts(vr, n, values); });
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknowns[], size_t unknown_count,
                                        const fmi2ValueReference knowns[], size_t known_count, const fmi2Real seed[],
                                        fmi2Real values[]) {
    return with(c, [&](Slave& s) {
        return s.differentiate(unknowns, unknown_count, knowns, known_count, seed, known_count, values, unknown_count);
    });
}

// ---------------------------------------------------------------- states

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate* state) {
    return with(c, [&](Slave& s) { return fmi::save_state(s, state); });
}
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
    return with(c, [&](Slave& s) { return s.restore(fmi::snapshot(state)); });
}
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate* state) {
    return with(c, [&](Slave& s) { return fmi::free_state(s, state); });
}
fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t* size) {
    return with(c, [&](Slave& s) { return fmi::size_of_state(s, state, size); });
}
fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
    return with(c,
                [&](Slave& s) { return s.write(fmi::snapshot(state), reinterpret_cast<unsigned char*>(bytes), size); });
}
fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate* state) {
    return with(
        c, [&](Slave& s) { return fmi::read_state(s, reinterpret_cast<const unsigned char*>(bytes), size, state); });
}

// ---------------------------------------------------------------- co-simulation

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                       const fmi2Integer order[], const fmi2Real values[]) {
    return with(c, [&](Slave& s) { return s.set_slopes(vr, n, order, values, n); });
}
fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                        const fmi2Integer order[], fmi2Real values[]) {
    return with(c, [&](Slave& s) { return s.get_rates(vr, n, order, values, n); });
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real size, fmi2Boolean) {
    return with(c, [&](Slave& s) { return s.do_step(time, size); });
}
fmi2Status fmi2CancelStep(fmi2Component c) {
    return with(c,
                [](Slave& s) { return s.refuse("there is no step to be cancelled: steps end before doStep returns"); });
}

namespace {
// What `read` gives where the status is there; else fmi2Discard (4.2.3).
template <class Read>
fmi2Status status_of(fmi2Component c, bool known, const char* else_, Read&& read) {
    return with(c, [&](Slave& s) {
        const Answer answer = s.attempt(Slave::Call::get_status, [&] {
            if (known) read(s);
        });
        return answer == Answer::ok && !known ? s.lack(else_) : answer;
    });
}

fmi2Status no_status(fmi2Component c, const char* why) {
    return status_of(c, false, why, [](Slave&) {});
}
}  // namespace

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind, fmi2Status*) {
    return no_status(c, "the status of a step is that which fmi2DoStep has returned");
}
fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real* value) {
    return status_of(c, number_of(kind) == fmi2LastSuccessfulTime && value,
                     "of real numbers there is only fmi2LastSuccessfulTime", [&](Slave& s) { *value = s.time(); });
}
fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind, fmi2Integer*) {
    return no_status(c, "there is no status that is a whole number");
}
fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean* value) {
    // a slave never asks for the end
    return status_of(c, number_of(kind) == fmi2Terminated && value, "of true or false there is only fmi2Terminated",
                     [&](Slave&) { *value = fmi2False; });
}
fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind, fmi2String*) {
    return no_status(c, "there is no status in words: steps end before fmi2DoStep returns");
}
