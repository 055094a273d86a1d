// Model exchange: an integrator outside sets time and states and reads derivatives and indicators ([FMI 2.0.4] 3.2).
#include <cmath>

#include "slave_run.hpp"

namespace mbd {

// The exchange, with the inputs as they are set.
Exchange& Slave::exchange() {
    if (kind_ != Kind::model_exchange) throw Refused("this is not possible: the instance was made for co-simulation");
    Run& r = run();
    tell_inputs();
    return *r.exchange;
}

// What fails where the integrator tries the motion may be tried elsewhere.
template <class Action>
Answer Slave::exchanged(Call call, Action&& action) {
    return attempt(call, [&] {
        try {
            action(exchange());
        } catch (const StepFailed& reason) {
            throw Discarded(reason.what());
        }
    });
}

namespace {

void check_count(const double* values, std::size_t count, std::size_t wanted, const char* of) {
    if (count != wanted)
        throw Refused("there are " + std::to_string(wanted) + " " + of + ", found " + std::to_string(count));
    if (count > 0 && !values) throw Refused(std::string(of) + " are missing");
}

}  // namespace

// ---------------------------------------------------------------- modes

Answer Slave::enter_event() {
    return attempt(Call::enter_event, [&] { mode_ = Mode::event; });
}

Answer Slave::enter_continuous() {
    return attempt(Call::enter_continuous, [&] {
        exchange();
        mode_ = Mode::continuous;
    });
}

// Everything that follows from what occurs is done at once. Where that fails nothing has happened.
Answer Slave::discrete_states(bool& states_changed, double& next_time) {
    return attempt(Call::discrete_states, [&] {
        Exchange& e = exchange();
        current_ = false;
        all_or_nothing([&] {
            const Exchange::Update update = e.update();
            states_changed = update.states_changed, next_time = update.next_time;
        });
        tell_events();
    });
}

Answer Slave::completed_step(bool& event_wanted) {
    return exchanged(Call::completed_step, [&](Exchange& e) {
        event_wanted = e.completed();
        current_ = false;
    });
}

// ---------------------------------------------------------------- the motion as it is tried

Answer Slave::set_time(double time) {
    return attempt(Call::set_time, [&] {
        if (!std::isfinite(time)) throw Refused("the time must be finite, found " + number(time));
        if (time < numbers_.start_time - 1e-9 * std::max(1.0, std::fabs(numbers_.start_time)))
            throw Refused("the time " + in_seconds(time) + " lies before the start time of " +
                          in_seconds(numbers_.start_time));
        exchange().set_time(time);
        current_ = false;
    });
}

Answer Slave::set_continuous_states(const double* values, std::size_t count) {
    return attempt(Call::set_continuous_states, [&] {
        Exchange& e = exchange();
        check_count(values, count, e.state_count(), "continuous states");
        e.set_states(values);
        current_ = false;
    });
}

Answer Slave::get_continuous_states(double* values, std::size_t count) {
    return attempt(Call::get_continuous_states, [&] {
        const Exchange& e = exchange();
        check_count(values, count, e.state_count(), "continuous states");
        e.states(values);
    });
}

Answer Slave::get_nominals(double* values, std::size_t count) {
    return attempt(Call::get_nominals, [&] {
        const Exchange& e = exchange();
        check_count(values, count, e.state_count(), "nominal values");
        e.nominals(values);
    });
}

Answer Slave::get_derivatives(double* values, std::size_t count) {
    return exchanged(Call::get_derivatives, [&](Exchange& e) {
        check_count(values, count, e.state_count(), "derivatives");
        e.derivatives(values);
    });
}

Answer Slave::get_event_indicators(double* values, std::size_t count) {
    return exchanged(Call::get_event_indicators, [&](Exchange& e) {
        check_count(values, count, e.indicator_count(), "event indicators");
        e.indicators(values);
    });
}

// The derivative of a continuous state as a variable; all of them are taken at once for the call that reads it.
double Slave::rate(int index) {
    if (rates_.empty()) {
        Exchange& e = exchange();
        rates_.resize(e.state_count());
        e.derivatives(rates_.data());
    }
    return rates_[index];
}

// A continuous state may be set by its variable too: what the environment integrates is its own.
bool Slave::gives_state(const Interface::Variable& v) const {
    return v.is_state() && (mode_ == Mode::event || mode_ == Mode::continuous) && kind_ == Kind::model_exchange;
}

void Slave::set_state(const Interface::Variable& v, double value) {
    exchange().set_state(v.space, v.first, value);
    current_ = false;
}

// What signals show of an orientation is normalised; the value of a state is what has been set.
bool Slave::is_quaternion(const Interface::Variable& v) const {
    return kind_ == Kind::model_exchange && v.is_state() && v.space == 1 && v.first >= contents_->system.nv;
}

double Slave::quaternion(const Interface::Variable& v) { return exchange().quaternion(v.first - contents_->system.nv); }

}  // namespace mbd
