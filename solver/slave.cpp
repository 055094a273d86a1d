#include "slave.hpp"

#include <algorithm>
#include <cmath>

#include "bytes.hpp"
#include "schemes/table.hpp"
#include "slave_run.hpp"

namespace mbd {
namespace {

using Mode = Slave::Mode;
using Call = Slave::Call;
using Role = Interface::Role;
using Type = Interface::Type;
using Variability = Interface::Variability;

constexpr double tightest = 1e-14, loosest = 0.1;  // tolerances: rounding, and where an error estimate says nothing
constexpr double furthest = 1e10;                  // s: beyond, the next number is a microsecond away
constexpr const char *error_log = "logStatusError", *warning_log = "logStatusWarning",
                     *discard_log = "logStatusDiscard", *fatal_log = "logStatusFatal", *event_log = "logEvents",
                     *solver_log = "logSolver";
// Values of the setting solver.log_level.
enum Level { level_errors = 1, level_warnings, level_events, level_steps };

constexpr unsigned bit(Mode mode) { return 1u << static_cast<int>(mode); }
constexpr unsigned preparing = bit(Mode::instantiated) | bit(Mode::initialization);
constexpr unsigned running = bit(Mode::step) | bit(Mode::event) | bit(Mode::continuous);
constexpr unsigned evaluating = bit(Mode::initialization) | running;
constexpr unsigned within = bit(Mode::foresight) | bit(Mode::progress), everywhere = ~within;

struct Rule {
    const char* what;  // in messages
    unsigned modes;    // in which it is allowed
};

// FMI 2.0.4 sections 3.2.3 and 4.2.4, FMI 3.0.2 sections 2.3 and 4.2, in the order of Slave::Call.
constexpr Rule rules[] = {
    {"setting up the experiment", bit(Mode::instantiated)},
    {"entering the initialization mode", bit(Mode::instantiated)},
    {"leaving the initialization mode", bit(Mode::initialization)},
    {"reading values", evaluating | bit(Mode::progress) | bit(Mode::terminated)},
    {"reading start values", bit(Mode::instantiated)},
    {"setting values", preparing | running | bit(Mode::foresight)},
    {"setting derivatives of inputs", preparing | bit(Mode::step)},
    {"reading derivatives of outputs", bit(Mode::step) | bit(Mode::progress) | bit(Mode::terminated)},
    {"making a step", bit(Mode::step)},
    {"asking for the status", bit(Mode::step) | bit(Mode::terminated)},
    {"entering the event mode", bit(Mode::step)},
    {"computing discrete states", bit(Mode::event)},
    {"entering the step mode", bit(Mode::event)},
    {"reading directional derivatives", evaluating | bit(Mode::terminated)},
    {"saving the state", preparing | running | bit(Mode::terminated)},
    {"restoring a state", everywhere},
    {"resetting", everywhere},
    {"terminating", running},
    {"entering the event mode", bit(Mode::continuous)},
    {"computing discrete states", bit(Mode::event)},
    {"entering the continuous-time mode", bit(Mode::event)},
    {"completing an integrator step", bit(Mode::continuous)},
    {"setting the time", bit(Mode::event) | bit(Mode::continuous)},
    {"setting continuous states", bit(Mode::continuous)},
    {"reading derivatives", evaluating | bit(Mode::terminated)},
    {"reading event indicators", evaluating | bit(Mode::terminated)},
    {"reading continuous states", evaluating | bit(Mode::terminated)},
    {"reading nominal values", preparing | running | bit(Mode::terminated)},
};

const char* name_of(Mode mode) {
    switch (mode) {
        case Mode::instantiated:
            return "instantiated";
        case Mode::initialization:
            return "initialization";
        case Mode::step:
            return "step";
        case Mode::event:
            return "event";
        case Mode::continuous:
            return "continuous-time";
        case Mode::foresight:
        case Mode::progress:
            return "intermediate update";
        case Mode::terminated:
            return "terminated";
        case Mode::broken:
            break;
    }
    return "error";
}

const char* name_of(Type type) {
    constexpr const char* names[] = {"Real", "Integer", "Boolean", "String", "Enumeration"};
    return names[static_cast<int>(type)];
}

bool fits(Type asked, Type type) {
    return asked == type || (asked == Type::integer && type == Type::enumeration) ||
           (asked == Type::enumeration && type == Type::integer);
}

bool is_moved(Role role, Variability variability) {
    return role == Role::input || (role == Role::parameter && variability == Variability::tunable);
}

std::string in_seconds(double t) { return number(t, 17) + " s"; }

}  // namespace

Contents::Contents(const Bytes& model, const Bytes& interface_bytes)
    : system(model.data(), model.size()), interface(interface_bytes.data(), interface_bytes.size(), system) {}

struct Slave::Snapshot {
    std::uint32_t model = 0, interface = 0;
    Kind kind = Kind::co_simulation;
    Mode mode = Mode::instantiated;
    Numbers numbers;
    std::optional<State> state;  // none before the start
};

Slave::Slave(std::shared_ptr<const Contents> contents, Kind kind, Hear hear, Outside outside)
    : contents_(std::move(contents)),
      interface_(contents_->interface),
      kind_(kind),
      hear_(std::move(hear)),
      outside_(outside),
      settings_(interface_.with_role(Role::setting)),
      input_places_(contents_->system.nu, -1) {
    const char* asked = kind == Kind::co_simulation ? "co-simulation" : "model exchange";
    if (interface_.kind != asked)
        throw ModelError(std::string("an instance for ") + asked + " was asked for, this FMU is for " +
                         interface_.kind + " only; export the model with the other interface, or use it as that");
    for (const auto* v : interface_.with_role(Role::input))
        for (int e = 0; e < v->size; ++e) input_places_[v->index + e] = v->place + e;
    numbers_ = standard();
}

Slave::~Slave() = default;

Slave::Numbers Slave::standard() const {
    const std::size_t inputs = input_places_.size();
    Numbers n;
    n.given = interface_.starts;
    n.slopes.assign(inputs, 0.0);
    n.fresh.assign(inputs, 0);
    n.waiting.assign(inputs, 0);
    return n;
}

// ---------------------------------------------------------------- answers

void Slave::admit(Call call) const {
    const Rule& rule = rules[static_cast<int>(call)];
    if (rule.modes & bit(mode_)) return;
    std::string text = std::string(rule.what) + " is not possible in the " + name_of(mode_) + " mode";
    if (mode_ == Mode::broken) throw Refused(text + "; restore a state, reset or free the instance");
    const char* before = ", but in the ";
    for (Mode mode : {Mode::instantiated, Mode::initialization, Mode::step, Mode::event, Mode::continuous})
        if (rule.modes & bit(mode)) text += before + std::string(name_of(mode)), before = " or ";
    throw Refused(text + " mode");
}

// The answer to the exception that is being handled.
Answer Slave::translated() {
    try {
        throw;
    } catch (const Discarded& reason) {
        say(Answer::discard, discard_log, reason.what());
        return Answer::discard;
    } catch (const Refused& reason) {
        return refuse(reason.what());
    } catch (const ModelError& reason) {
        return refuse(reason.what());
    } catch (const StepFailed& reason) {
        return refuse(reason.what());
    } catch (const std::exception& reason) {
        mode_ = Mode::broken;
        say(Answer::error, fatal_log, std::string("unexpected error, please report it: ") + reason.what());
    } catch (...) {
        mode_ = Mode::broken;
        say(Answer::error, fatal_log, "unexpected error, please report it");
    }
    return Answer::error;
}

Answer Slave::refuse(const std::string& why) {
    say(Answer::error, error_log, why);
    return Answer::error;
}

Answer Slave::lack(const std::string& what) {
    say(Answer::discard, discard_log, what);
    return Answer::discard;
}

void Slave::say(Answer answer, const char* category, const std::string& text) {
    if (hear_) hear_(answer, category, text);
}

Answer Slave::set_debug_logging(bool on, const std::vector<std::string>& categories) {
    const auto named = [&](const char* category) {
        return std::find(categories.begin(), categories.end(), category) != categories.end();
    };
    for (const auto& category : categories) {
        constexpr const char* known[] = {error_log, warning_log, discard_log, fatal_log,
                                         event_log, solver_log,  "logAll"};
        if (std::find(std::begin(known), std::end(known), category) == std::end(known))
            return refuse("there is no log category '" + category + "'");
    }
    const bool all = categories.empty() || named("logAll");
    if (all || named(event_log)) hears_events_ = on;
    if (all || named(solver_log)) hears_solver_ = on;
    return Answer::ok;
}

// ---------------------------------------------------------------- lifecycle

Answer Slave::setup(double start_time, std::optional<double> stop_time, std::optional<double> tolerance) {
    return attempt(Call::setup, [&] {
        if (!std::isfinite(start_time)) throw Refused("the start time must be finite, found " + number(start_time));
        if (stop_time && !(*stop_time > start_time))  // infinity is no limit
            throw Refused("the stop time must lie behind the start time of " + in_seconds(start_time) + ", found " +
                          in_seconds(*stop_time));
        if (tolerance && !(*tolerance > 0 && std::isfinite(*tolerance)))
            throw Refused("the experiment's tolerance must be a positive number, found " + number(*tolerance));
        numbers_.start_time = start_time, numbers_.stop_time = stop_time, numbers_.tolerance = tolerance;
        forget();
    });
}

Answer Slave::enter_initialization() {
    return attempt(Call::enter_initialization, [&] { mode_ = Mode::initialization; });
}

Answer Slave::exit_initialization() {
    return attempt(Call::exit_initialization, [&] {
        Run& started = run();
        signals();  // what cannot be reported is told here
        if (setting(Interface::log_level) >= level_warnings)
            for (const auto& label : started.instance.given_up())
                say(Answer::warning, warning_log, label + " was a guess and is given up: the joints do not admit it");
        mode_ = kind_ == Kind::co_simulation && !event_mode_ ? Mode::step : Mode::event;
    });
}

Answer Slave::terminate() {
    return attempt(Call::terminate, [&] {
        mode_ = Mode::terminated;
        if (hears_solver_) say(Answer::ok, solver_log, statistics());
    });
}

Answer Slave::reset() {
    return attempt(Call::reset, [&] {
        mode_ = Mode::instantiated;
        numbers_ = standard();
        told_ = 0;
        forget();
    });
}

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
        std::size_t at = 0;
        for (std::size_t k = 0; k < count; ++k) {
            const auto& v = variable(references[k], type);
            if (values_count - at < static_cast<std::size_t>(v.size)) throw Refused("there are too few values");
            for (int e = 0; e < v.size; ++e) values[at++] = value_of(v, e);
        }
        if (at != values_count) throw Refused("there are more values than the variables hold");
    });
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
    const bool bounded = v.role != Role::input;  // bounds of inputs describe, those of parameters are held
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
    const State before = r.instance.state;
    try {
        for (const auto* v : found) {
            for (int e = 0; e < v->size && tuned(v); ++e)
                if (values[e] != numbers_.given[v->place + e]) r.change_parameter(v->index + e, values[e]);
            values += v->size;
        }
    } catch (...) {
        r.restore(before);
        throw;
    }
    current_ = false;
}

void Slave::take(const Interface::Variable& v, const double* values) {
    if (gives_state(v)) return set_state(v, *values);
    const bool unchanged = std::equal(values, values + v.size, numbers_.given.begin() + v.place);
    if (!unchanged) failed_ = 0;
    std::copy_n(values, v.size, numbers_.given.begin() + v.place);
    if (prepares()) {
        if (!unchanged) forget();
    } else if (v.role == Role::input) {
        for (int k = v.index; k < v.index + v.size; ++k) {
            numbers_.waiting[k] = 1;
            if (!numbers_.fresh[k]) numbers_.slopes[k] = 0;
        }
        current_ = false;
    }
}

Answer Slave::set_slopes(const std::uint32_t* references, std::size_t count, const int* orders, const double* values,
                         std::size_t values_count) {
    return attempt(Call::set_slopes, [&] {
        const Found found = variables(references, count, Type::real, values_count);
        if (count > 0 && !(orders && values)) throw Refused("orders or values are missing");
        const double* at = values;
        for (std::size_t k = 0; k < count; ++k) {
            const auto& v = *found[k];
            if (v.role != Role::input) throw Refused("'" + v.name + "' is no input, only these have slopes to be set");
            if (orders[k] != 1)
                throw Refused("derivative " + std::to_string(orders[k]) + " of input '" + v.name +
                              "' cannot be set; inputs follow the first one");
            for (int e = 0; e < v.size; ++e, ++at)
                if (!std::isfinite(*at))
                    throw Refused("the slope of '" + v.name + "' must be a finite number, found " + number(*at));
        }
        for (const auto* v : found)
            for (int j = v->index; j < v->index + v->size; ++j) {
                if (numbers_.slopes[j] != *values) failed_ = 0;
                numbers_.given[input_places_[j]] = input(j);
                numbers_.slopes[j] = *values++;
                numbers_.fresh[j] = numbers_.waiting[j] = 1;
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
            if (orders[k] != 1)
                throw Refused("derivative " + std::to_string(orders[k]) + " of '" + found[k]->name +
                              "' is not offered, the first one is");
        }
        Derivatives& d = derivatives();
        d.sensitivity.in_time(d.signals.data());
        for (const auto* v : found) values = std::copy_n(d.signals.begin() + v->index, v->size, values);
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
            if (v->role != Role::input && v->role != Role::parameter && !(moves_states && v->is_state()))
                throw Refused("'" + v->name + "' is neither input nor parameter" +
                              (moves_states ? " nor continuous state" : "") + ", there is no derivative by it");
        Derivatives& d = derivatives();
        d.along(moving, seed, run_->exchange);
        for (const auto* v : wanted) {
            const auto& found = v->role == Role::rate ? d.rates : d.signals;
            values = std::copy_n(found.begin() + v->index, v->size, values);
        }
    });
}

// Fills signals and, of model exchange, rates with their changes along a direction.
void Slave::Derivatives::along(const Found& moving, const double* seed, const std::optional<Exchange>& exchange) {
    std::vector<double>* by_space[] = {nullptr, &states.q, &states.v, &states.x};
    for (auto* part : {&inputs, &parameters, &states.q, &states.e, &states.v, &states.x})
        std::fill(part->begin(), part->end(), 0.0);
    for (const auto* v : moving)
        for (int e = 0; e < v->size; ++e, ++seed)
            if (!v->is_state())
                (v->role == Role::input ? inputs : parameters)[v->index + e] += *seed;
            else if (const int behind = v->first - static_cast<int>(states.q.size()); v->space == 1 && behind >= 0)
                states.e[behind] += *seed;
            else
                (*by_space[v->space])[v->first] += *seed;
    Sensitivity::Direction direction;
    direction.u = inputs.data(), direction.p = parameters.data();
    if (exchange) {
        exchange->turn(states);
        direction.q = states.q.data(), direction.v = states.v.data(), direction.x = states.x.data();
    }
    sensitivity.along(direction, signals.data());
    if (exchange) exchange->change_of_derivatives(states, sensitivity.a(), sensitivity.xdot(), rates.data());
}

// ---------------------------------------------------------------- the run

bool Slave::is_changed(const Interface::Variable& v, int element) const {
    return numbers_.given[v.place + element] != interface_.starts[v.place + element];
}

DriverOptions Slave::driver_options() const {
    DriverOptions o{setting(Interface::tolerance), setting(Interface::step), setting(Interface::first_step),
                    setting(Interface::largest_step), setting(Interface::smallest_step)};
    if (numbers_.tolerance && !is_changed(*settings_[Interface::tolerance]))
        o.tolerance = std::clamp(*numbers_.tolerance, tightest, loosest);
    if (!(o.tolerance > 0)) throw Refused("solver.tolerance must be positive, found " + number(o.tolerance));
    if (!(o.smallest_step > 0))
        throw Refused("solver.smallest_step must be positive, found " + number(o.smallest_step));
    return o;
}

// The options in the table are those of the exported scheme; another one gets only what was set for it.
std::vector<double> Slave::scheme_options() const {
    const int chosen = static_cast<int>(setting(Interface::scheme)) - 1;
    const bool exported = !is_changed(*settings_[Interface::scheme]);
    const auto wanted = interface_.options_of(chosen);
    std::vector<double> values;
    for (const auto* o : wanted) values.push_back(o->standard);
    for (std::size_t k = Interface::first_option; k < settings_.size(); ++k) {
        const auto& v = *settings_[k];
        if (!exported && !is_changed(v)) continue;
        const std::string name = v.name.substr(v.name.rfind('.') + 1);
        const auto at = std::find_if(wanted.begin(), wanted.end(), [&](const auto* o) { return o->name == name; });
        if (at == wanted.end())
            throw Refused("scheme '" + interface_.schemes[chosen] + "' has no option '" + name + "'; leave '" + v.name +
                          "' as it is");
        values[at - wanted.begin()] = option_value(**at, v);
    }
    return values;
}

// What a variable says of an option, in whose scheme choices may have other numbers than in the exported one.
double Slave::option_value(const Interface::Option& wanted, const Interface::Variable& v) const {
    const double given = numbers_.given[v.place];
    const int exported = static_cast<int>(interface_.starts[settings_[Interface::scheme]->place]) - 1;
    const Interface::Option& own = *interface_.options_of(exported)[v.index - Interface::first_option];
    if (own.choices.empty() != wanted.choices.empty())
        throw Refused("'" + v.name + "' means something else in the chosen scheme; leave it as it is");
    if (own.choices.empty()) {
        if (!(wanted.low <= given && given <= wanted.high))
            throw Refused("'" + v.name + "' must lie in [" + number(wanted.low, 6) + ", " + number(wanted.high, 6) +
                          "], found " + number(given, 6));
        return given;
    }
    const std::string& text = own.choices.at(static_cast<std::size_t>(given) - 1);
    const auto at = std::find(wanted.choices.begin(), wanted.choices.end(), text);
    if (at == wanted.choices.end()) throw Refused("'" + v.name + "' cannot be '" + text + "' in the chosen scheme");
    return static_cast<double>(at - wanted.choices.begin());
}

std::unique_ptr<Slave::Run> Slave::made() const {
    const System& system = contents_->system;
    const std::string& scheme = interface_.schemes.at(static_cast<std::size_t>(setting(Interface::scheme)) - 1);
    return std::make_unique<Run>(system, make_scheme(scheme, system, scheme_options()), driver_options(), outside_,
                                 kind_);
}

// A changed parameter asks for assembly, which leaves the start values that were set.
StartOptions Slave::start_options(Run& run) const {
    StartOptions o;
    o.time = numbers_.start_time;
    for (const auto* v : interface_.with_role(Role::parameter))
        for (int e = 0; e < v->size; ++e) {
            if (!is_changed(*v, e)) continue;
            const double value = numbers_.given[v->place + e];
            run.instance.set_parameter(v->index + e, value);
            o.correct = true;
            const bool rotation = v->space == 1 && v->count == 3;
            auto& kept = v->space == 1 ? o.q : o.v;
            for (int k = 0; v->space > 0 && k < v->count; ++k) kept.emplace_back(v->first + k, rotation ? 0.0 : value);
        }
    return o;
}

void Slave::forget() {
    run_.reset();
    failed_ = 0;
    current_ = false;
}

Slave::Run& Slave::run() {
    if (run_) return *run_;
    auto started = made();
    started->start(start_options(*started));
    run_ = std::move(started);
    for (std::size_t k = 0; k < input_places_.size(); ++k) {
        const int place = input_places_[k];
        numbers_.waiting[k] =
            place >= 0 && (numbers_.given[place] != interface_.starts[place] || numbers_.slopes[k] != 0);
    }
    return *run_;
}

void Slave::tell_inputs() {
    for (std::size_t k = 0; k < input_places_.size(); ++k) {
        if (!numbers_.waiting[k]) continue;
        run_->set_input(static_cast<int>(k), numbers_.given[input_places_[k]], numbers_.slopes[k]);
        numbers_.waiting[k] = 0;
        current_ = false;
    }
}

// A slope holds for one step; then the input stays where it is.
void Slave::hold_inputs() {
    for (std::size_t k = 0; k < input_places_.size(); ++k) {
        if (numbers_.fresh[k] || numbers_.slopes[k] == 0) continue;
        numbers_.given[input_places_[k]] = input(static_cast<int>(k));
        numbers_.slopes[k] = 0;
        numbers_.waiting[k] = 1;
    }
    tell_inputs();
}

const std::vector<double>& Slave::signals() {
    Run& r = run();
    tell_inputs();
    if (!current_) {
        signals_.resize(contents_->system.signal_count());
        r.report();
        r.instance.signals(signals_.data());
        current_ = true;
    }
    return signals_;
}

double Slave::time() const { return run_ ? run_->time() : numbers_.start_time; }

// ---------------------------------------------------------------- steps

void Slave::check_step(double time, double size) const {
    const double now = this->time();
    if (!(size > 0 && std::isfinite(size)))
        throw Refused("the step size must be a positive number of seconds, found " + number(size));
    if (time + size > furthest)
        throw Refused("a step to t = " + in_seconds(time + size) + " was asked for; no further than t = " +
                      in_seconds(furthest) + ", where numbers lose the microseconds");
    if (!(std::fabs(time - now) <= std::max(1e-9 * std::max(std::fabs(time), std::fabs(now)), 1e-6 * size)) ||
        !(now < time + size))
        throw Refused("a step from t = " + in_seconds(time) + " was asked for, the model is at t = " + in_seconds(now));
    if (numbers_.stop_time && time + size > *numbers_.stop_time + 1e-6 * size + 1e-9 * std::fabs(time))
        throw Refused("a step to t = " + in_seconds(time + size) + " was asked for, the stop time is " +
                      in_seconds(*numbers_.stop_time));
}

Answer Slave::do_step(double time, double size) {
    Reached reached;
    return do_step(time, size, {}, reached);
}

Answer Slave::do_step(double time, double size, const Pauses& pauses, Reached& reached) {
    return attempt(Call::do_step, [&] {
        check_step(time, size);
        check_no_event_waits("making a step");
        // Masters that repeat a discarded step as it was would do so without end.
        if (size == failed_)
            throw Refused("the same step has just failed; take a smaller one, set other inputs or restore a state");
        run();
        hold_inputs();
        failed_ = size;
        advance(time + size, pauses);
        failed_ = 0;
        std::fill(numbers_.fresh.begin(), numbers_.fresh.end(), 0);
        tell_events();
        reached = {this->time(), this->time() < time + size, run_->driver.waiting()};
    });
}

// To a time, or back to where it was: a step that failed leaves nothing behind.
void Slave::advance(double to, const Pauses& pauses) {
    before_ = run_->instance.state;
    current_ = false;
    run_->driver.events_wait = pauses.at_events;
    try {
        advance_pausing(to, pauses);
    } catch (const StepFailed& reason) {
        run_->driver.restore(before_);
        throw Discarded(std::string(reason.what()) + "; the step is taken back, t = " + in_seconds(before_.t));
    } catch (...) {
        run_->driver.restore(before_);
        throw;
    }
}

void Slave::tell_events() {
    const auto& occurred = run_->occurrences();
    const double level = setting(Interface::log_level);
    for (told_ = std::min(told_, occurred.size()); told_ < occurred.size(); ++told_)
        if (hears_events_ || level >= level_events)
            say(Answer::ok, event_log, "'" + occurred[told_].second + "' at t = " + in_seconds(occurred[told_].first));
    if (level >= level_steps) say(Answer::ok, solver_log, statistics());
}

std::string Slave::statistics() const {
    if (!run_) return "not started";
    const Statistics& s = run_->driver.statistics;
    return "t = " + in_seconds(time()) + ": steps " + std::to_string(s.steps) + ", rejected " +
           std::to_string(s.rejected) + ", iterations " + std::to_string(s.iterations) + ", residuals " +
           std::to_string(s.residuals) + ", factorisations " + std::to_string(s.factorisations) + ", restarts " +
           std::to_string(s.restarts);
}

// ---------------------------------------------------------------- states

Answer Slave::save(Snapshot*& to) {
    return attempt(Call::save, [&] {
        if (run_ && !prepares()) tell_inputs();
        Snapshot now{contents_->system.identity, interface_.identity, kind_, mode_, numbers_, std::nullopt};
        if (run_ && !prepares()) now.state = run_->instance.state;
        if (to)
            *to = std::move(now);
        else
            to = new Snapshot(std::move(now));
    });
}

Answer Slave::restore(const Snapshot* from) {
    return attempt(Call::restore, [&] {
        if (!from) throw Refused("there is no state to be restored");
        if (from->model != contents_->system.identity || from->interface != interface_.identity || from->kind != kind_)
            throw Refused("the state to be restored belongs to another FMU");
        std::unique_ptr<Run> fresh;
        const auto same_settings = [&] {
            return from->numbers.tolerance == numbers_.tolerance &&
                   std::all_of(settings_.begin(), settings_.end(), [&](const auto* v) {
                       return from->numbers.given[v->place] == numbers_.given[v->place];
                   });
        };
        const bool same = run_ && same_settings();
        Numbers before = std::exchange(numbers_, from->numbers);
        try {
            if (from->state) {
                if (!same) fresh = made();
                (fresh ? *fresh : *run_).restore(*from->state);
            }
        } catch (...) {
            numbers_ = std::move(before);
            throw;
        }
        if (fresh) run_ = std::move(fresh);
        if (!from->state) run_.reset();
        mode_ = from->mode;
        current_ = false;
        failed_ = 0;
    });
}

void Slave::release(Snapshot*& snapshot) {
    delete snapshot;
    snapshot = nullptr;
}

// ---------------------------------------------------------------- states as bytes

namespace {

std::vector<int> as_wholes(const std::vector<char>& flags) { return {flags.begin(), flags.end()}; }

void write_optional(Writer& to, const std::optional<double>& x) {
    to.flag(x.has_value());
    if (x) to.number(*x);
}

std::optional<double> read_optional(Reader& from, const char* what) {
    if (!from.flag(what)) return std::nullopt;
    return from.number(what);
}

std::vector<char> read_flags(Reader& from, const char* what, std::size_t count) {
    std::vector<char> flags;
    for (int x : from.wholes(what)) flags.push_back(x != 0);
    if (flags.size() != count) throw ModelError(std::string("the saved state has another number of ") + what);
    return flags;
}

std::vector<double> read_finite(Reader& from, const char* what, std::size_t count) {
    std::vector<double> values = from.numbers(what);
    if (values.size() != count) throw ModelError(std::string("the saved state has another number of ") + what);
    for (double x : values)
        if (!std::isfinite(x)) throw ModelError(std::string("the saved state has ") + what + " that are not finite");
    return values;
}

}  // namespace

std::vector<unsigned char> Slave::as_bytes(const Snapshot& s) const {
    Writer to;
    to.whole(s.model);
    to.whole(static_cast<int>(s.kind));
    to.whole(static_cast<int>(s.mode));
    to.number(s.numbers.start_time);
    write_optional(to, s.numbers.stop_time);
    write_optional(to, s.numbers.tolerance);
    to.numbers(s.numbers.given);
    to.numbers(s.numbers.slopes);
    to.wholes(as_wholes(s.numbers.fresh));
    to.wholes(as_wholes(s.numbers.waiting));
    to.flag(s.state.has_value());
    if (s.state) mbd::write(*s.state, to);
    return sealed(to.bytes, interface_.identity);
}

Answer Slave::size_of(const Snapshot* snapshot, std::size_t& size) {
    return attempt(Call::save, [&] {
        if (!snapshot) throw Refused("there is no state to be written");
        size = as_bytes(*snapshot).size();
    });
}

Answer Slave::write(const Snapshot* snapshot, unsigned char* to, std::size_t size) {
    return attempt(Call::save, [&] {
        if (!snapshot || !to) throw Refused("there is no state to be written, or no room for it");
        const auto bytes = as_bytes(*snapshot);
        if (bytes.size() > size)
            throw Refused("the state takes " + std::to_string(bytes.size()) + " bytes, found room for " +
                          std::to_string(size));
        std::copy(bytes.begin(), bytes.end(), to);
    });
}

Answer Slave::read(const unsigned char* from, std::size_t size, Snapshot*& to) {
    return attempt(Call::restore, [&] {
        if (!from) throw Refused("there are no bytes of a state");
        auto found = from_bytes(from, size);
        if (to)
            *to = std::move(*found);
        else
            to = found.release();
    });
}

std::unique_ptr<Slave::Snapshot> Slave::from_bytes(const unsigned char* data, std::size_t size) const {
    Reader from = opened(data, size, interface_.identity);
    auto found = std::make_unique<Snapshot>();
    Snapshot& s = *found;
    s.interface = interface_.identity;
    s.model = static_cast<std::uint32_t>(from.whole("model", 0, 0xFFFFFFFFll));
    s.kind = static_cast<Kind>(from.whole("kind", 0, static_cast<int>(Kind::model_exchange)));
    s.mode = static_cast<Mode>(from.whole("mode", 0, static_cast<int>(Mode::terminated)));
    s.numbers.start_time = from.finite("start time");
    s.numbers.stop_time = read_optional(from, "stop time");
    s.numbers.tolerance = read_optional(from, "tolerance");
    s.numbers.given = read_finite(from, "values", interface_.starts.size());
    s.numbers.slopes = read_finite(from, "slopes", input_places_.size());
    s.numbers.fresh = read_flags(from, "slopes", input_places_.size());
    s.numbers.waiting = read_flags(from, "inputs", input_places_.size());
    if (from.flag("state")) s.state = mbd::read(from, contents_->system);
    from.end();
    for (const auto& v : interface_.variables)
        for (int e = 0; v.settable() && e < v.size; ++e) check_value(v, s.numbers.given[v.place + e]);
    const bool begun = s.mode != Mode::instantiated && s.mode != Mode::initialization;
    if (begun != s.state.has_value() || s.mode == Mode::foresight || s.mode == Mode::progress)
        throw Refused("the saved state does not fit its mode");
    return found;
}

}  // namespace mbd
