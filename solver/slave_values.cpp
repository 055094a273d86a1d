// Values of variables, read and set, and their derivatives.
#include <algorithm>
#include <cmath>

#include "slave_run.hpp"

namespace mbd {
namespace {

using Role = Interface::Role;
using Type = Interface::Type;
using Variability = Interface::Variability;

const char* name_of(Type type) {
    constexpr const char* names[] = {"Real", "Integer", "Boolean", "String", "Enumeration"};
    return names[static_cast<int>(type)];
}

bool fits(Type asked, Type type) {
    return asked == type || (asked == Type::integer && type == Type::enumeration) ||
           (asked == Type::enumeration && type == Type::integer);
}

bool is_moved(Role role, Variability variability) {
    return role == Role::input || role == Role::slope ||
           (role == Role::parameter && variability == Variability::tunable);
}

}  // namespace

// ---------------------------------------------------------------- values

const Interface::Variable& Slave::variable(std::uint32_t reference, Type type) const {
    const auto* v = interface_.find(reference);
    if (!v) throw Refused("there is no variable with the value reference " + std::to_string(reference));
    if (!fits(type, v->type))
        throw Refused("'" + v->name + "' (value reference " + std::to_string(reference) + ") is of type " +
                      name_of(v->type) + ", not " + name_of(type));
    return *v;
}

Slave::Found Slave::variables(const std::uint32_t* references, std::size_t count, Type type,
                              std::size_t elements) const {
    if (count > 0 && !references) throw Refused("value references are missing");
    Found found;
    found.reserve(count);
    std::size_t size = 0;
    for (std::size_t k = 0; k < count; ++k) {
        found.push_back(&variable(references[k], type));
        size += found.back()->size;
    }
    if (size != elements)
        throw Refused("the variables hold " + std::to_string(size) + " values, found room for " +
                      std::to_string(elements));
    return found;
}

Answer Slave::get(const std::uint32_t* references, std::size_t count, Type type, double* values,
                  std::size_t values_count) {
    return attempt(Call::get, [&] {
        if (count > 0 && !(references && values)) throw Refused("value references or values are missing");
        rates_.clear();
        std::size_t at = 0;
        for (std::size_t k = 0; k < count; ++k) {
            const auto& v = variable(references[k], type);
            if (values_count - at < static_cast<std::size_t>(v.size)) throw Refused("there are too few values");
            for (int e = 0; e < v.size; ++e, ++at) {
                const double value = value_of(v, e);
                if (!std::isfinite(value)) refuse_odd(v, e, value);
                values[at] = value;
            }
        }
        if (at != values_count) throw Refused("there are more values than the variables hold");
    });
}

// What is not finite is not given out.
void Slave::refuse_odd(const Interface::Variable& v, int element, double value) {
    const std::string name = "'" + v.name + "'" + (v.size > 1 ? " (element " + std::to_string(element + 1) + ")" : "");
    if (v.role == Role::signal && !is_quaternion(v))
        throw StepFailed(name + " is " + run().instance.why_not_finite(v.index + element));
    throw StepFailed(name + " is not finite at t = " + in_seconds(time()) + ": " + number(value));
}

Answer Slave::get_texts(const std::uint32_t* references, std::size_t count, const char** values) {
    return attempt(Call::get, [&] {
        if (count > 0 && !(references && values)) throw Refused("value references or values are missing");
        for (std::size_t k = 0; k < count; ++k) variable(references[k], Type::string);
        std::fill_n(values, count, interface_.tool.c_str());  // the only text
    });
}

Answer Slave::set_texts(const std::uint32_t* references, std::size_t count, const char* const* values) {
    return attempt(Call::set, [&] {
        if (count > 0 && !(references && values)) throw Refused("value references or values are missing");
        for (std::size_t k = 0; k < count; ++k) check_settable(variable(references[k], Type::string));
    });
}

double Slave::value_of(const Interface::Variable& v, int element) {
    switch (v.role) {
        case Role::signal:
            return is_quaternion(v) ? quaternion(v) : signals()[v.index + element];
        case Role::input:
            return input(v.index + element);
        case Role::events:
            return static_cast<double>(run().instance.state.events);
        case Role::rate:
            return rate(v.index + element);
        default:
            return numbers_.given[v.place + element];
    }
}

// An input at the present time.
double Slave::input(int index) const {
    if (!run_ || numbers_.waiting[index]) return numbers_.given[input_places_[index]];
    const State& s = run_->instance.state;
    return s.u[index] + s.udot[index] * (s.t - s.t_input);
}

Answer Slave::set(const std::uint32_t* references, std::size_t count, Type type, const double* values,
                  std::size_t values_count) {
    return attempt(Call::set, [&] {
        const Found found = variables(references, count, type, values_count);
        if (values_count > 0 && !values) throw Refused("values are missing");
        const double* at = values;
        for (const auto* v : found) {
            check_settable(*v);
            for (int e = 0; e < v->size; ++e) check_value(*v, *at++);
        }
        if (!prepares()) change_parameters(found, values);
        at = values;
        for (const auto* v : found) take(*v, at), at += v->size;
    });
}

void Slave::check_settable(const Interface::Variable& v) const {
    if (gives_state(v)) return;
    if (!v.settable()) throw Refused("'" + v.name + "' cannot be set; only inputs and parameters can");
    if (mode_ == Mode::foresight && v.role != Role::input)
        throw Refused("'" + v.name + "' cannot be set within a step; only inputs can");
    if (!prepares() && !is_moved(v.role, v.variability))
        throw Refused("parameter '" + v.name + "' is fixed once the initialization has ended; set it before");
}

void Slave::check_value(const Interface::Variable& v, double value) const {
    if (!std::isfinite(value)) throw Refused("'" + v.name + "' must be a finite number, found " + number(value));
    const bool bounded =
        v.role != Role::input && v.role != Role::slope;  // bounds of inputs describe, those of parameters are held
    if (bounded && !(v.low <= value && value <= v.high))
        throw Refused("'" + v.name + "' must lie in [" + number(v.low, 6) + ", " + number(v.high, 6) + "], found " +
                      number(value, 6));
}

// Tunable parameters of a running model: all of them or, where one is refused, none.
void Slave::change_parameters(const Found& found, const double* values) {
    const auto tuned = [](const auto* v) { return v->role == Role::parameter; };
    if (std::none_of(found.begin(), found.end(), tuned)) return;
    Run& r = run();
    tell_inputs();
    all_or_nothing([&] {
        for (const auto* v : found) {
            for (int e = 0; e < v->size && tuned(v); ++e)
                if (values[e] != numbers_.given[v->place + e]) r.change_parameter(v->index + e, values[e]);
            values += v->size;
        }
    });
    current_ = false;
}

void Slave::take(const Interface::Variable& v, const double* values) {
    if (gives_state(v)) return set_state(v, *values);
    const bool unchanged = std::equal(values, values + v.size, numbers_.given.begin() + v.place);
    if (!unchanged) failed_ = 0;
    std::copy_n(values, v.size, numbers_.given.begin() + v.place);
    if (v.role == Role::slope) move(v, [&](int k) { lead(k, rate_given(k)); });
    if (v.role == Role::input && !prepares()) move(v, [&](int k) { numbers_.slopes[k] = rate_given(k); });
    if (prepares() && !unchanged) forget();
}

// Inputs that have been set, or their rates; slopes for the next step stay.
template <class Change>
void Slave::move(const Interface::Variable& v, Change&& change) {
    for (int k = v.index; k < v.index + v.size; ++k) {
        if (!numbers_.fresh[k]) change(k);
        numbers_.waiting[k] = 1;
    }
    current_ = false;
}

Answer Slave::set_slopes(const std::uint32_t* references, std::size_t count, const int* orders, const double* values,
                         std::size_t values_count) {
    return attempt(Call::set_slopes, [&] {
        if (kind_ == Kind::model_exchange)
            throw Refused("in model exchange inputs have no slopes; set the inputs at each time that is tried");
        const Found found = variables(references, count, Type::real, values_count);
        if (count > 0 && !(orders && values)) throw Refused("orders or values are missing");
        const double* at = values;
        for (std::size_t k = 0; k < count; ++k) {
            const auto& v = *found[k];
            if (v.role != Role::input && v.role != Role::slope)
                throw Refused("'" + v.name + "' is no input, only these have slopes to be set");
            if (orders[k] != 1)
                throw Refused("derivative " + std::to_string(orders[k]) + " of input '" + v.name +
                              "' cannot be set; inputs follow the first one");
            for (int e = 0; e < v.size; ++e, ++at)
                if (!std::isfinite(*at))
                    throw Refused("the slope of '" + v.name + "' must be a finite number, found " + number(*at));
        }
        for (const auto* v : found)
            for (int j = v->index; j < v->index + v->size; ++j, ++values) {
                if (v->role == Role::slope) continue;  // rates are held during a step: inputs follow lines
                if (numbers_.slopes[j] != *values) failed_ = 0;
                lead(j, *values);
                numbers_.fresh[j] = 1;
            }
        if (prepares())
            forget();
        else
            current_ = false;
    });
}

// ---------------------------------------------------------------- derivatives

Slave::Derivatives& Slave::derivatives() {
    signals();  // the point at which they are taken is what has been reported
    Run& r = *run_;
    if (!r.derivatives) r.derivatives = std::make_unique<Derivatives>(contents_->system);
    r.derivatives->sensitivity.look(r.instance, r.exchange ? r.exchange->gain() : 0);
    return *r.derivatives;
}

void Slave::check_computed(const Interface::Variable& v) const {
    if (v.role != Role::signal && v.role != Role::rate)
        throw Refused("'" + v.name + "' is not computed by the model, it has no derivative");
}

Answer Slave::get_rates(const std::uint32_t* references, std::size_t count, const int* orders, double* values,
                        std::size_t values_count) {
    return attempt(Call::get_rates, [&] {
        const Found found = variables(references, count, Type::real, values_count);
        if (count > 0 && !(orders && values)) throw Refused("orders or room for values are missing");
        for (std::size_t k = 0; k < count; ++k) {
            check_computed(*found[k]);
            if (found[k]->role == Role::rate)
                throw Refused("'" + found[k]->name + "' is a derivative itself, its own is not offered");
            if (orders[k] != 1)
                throw Refused("derivative " + std::to_string(orders[k]) + " of '" + found[k]->name +
                              "' is not offered, the first one is");
        }
        Derivatives& d = derivatives();
        d.sensitivity.in_time(d.signals.data());
        for (const auto* v : found)
            for (int k = v->index; k < v->index + v->size; ++k) {
                if (!std::isfinite(d.signals[k]))
                    throw StepFailed("the derivative of '" + v->name + "' is not finite at t = " + in_seconds(time()));
                *values++ = d.signals[k];
            }
    });
}

// T20.1: inputs and parameters move, t, q, v and X stay but where the environment sets them.
Answer Slave::differentiate(const std::uint32_t* unknowns, std::size_t unknown_count, const std::uint32_t* knowns,
                            std::size_t known_count, const double* seed, std::size_t seed_count, double* values,
                            std::size_t values_count) {
    return attempt(Call::differentiate, [&] {
        const Found wanted = variables(unknowns, unknown_count, Type::real, values_count);
        const Found moving = variables(knowns, known_count, Type::real, seed_count);
        if ((seed_count > 0 && !seed) || (values_count > 0 && !values))
            throw Refused("seed or room for values is missing");
        for (const auto* v : wanted) check_computed(*v);
        const bool moves_states = kind_ == Kind::model_exchange;
        for (const auto* v : moving)
            if (v->role != Role::input && v->role != Role::slope && v->role != Role::parameter &&
                !(moves_states && v->is_state()))
                throw Refused("'" + v->name + "' is neither input nor parameter" +
                              (moves_states ? " nor continuous state" : "") + ", there is no derivative by it");
        Derivatives& d = derivatives();
        d.along(moving, seed, run_->exchange);
        for (const auto* v : wanted) {
            const double* found = (v->role == Role::rate ? d.rates : d.signals).data() + v->index;
            if (is_quaternion(*v)) found = &d.states.e[v->first - contents_->system.nv];  // is read as it has been set
            values = std::copy_n(found, v->size, values);
        }
    });
}

// Fills signals and, of model exchange, rates with their changes along a direction.
void Slave::Derivatives::along(const Found& moving, const double* seed, const std::optional<Exchange>& exchange) {
    std::vector<double>* by_space[] = {nullptr, &states.q, &states.v, &states.x};
    for (auto* part : {&inputs, &slopes, &parameters, &states.q, &states.e, &states.v, &states.x})
        std::fill(part->begin(), part->end(), 0.0);
    for (const auto* v : moving)
        for (int e = 0; e < v->size; ++e, ++seed)
            if (!v->is_state())
                (v->role == Role::input ? inputs : v->role == Role::slope ? slopes : parameters)[v->index + e] += *seed;
            else if (const int behind = v->first - static_cast<int>(states.q.size()); v->space == 1 && behind >= 0)
                states.e[behind] += *seed;
            else
                (*by_space[v->space])[v->first] += *seed;
    Sensitivity::Direction direction;
    direction.u = inputs.data(), direction.udot = slopes.data(), direction.p = parameters.data();
    if (exchange) {
        exchange->turn(states);
        direction.q = states.q.data(), direction.v = states.v.data(), direction.x = states.x.data();
    }
    sensitivity.along(direction, signals.data());
    if (exchange) exchange->change_of_derivatives(states, sensitivity.a(), sensitivity.xdot(), rates.data());
}

}  // namespace mbd
