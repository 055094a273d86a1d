// FMI 3.0 for co-simulation. An adapter without logic of its own: arguments are checked for being there, the rest is
// the slave's. What no FMU of ours has (clocks, structural parameters, binaries ..) is refused by name. Numbers in
// brackets are sections of the specification, version 3.0.2.
#include "fmi3.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "adapter.hpp"

namespace {

using namespace mbd;
using Type = Interface::Type;
using Pauses = Slave::Pauses;
using References = const fmi3ValueReference*;

static_assert(sizeof(fmi3ValueReference) == sizeof(std::uint32_t));

constexpr double never = std::numeric_limits<double>::infinity();

fmi3Status as_fmi(Answer answer) { return static_cast<fmi3Status>(answer); }

// Which categories the environment wants to hear [2.3.1]; the last word on one counts.
struct Wanted {
    bool all = false;
    std::map<std::string, bool> named = {};

    bool operator()(const std::string& category) const {
        const auto at = named.find(category);
        return at == named.end() ? all : at->second;
    }
};

// What stands behind a handle.
struct Instance3 {
    std::unique_ptr<Slave> slave;
    std::shared_ptr<Wanted> wanted;
    bool may_return_early = false;
    std::vector<fmi3ValueReference> within;  // what may be read or set within steps
    bool sets_inputs = false;                // whether inputs are among them
    fmi3IntermediateUpdateCallback update = nullptr;
    fmi3InstanceEnvironment environment = nullptr;
};

Instance3& behind(fmi3Instance instance) { return *static_cast<Instance3*>(instance); }

// Calls the slave behind a handle.
template <class Action>
fmi3Status with(fmi3Instance instance, Action&& action) {
    return instance ? as_fmi(fmi::answered(*behind(instance).slave, action)) : fmi3Error;
}

fmi3Status refuse(fmi3Instance instance, const char* why) {
    return with(instance, [&](Slave& s) { return s.refuse(why); });
}

// ---------------------------------------------------------------- messages

Slave::Hear heard_by(fmi3LogMessageCallback log, fmi3InstanceEnvironment environment,
                     std::shared_ptr<const Wanted> wanted) {
    if (!log) return [](auto&&...) {};
    return [=](Answer answer, const char* category, const std::string& text) {
        if (answer >= Answer::error || (*wanted)(category))
            log(environment, as_fmi(answer), category, fmi::escaped(text).c_str());
    };
}

// ---------------------------------------------------------------- values

bool is_within_step(const Instance3& c) {
    return c.slave->mode() == Slave::Mode::foresight || c.slave->mode() == Slave::Mode::progress;
}

// That within a step nothing else is touched than what was registered for it [4.2.1].
void check_registered(const Instance3& c, References references, std::size_t count) {
    if (!is_within_step(c)) return;
    for (std::size_t k = 0; k < count; ++k)
        if (std::find(c.within.begin(), c.within.end(), references[k]) == c.within.end())
            throw Refused("value reference " + std::to_string(references[k]) +
                          " is not among the requiredIntermediateVariables of this instance");
}

// The function is chosen by the type in the XML [2.2.6.2]: whole numbers and enumerations are not the same here.
void check_types(const Slave& s, References references, std::size_t count, Type type) {
    for (std::size_t k = 0; k < count; ++k)
        if (const auto* v = s.contents().interface.find(references[k]); v && v->type != type)
            throw Refused("'" + v->name + "' is of another type; ask as its element in modelDescription.xml says");
}

void check_access(fmi3Instance instance, References references, std::size_t count, Type type) {
    if (count > 0 && !references) throw Refused("value references are missing");
    check_registered(behind(instance), references, count);
    check_types(*behind(instance).slave, references, count, type);
}

Answer read(Slave& s, References references, std::size_t count, Type type, double* values, std::size_t size) {
    return s.mode() == Slave::Mode::instantiated ? s.get_starts(references, count, type, values, size)
                                                 : s.get(references, count, type, values, size);
}

template <class T>
fmi3Status get(fmi3Instance instance, References references, std::size_t count, Type type, T* values,
               std::size_t size) {
    return with(instance, [&](Slave& s) {
        check_access(instance, references, count, type);
        return fmi::get_as(values, size, [&](double* to) { return read(s, references, count, type, to, size); });
    });
}

template <class T>
fmi3Status set(fmi3Instance instance, References references, std::size_t count, Type type, const T* values,
               std::size_t size) {
    return with(instance, [&](Slave& s) {
        check_access(instance, references, count, type);
        return fmi::set_as(s, references, count, type, values, size);
    });
}

// Of a type that no FMU of ours has variables of.
fmi3Status no_variables(fmi3Instance instance, std::size_t count, const char* type) {
    return with(instance, [&](Slave& s) {
        return count == 0 ? Answer::ok : s.refuse("this FMU has no variables of type " + std::string(type));
    });
}

fmi3Status no_clocks(fmi3Instance instance) { return refuse(instance, "this FMU has no clocks"); }

fmi3Status no_model_exchange(fmi3Instance instance) {
    return refuse(instance, "this FMU is for co-simulation; it has no model exchange of FMI 3.0");
}

}  // namespace

// ---------------------------------------------------------------- instances

const char* fmi3GetVersion(void) { return fmi3Version; }

namespace {

// Inputs and continuous signals, as the attribute intermediateUpdate says.
void register_within(Instance3& c, References references, std::size_t count) {
    if (count > 0 && !references) throw ModelError("requiredIntermediateVariables are missing");
    for (std::size_t k = 0; k < count; ++k) {
        const auto* v = c.slave->contents().interface.find(references[k]);
        if (!v || v->type != Type::real || v->variability != Interface::Variability::continuous)
            throw ModelError("value reference " + std::to_string(references[k]) +
                             " cannot be read or set within steps; its intermediateUpdate is not true");
        c.sets_inputs = c.sets_inputs || v->role == Interface::Role::input;
        c.within.push_back(references[k]);
    }
}

}  // namespace

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean,
                                         fmi3Boolean logging, fmi3Boolean uses_events, fmi3Boolean may_return_early,
                                         const fmi3ValueReference within[], std::size_t count,
                                         fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update) {
    const auto wanted = std::make_shared<Wanted>();
    wanted->all = logging;
    const auto hear = heard_by(log, environment, wanted);
    const auto make = [&] {
        if (!name || !*name) throw ModelError("the instance has no name");
        auto c = std::make_unique<Instance3>();
        c->slave = fmi::slave_from({resources, token, Slave::Kind::co_simulation, logging}, hear);
        c->slave->use_event_mode(uses_events);
        c->wanted = wanted;
        c->may_return_early = may_return_early;
        c->update = update;
        c->environment = environment;
        register_within(*c, within, count);
        return c;
    };
    return fmi::made(hear, make).release();
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String, fmi3String, fmi3String, fmi3Boolean, fmi3Boolean logging,
                                          fmi3InstanceEnvironment environment, fmi3LogMessageCallback log) {
    heard_by(log, environment, std::make_shared<Wanted>(Wanted{logging}))(
        Answer::error, "logStatusError", "this FMU is for co-simulation; it has no model exchange of FMI 3.0");
    return nullptr;
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String, fmi3String, fmi3String, fmi3Boolean, fmi3Boolean logging,
                                               fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                               fmi3ClockUpdateCallback, fmi3LockPreemptionCallback,
                                               fmi3UnlockPreemptionCallback) {
    heard_by(log, environment, std::make_shared<Wanted>(Wanted{logging}))(
        Answer::error, "logStatusError", "this FMU is for co-simulation; it has no scheduled execution");
    return nullptr;
}

void fmi3FreeInstance(fmi3Instance instance) {
    if (!instance) return;
    if (is_within_step(behind(instance)))
        refuse(instance, "freeing is not possible within a step");
    else
        delete &behind(instance);
}

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean on, std::size_t count,
                               const fmi3String categories[]) {
    return with(instance, [&](Slave& s) {
        const auto named = fmi::categories(categories, count);
        const Answer answer = s.set_debug_logging(on, named);
        if (answer != Answer::ok) return answer;
        Wanted& wanted = *behind(instance).wanted;
        if (named.empty()) wanted = {on};
        for (const auto& category : named) wanted.named[category] = on;
        return answer;
    });
}

// ---------------------------------------------------------------- lifecycle

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean tolerance_defined, fmi3Float64 tolerance,
                                       fmi3Float64 start, fmi3Boolean stop_defined, fmi3Float64 stop) {
    const auto optional = [](bool defined, double x) { return defined ? std::optional(x) : std::nullopt; };
    return with(instance, [&](Slave& s) {
        const Answer answer = s.setup(start, optional(stop_defined, stop), optional(tolerance_defined, tolerance));
        return answer == Answer::ok ? s.enter_initialization() : answer;
    });
}
fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
    return with(instance, [](Slave& s) { return s.exit_initialization(); });
}
fmi3Status fmi3EnterEventMode(fmi3Instance instance) {
    return with(instance, [](Slave& s) { return s.enter_event_mode(); });
}
fmi3Status fmi3EnterStepMode(fmi3Instance instance) {
    return with(instance, [](Slave& s) { return s.enter_step_mode(); });
}
fmi3Status fmi3Terminate(fmi3Instance instance) {
    return with(instance, [](Slave& s) { return s.terminate(); });
}
fmi3Status fmi3Reset(fmi3Instance instance) {
    return with(instance, [](Slave& s) { return s.reset(); });
}
fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance) {
    return refuse(instance, "this FMU has no structural parameters, and so no configuration mode");
}
fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance) {
    return refuse(instance, "this FMU has no structural parameters, and so no configuration mode");
}

// ---------------------------------------------------------------- values

#define GET_AND_SET(TYPE, KIND)                                                                                     \
    fmi3Status fmi3Get##TYPE(fmi3Instance instance, const fmi3ValueReference vr[], std::size_t n, fmi3##TYPE out[], \
                             std::size_t size) {                                                                    \
        return get(instance, vr, n, KIND, out, size);                                                               \
    }                                                                                                               \
    fmi3Status fmi3Set##TYPE(fmi3Instance instance, const fmi3ValueReference vr[], std::size_t n,                   \
                             const fmi3##TYPE values[], std::size_t size) {                                         \
        return set(instance, vr, n, KIND, values, size);                                                            \
    }
GET_AND_SET(Float64, Type::real)
GET_AND_SET(Int32, Type::integer)
GET_AND_SET(Int64, Type::enumeration)
GET_AND_SET(Boolean, Type::boolean)
#undef GET_AND_SET

#define NO_VARIABLES(TYPE)                                                                                         \
    fmi3Status fmi3Get##TYPE(fmi3Instance instance, const fmi3ValueReference[], std::size_t n, fmi3##TYPE[],       \
                             std::size_t) {                                                                        \
        return no_variables(instance, n, #TYPE);                                                                   \
    }                                                                                                              \
    fmi3Status fmi3Set##TYPE(fmi3Instance instance, const fmi3ValueReference[], std::size_t n, const fmi3##TYPE[], \
                             std::size_t) {                                                                        \
        return no_variables(instance, n, #TYPE);                                                                   \
    }
NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(UInt32)
NO_VARIABLES(UInt64)
#undef NO_VARIABLES

fmi3Status fmi3GetString(fmi3Instance instance, const fmi3ValueReference vr[], std::size_t n, fmi3String values[],
                         std::size_t size) {
    return with(instance, [&](Slave& s) {
        check_access(instance, vr, n, Type::string);
        if (size != n) throw Refused("there must be one value for each text");
        return s.get_texts(vr, n, values);
    });
}
fmi3Status fmi3SetString(fmi3Instance instance, const fmi3ValueReference vr[], std::size_t n, const fmi3String values[],
                         std::size_t size) {
    return with(instance, [&](Slave& s) {
        check_access(instance, vr, n, Type::string);
        if (size != n) throw Refused("there must be one value for each text");
        return s.set_texts(vr, n, values);
    });
}
fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference[], std::size_t n, std::size_t[], fmi3Binary[],
                         std::size_t) {
    return no_variables(instance, n, "Binary");
}
fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference[], std::size_t n, const std::size_t[],
                         const fmi3Binary[], std::size_t) {
    return no_variables(instance, n, "Binary");
}

// ---------------------------------------------------------------- what depends on what, and how

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance, fmi3ValueReference, std::size_t*) {
    return refuse(instance, "this FMU has no dependencies by element; modelDescription.xml has those of the variables");
}
fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference, std::size_t[], fmi3ValueReference[],
                                       std::size_t[], fmi3DependencyKind[], std::size_t) {
    return refuse(instance, "this FMU has no dependencies by element; modelDescription.xml has those of the variables");
}
fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                        std::size_t unknown_count, const fmi3ValueReference knowns[],
                                        std::size_t known_count, const fmi3Float64 seed[], std::size_t seed_size,
                                        fmi3Float64 sensitivity[], std::size_t size) {
    return with(instance, [&](Slave& s) {
        return s.differentiate(unknowns, unknown_count, knowns, known_count, seed, seed_size, sensitivity, size);
    });
}
fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                    std::size_t unknown_count, const fmi3ValueReference knowns[],
                                    std::size_t known_count, const fmi3Float64 seed[], std::size_t seed_size,
                                    fmi3Float64 sensitivity[], std::size_t size) {
    return with(instance, [&](Slave& s) {
        return s.differentiate_adjoint(unknowns, unknown_count, knowns, known_count, seed, seed_size, sensitivity,
                                       size);
    });
}
fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference vr[], std::size_t n,
                                    const fmi3Int32 orders[], fmi3Float64 values[], std::size_t size) {
    return with(instance, [&](Slave& s) {
        check_access(instance, vr, n, Type::real);
        return s.get_rates(vr, n, orders, values, size);
    });
}

// ---------------------------------------------------------------- states

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState* state) {
    return with(instance, [&](Slave& s) { return fmi::save_state(s, state); });
}
fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state) {
    return with(instance, [&](Slave& s) { return s.restore(fmi::snapshot(state)); });
}
fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState* state) {
    return with(instance, [&](Slave& s) { return fmi::free_state(s, state); });
}
fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, std::size_t* size) {
    return with(instance, [&](Slave& s) { return fmi::size_of_state(s, state, size); });
}
fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], std::size_t size) {
    return with(instance, [&](Slave& s) { return s.write(fmi::snapshot(state), bytes, size); });
}
fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte bytes[], std::size_t size,
                                   fmi3FMUState* state) {
    return with(instance, [&](Slave& s) { return fmi::read_state(s, bytes, size, state); });
}

// ---------------------------------------------------------------- steps and events

namespace {

// Where the step shall end, after the environment has been asked or told.
double hear(const Instance3& c, double t, bool finished) {
    fmi3Boolean early = false;
    fmi3Float64 end = t;
    const bool may_return = finished && c.may_return_early;
    c.update(c.environment, t, !finished, finished, finished, may_return, &early, &end);
    return early && may_return ? std::max(end, t) : never;
}

Pauses pauses_of(const Instance3& c) {
    Pauses pauses;
    pauses.at_events = c.may_return_early;
    if (!c.update) return pauses;
    if (c.sets_inputs) pauses.before = [&c](double t) { hear(c, t, false); };
    pauses.after = [&c](double t) { return hear(c, t, true); };
    return pauses;
}

}  // namespace

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 time, fmi3Float64 size, fmi3Boolean, fmi3Boolean* event,
                      fmi3Boolean* terminate, fmi3Boolean* early, fmi3Float64* reached) {
    return with(instance, [&](Slave& s) {
        if (!event || !terminate || !early || !reached) return s.refuse("room for results of the step is missing");
        Slave::Reached here{s.time(), false, false};
        const Answer answer = s.do_step(time, size, pauses_of(behind(instance)), here);
        *event = here.event_waits, *terminate = false, *early = here.early, *reached = here.time;
        return answer;
    });
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean* again, fmi3Boolean* terminate,
                                    fmi3Boolean* nominals, fmi3Boolean* values, fmi3Boolean* next_defined,
                                    fmi3Float64* next) {
    return with(instance, [&](Slave& s) {
        if (!again || !terminate || !nominals || !values || !next_defined || !next)
            return s.refuse("room for results of the event is missing");
        *again = *terminate = *nominals = *values = *next_defined = false;
        return s.update_discrete_states();
    });
}
fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance) {
    return refuse(instance, "this FMU has no discrete states to be computed before fmi3UpdateDiscreteStates");
}

// ---------------------------------------------------------------- what these FMUs do not offer

fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference[], std::size_t, fmi3Clock[]) {
    return no_clocks(instance);
}
fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference[], std::size_t, const fmi3Clock[]) {
    return no_clocks(instance);
}
fmi3Status fmi3GetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference[], std::size_t, fmi3Float64[],
                                  fmi3IntervalQualifier[]) {
    return no_clocks(instance);
}
fmi3Status fmi3GetIntervalFraction(fmi3Instance instance, const fmi3ValueReference[], std::size_t, fmi3UInt64[],
                                   fmi3UInt64[], fmi3IntervalQualifier[]) {
    return no_clocks(instance);
}
fmi3Status fmi3GetShiftDecimal(fmi3Instance instance, const fmi3ValueReference[], std::size_t, fmi3Float64[]) {
    return no_clocks(instance);
}
fmi3Status fmi3GetShiftFraction(fmi3Instance instance, const fmi3ValueReference[], std::size_t, fmi3UInt64[],
                                fmi3UInt64[]) {
    return no_clocks(instance);
}
fmi3Status fmi3SetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference[], std::size_t, const fmi3Float64[]) {
    return no_clocks(instance);
}
fmi3Status fmi3SetIntervalFraction(fmi3Instance instance, const fmi3ValueReference[], std::size_t, const fmi3UInt64[],
                                   const fmi3UInt64[]) {
    return no_clocks(instance);
}
fmi3Status fmi3SetShiftDecimal(fmi3Instance instance, const fmi3ValueReference[], std::size_t, const fmi3Float64[]) {
    return no_clocks(instance);
}
fmi3Status fmi3SetShiftFraction(fmi3Instance instance, const fmi3ValueReference[], std::size_t, const fmi3UInt64[],
                                const fmi3UInt64[]) {
    return no_clocks(instance);
}
fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference, fmi3Float64) {
    return no_clocks(instance);
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance) { return no_model_exchange(instance); }
fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean, fmi3Boolean*, fmi3Boolean*) {
    return no_model_exchange(instance);
}
fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64) { return no_model_exchange(instance); }
fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64[], std::size_t) {
    return no_model_exchange(instance);
}
fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64[], std::size_t) {
    return no_model_exchange(instance);
}
fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64[], std::size_t) {
    return no_model_exchange(instance);
}
fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64[], std::size_t) {
    return no_model_exchange(instance);
}
fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64[], std::size_t) {
    return no_model_exchange(instance);
}
fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, std::size_t*) { return no_model_exchange(instance); }
fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, std::size_t*) { return no_model_exchange(instance); }
