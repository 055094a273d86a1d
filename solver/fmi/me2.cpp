// FMI 2.0: the functions of model exchange alone. An adapter without logic of its own; what it shares with
// co-simulation is in fmi2.cpp.
#include <limits>

#include "adapter.hpp"
#include "fmi2.h"

namespace {

using namespace mbd;

template <class Action>
fmi2Status with(fmi2Component c, Action&& action) {
    return c ? static_cast<fmi2Status>(fmi::answered(*static_cast<Slave*>(c), action)) : fmi2Error;
}

}  // namespace

// ---------------------------------------------------------------- modes

fmi2Status fmi2EnterEventMode(fmi2Component c) {
    return with(c, [](Slave& s) { return s.enter_event(); });
}

// [3.2.2] One call does all that follows at once, and neither ends the simulation nor changes nominal values.
fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo* info) {
    return with(c, [&](Slave& s) {
        if (!info) return s.refuse("room for what the event has changed is missing");
        bool changed = false;
        double next = 0;
        const Answer answer = s.discrete_states(changed, next);
        const bool known = next < std::numeric_limits<double>::max();
        *info = {fmi2False, fmi2False, fmi2False, changed, known, next};
        return answer;
    });
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) {
    return with(c, [](Slave& s) { return s.enter_continuous(); });
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean, fmi2Boolean* enter_event_mode,
                                       fmi2Boolean* terminate) {
    return with(c, [&](Slave& s) {
        if (!enter_event_mode || !terminate) return s.refuse("room for the answers is missing");
        bool wanted = false;
        const Answer answer = s.completed_step(wanted);
        *enter_event_mode = wanted, *terminate = fmi2False;
        return answer;
    });
}

// ---------------------------------------------------------------- time, states, derivatives

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) {
    return with(c, [&](Slave& s) { return s.set_time(time); });
}
fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real states[], size_t n) {
    return with(c, [&](Slave& s) { return s.set_continuous_states(states, n); });
}
fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real states[], size_t n) {
    return with(c, [&](Slave& s) { return s.get_continuous_states(states, n); });
}
fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t n) {
    return with(c, [&](Slave& s) { return s.get_nominals(nominals, n); });
}
fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t n) {
    return with(c, [&](Slave& s) { return s.get_derivatives(derivatives, n); });
}
fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t n) {
    return with(c, [&](Slave& s) { return s.get_event_indicators(indicators, n); });
}
