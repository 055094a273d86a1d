// Lifecycle, messages, the run and its steps.
#include "slave.hpp"

#include <algorithm>
#include <cmath>

#include "schemes/table.hpp"
#include "slave_run.hpp"

namespace mbd {
namespace {

using Mode = Slave::Mode;
using Call = Slave::Call;
using Role = Interface::Role;

constexpr double tightest = 1e-14, loosest = 0.1;  // tolerances: rounding, and where an error estimate says nothing
constexpr double furthest = 1e10;                  // s: beyond, the next number is a microsecond away
constexpr const char *error_log = "logStatusError", *warning_log = "logStatusWarning",
                     *discard_log = "logStatusDiscard", *fatal_log = "logStatusFatal", *event_log = "logEvents",
                     *solver_log = "logSolver";
// Values of the setting solver.log_level.
constexpr int often = 3, warned = 1 << 30;  // times that an input has moved without its rate
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

}  // namespace

Contents::Contents(const Bytes& model, const Bytes& interface_bytes)
    : system(model.data(), model.size()), interface(interface_bytes.data(), interface_bytes.size(), system) {}

Slave::Slave(std::shared_ptr<const Contents> contents, Kind kind, Hear hear, Outside outside)
    : contents_(std::move(contents)),
      interface_(contents_->interface),
      kind_(kind),
      hear_(std::move(hear)),
      outside_(outside),
      settings_(interface_.with_role(Role::setting)),
      input_places_(contents_->system.nu, -1),
      rate_places_(input_places_),
      unfelt_(contents_->system.nu, 0) {
    const char* asked = kind == Kind::co_simulation ? "co-simulation" : "model exchange";
    if (interface_.kind != asked)
        throw ModelError(std::string("an instance for ") + asked + " was asked for, this FMU is for " +
                         interface_.kind + " only; export the model with the other interface, or use it as that");
    for (const auto* v : interface_.with_role(Role::input))
        for (int e = 0; e < v->size; ++e) input_places_[v->index + e] = v->place + e;
    for (const auto* v : interface_.with_role(Role::slope))
        for (int e = 0; e < v->size; ++e) rate_places_[v->index + e] = v->place + e;
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
        return lack(reason.what());
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
        tell_inputs();
        const bool steps = kind_ == Kind::co_simulation && !event_mode_;  // else the environment asks for events
        if (steps) all_or_nothing([&] { started.driver.catch_up(); });
        current_ = false;
        signals();  // what cannot be reported is told here
        if (setting(Interface::log_level) >= level_warnings) {
            if (const double used = driver_options().tolerance; follows_tolerance() && used != *numbers_.tolerance)
                say(Answer::warning, warning_log,
                    "the experiment's tolerance of " + number(*numbers_.tolerance) + " lies outside of [" +
                        number(tightest) + ", " + number(loosest) + "]; " + number(used) + " is used");
            for (const auto& what : started.instance.set_by_motions()) say(Answer::warning, warning_log, what);
            for (const auto& label : started.instance.given_up())
                say(Answer::warning, warning_log, label + " was a guess and is given up: the joints do not admit it");
        }
        mode_ = steps ? Mode::step : Mode::event;
        if (steps) tell_events();
    });
}

Answer Slave::terminate() {
    return attempt(Call::terminate, [&] {
        mode_ = Mode::terminated;
        tell_gaps();
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

// ---------------------------------------------------------------- the run

bool Slave::is_changed(const Interface::Variable& v, int element) const {
    return numbers_.given[v.place + element] != interface_.starts[v.place + element];
}

// The experiment's tolerance counts where the user has given none.
bool Slave::follows_tolerance() const { return numbers_.tolerance && !is_changed(*settings_[Interface::tolerance]); }

DriverOptions Slave::driver_options() const {
    DriverOptions o{setting(Interface::tolerance),     setting(Interface::step),
                    setting(Interface::first_step),    setting(Interface::largest_step),
                    setting(Interface::smallest_step), setting(Interface::most_steps)};
    if (follows_tolerance()) o.tolerance = std::clamp(*numbers_.tolerance, tightest, loosest);
    if (!(o.tolerance > 0)) throw Refused("solver.tolerance must be positive, found " + number(o.tolerance));
    if (!(o.most_steps >= 1)) throw Refused("solver.most_steps must be at least 1, found " + number(o.most_steps));
    if (!(o.smallest_step > 0))
        throw Refused("solver.smallest_step must be positive, found " + number(o.smallest_step));
    for (const auto& [name, value] : {std::pair("first_step", o.first_step), std::pair("largest_step", o.largest_step)})
        if (value > 0 && value < o.smallest_step)
            throw Refused(std::string("solver.") + name + " must not be below solver.smallest_step, found " +
                          number(value) + " and " + number(o.smallest_step));
    return o;
}

const std::string& Slave::scheme() const {
    return interface_.schemes.at(static_cast<std::size_t>(setting(Interface::scheme)) - 1);
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
    return std::make_unique<Run>(system, make_scheme(scheme(), system, scheme_options()), driver_options(), outside_,
                                 kind_);
}

// A changed parameter asks for assembly, which leaves the start values that were set.
StartOptions Slave::start_options(Run& run) const {
    StartOptions o;
    o.time = numbers_.start_time;
    o.correct = setting(Interface::assemble) != 0;
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
        warn_of_unfelt(k);
        run_->set_input(static_cast<int>(k), numbers_.given[input_places_[k]], numbers_.slopes[k]);
        numbers_.waiting[k] = 0;
        current_ = false;
    }
}

// A slope holds for one step; then the input goes on by its rate.
void Slave::hold_inputs() {
    for (std::size_t k = 0; k < input_places_.size(); ++k)
        if (!numbers_.fresh[k] && numbers_.slopes[k] != rate_given(k)) lead(static_cast<int>(k), rate_given(k));
    tell_inputs();
}

// From where it is an input goes on by a slope.
void Slave::lead(int index, double slope) {
    numbers_.given[input_places_[index]] = input(index);
    numbers_.slopes[index] = slope;
    numbers_.waiting[index] = 1;
}

// The rate of an input that the environment has set.
double Slave::rate_given(std::size_t index) const {
    return rate_places_[index] < 0 ? 0 : numbers_.given[rate_places_[index]];
}

// Once, where an input is moved again and again whose rate is felt, and has never been set.
void Slave::warn_of_unfelt(std::size_t index) {
    if (rate_places_[index] < 0 || prepares() || unfelt_[index] == warned) return;
    if (numbers_.slopes[index] != 0) unfelt_[index] = warned;  // the environment knows
    if (numbers_.given[input_places_[index]] != run_->instance.state.u[index]) ++unfelt_[index];
    if (unfelt_[index] < often || unfelt_[index] == warned) return;
    unfelt_[index] = warned;
    if (setting(Interface::log_level) < level_warnings) return;
    for (const auto* v : interface_.with_role(Role::slope))
        if (const int k = static_cast<int>(index) - v->index; 0 <= k && k < v->size)
            say(Answer::warning, warning_log,
                "an input moves while '" + v->name + "' is 0: what rests on it, as dampers, tyres and motions, does " +
                    "not feel its speed; set '" + v->name + "' with it");
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
    if (!(std::fabs(time - now) <= std::max(1e-9 * std::max(std::fabs(time), std::fabs(now)), 1e-6 * size)))
        throw Refused("a step from t = " + in_seconds(time) + " was asked for, the model is at t = " + in_seconds(now));
    if (!(now < time + size))
        throw Refused("a step of " + number(size) + " s from t = " + in_seconds(time) +
                      " does not lead beyond the model's time, t = " + in_seconds(now));
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
    current_ = false;
    run_->driver.events_wait = pauses.at_events;
    try {
        all_or_nothing([&] { advance_pausing(to, pauses); });
    } catch (const StepFailed& reason) {
        throw Discarded(std::string(reason.what()) + "; the step is taken back, t = " + in_seconds(time()));
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

// Where steps are made from outside joints are closed again and again.
void Slave::tell_gaps() {
    if (!run_ || run_->exchange || setting(Interface::log_level) < level_warnings) return;
    for (const auto& [t, note] : run_->driver.jumps()) say(Answer::warning, warning_log, note);
    for (const std::string& note : {run_->driver.blow_note(scheme()), run_->driver.gap_note(scheme())})
        if (!note.empty()) say(Answer::warning, warning_log, note);
}

std::string Slave::statistics() const {
    if (!run_) return "not started";
    const Statistics& s = run_->driver.statistics;
    return "t = " + in_seconds(time()) + ": steps " + std::to_string(s.steps) + ", rejected " +
           std::to_string(s.rejected) + ", iterations " + std::to_string(s.iterations) + ", residuals " +
           std::to_string(s.residuals) + ", factorisations " + std::to_string(s.factorisations) + ", restarts " +
           std::to_string(s.restarts);
}

}  // namespace mbd
