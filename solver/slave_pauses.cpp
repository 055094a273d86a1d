// Steps that pause: the environment is asked for inputs and told of internal steps, and they may end early; the event
// mode of co-simulation (FMI 3.0.2, 4.2); derivatives the other way round.
#include <algorithm>
#include <numeric>

#include "slave_run.hpp"

namespace mbd {

// ---------------------------------------------------------------- pauses

void Slave::advance_pausing(double to, const Pauses& pauses) {
    Driver& driver = run_->driver;
    const Numbers numbers = pauses.before ? numbers_ : Numbers{};
    try {
        while (time() < to && !driver.waiting()) {
            if (pauses.before) {
                const double ahead = driver.reach(to);
                pause(Mode::foresight, [&] { pauses.before(ahead); });
                lead_inputs(ahead);
            }
            driver.advance(to, nullptr, nullptr, pauses.before || pauses.after ? 1 : 0);
            current_ = false;
            if (pauses.after) pause(Mode::progress, [&] { to = std::min(to, pauses.after(time())); });
        }
        if (driver.waiting() && !event_mode_) driver.let_happen();
    } catch (...) {
        if (pauses.before) numbers_ = numbers;
        throw;
    }
}

// The environment has the word, and may do only what belongs to this mode.
void Slave::pause(Mode mode, const std::function<void()>& call) {
    struct Back {
        Mode& mode;
        ~Back() { mode = Mode::step; }
    } back{mode_};
    mode_ = mode;
    call();
}

// Inputs that have been set to what they shall be at `ahead` go there in a straight line, the others by their rates:
// within a step nothing jumps [4.1.1].
void Slave::lead_inputs(double ahead) {
    const State& s = run_->instance.state;
    for (std::size_t k = 0; k < input_places_.size(); ++k) {
        if (input_places_[k] < 0) continue;
        double& given = numbers_.given[input_places_[k]];
        const double now = s.u[k] + s.udot[k] * (s.t - s.t_input);
        const double slope = numbers_.waiting[k] ? (given - now) / (ahead - s.t) : rate_given(k);
        numbers_.waiting[k] = slope != s.udot[k];
        numbers_.slopes[k] = slope;
        given = now;
    }
    tell_inputs();
}

// ---------------------------------------------------------------- the event mode

Answer Slave::enter_event_mode() {
    return attempt(Call::interrupt, [&] {
        if (!event_mode_) throw Refused("the event mode is not used: the instance was made without it");
        mode_ = Mode::event;
    });
}

// What waits happens, and what inputs and parameters have made true since.
Answer Slave::update_discrete_states() {
    return attempt(Call::handle_events, [&] {
        Run& r = run();
        tell_inputs();
        all_or_nothing([&] { r.driver.let_happen(); });
        current_ = false;
        tell_events();
    });
}

Answer Slave::enter_step_mode() {
    return attempt(Call::resume, [&] {
        check_no_event_waits("entering the step mode");
        mode_ = Mode::step;
    });
}

void Slave::check_no_event_waits(const char* what) const {
    if (run_ && run_->driver.waiting())
        throw Refused(std::string(what) +
                      " is not possible while an event waits; let it happen in the event mode first");
}

// ---------------------------------------------------------------- values

Answer Slave::get_starts(const std::uint32_t* references, std::size_t count, Interface::Type type, double* values,
                         std::size_t values_count) {
    return attempt(Call::get_starts, [&] {
        const Found found = variables(references, count, type, values_count);
        if (values_count > 0 && !values) throw Refused("room for values is missing");
        for (const auto* v : found)
            if (!v->settable())
                throw Refused("'" + v->name + "' has no start value; it is computed in the initialization mode");
        for (const auto* v : found) values = std::copy_n(numbers_.given.begin() + v->place, v->size, values);
    });
}

// A column of the derivatives after the other.
Answer Slave::differentiate_adjoint(const std::uint32_t* unknowns, std::size_t unknown_count,
                                    const std::uint32_t* knowns, std::size_t known_count, const double* seed,
                                    std::size_t seed_count, double* values, std::size_t values_count) {
    if ((seed_count > 0 && !seed) || (values_count > 0 && !values)) return refuse("seed or room for values is missing");
    std::vector<double> direction(values_count), column(seed_count);
    for (std::size_t k = 0; k < values_count; ++k) {
        direction[k] = 1;
        const Answer answer = differentiate(unknowns, unknown_count, knowns, known_count, direction.data(),
                                            values_count, column.data(), seed_count);
        if (answer != Answer::ok) return answer;
        values[k] = std::inner_product(column.begin(), column.end(), seed, 0.0);
        direction[k] = 0;
    }
    return Answer::ok;
}

}  // namespace mbd
