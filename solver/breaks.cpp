// What changes at one instant: breaks of expressions in time, inputs and parameters. The motion goes on with the
// velocities, accelerations and rates of the side that holds from then on (docs/theory.md, 9.4).
#include <algorithm>
#include <cmath>
#include <limits>

#include "driver.hpp"

namespace mbd {

// ---------------------------------------------------------------- what changes from outside

void Driver::set_input(int index, double value, double slope) {
    State& s = instance_.state;
    if (index < 0 || index >= instance_.system.nu)
        throw ModelError("input number " + std::to_string(index) + " is not in the model");
    if (!std::isfinite(value) || !std::isfinite(slope)) throw ModelError("an input must be a finite number");
    const double now = s.u[index] + s.udot[index] * (s.t - s.t_input);
    // the end of a line, and the begin of the next one
    const double alike =
        std::fabs(s.udot[index]) * instant(s.t) + 4 * std::numeric_limits<double>::epsilon() * std::fabs(now);
    const bool bends = slope != s.udot[index], jumps = !(std::fabs(value - now) <= alike);
    if (s.last_step > 0 && (jumps || bends)) s.inputs_vary = true;
    if (s.ahead > s.t && (jumps || bends)) s.restart_pending = true;  // the step that went on knew nothing of it
    if (jumps || (bends && instance_.system.slopes_of_inputs_count)) leave_side();
    for (int k = 0; k < instance_.system.nu && s.t != s.t_input; ++k) s.u[k] += s.udot[k] * (s.t - s.t_input);
    s.t_input = s.t;
    s.u[index] = value;
    s.udot[index] = slope;
    reported_ = false;
}

void Driver::change_parameter(int index, double value) {
    reported_ = false;
    instance_.change_parameter(index, value);
}

// ---------------------------------------------------------------- the two sides of an instant

// Before the first change at this time: what was reported until then.
void Driver::leave_side() {
    State& s = instance_.state;
    if (s.restart_pending || !s.before.empty()) return;
    try {
        if (!reported_) report();
        instance_.side(s.before);
    } catch (const StepFailed&) {  // there is nothing to compare the new side with
        s.restart_pending = true;
    }
}

// After the last change: the motion goes on with what holds now. What the scheme knows of steps before moves along with
// the jump or, where that is large or the scheme cannot, is forgotten.
void Driver::take_side() {
    State& s = instance_.state;
    if (s.restart_pending) return restart();
    if (s.before.empty() || !side_changed()) return;
    const Jump jump{jump_.data(), jump_.data() + instance_.system.nv};
    if (s.last_step == 0 || jump_counts(jump) || !moved_along(jump)) {
        ++statistics.restarts;
        start_anew();
    }
}

bool Driver::moved_along(const Jump& jump) {
    State& s = instance_.state;
    const auto move = [](std::vector<double>& to, const double* by) {
        for (double& x : to) x += *by++;
        return by;
    };
    move(s.v, jump.v);
    const double* by = jump.z;
    for (auto* part : {&s.a, &s.lambda, &s.xdot, &s.y}) by = move(*part, by);
    return scheme_->move_along(instance_, jump);
}

// Whether anything does jump; `jump_` says how far, and the new side is reported. It is no report for the next change:
// the motion goes on from here.
bool Driver::side_changed() {
    State& s = instance_.state;
    const double violation = instance_.worst_velocity_violation;
    reported_ = false;
    instance_.report();
    instance_.worst_velocity_violation = violation;  // a velocity that is made to jump is no violation
    instance_.side(jump_);
    for (std::size_t k = 0; k < jump_.size(); ++k) jump_[k] -= s.before[k];
    s.before.clear();
    return std::any_of(jump_.begin(), jump_.end(), [](double x) { return x != 0; });
}

// Whether it moves any coordinate or state within a step by more than the tolerance, each in its own weight (T9.8).
bool Driver::jump_counts(const Jump& jump) const {
    const System& system = instance_.system;
    const State& s = instance_.state;
    const double h = options_.step > 0 ? options_.step : std::max(s.h, s.last_step);
    const double *a = jump.z, *xdot = a + system.nv + system.nc;
    const auto far = [&](double moved, double weight) { return std::fabs(moved) > options_.tolerance * weight; };
    for (int k = 0; k < system.nv; ++k)
        if (far(h * (std::fabs(jump.v[k]) + h / 2 * std::fabs(a[k])), std::max(instance_.unit(k), std::fabs(s.q[k]))))
            return true;
    for (int k = 0; k < system.nx; ++k)
        if (far(h * xdot[k], std::max(system.nominal[k], std::fabs(s.x[k])))) return true;
    return false;
}

// From what is reported.
void Driver::start_anew() {
    State& s = instance_.state;
    instance_.adopt_report();
    scheme_->start(instance_);
    s.restart_pending = false;
    s.before.clear();
    s.drift = 0;
    reported_ = false;
}

// ---------------------------------------------------------------- breaks

// One at the present time; else infinite.
Break Driver::break_here() {
    const double t = instance_.state.t;
    const Break next = happenings_.next_break(t - instant(t));
    return next.at <= t + instant(t) ? next : Break{std::numeric_limits<double>::infinity(), 0};
}

void Driver::cross_break(const Break& next) {
    State& s = instance_.state;
    drift(next.at - s.t);
    s.t = next.at - next.margin, reported_ = false;
    leave_side();
    const double open = instance_.position_violation().scaled;
    s.t = next.at, s.passed = next.at + next.margin;
    note_jump(open);
    take_side();
    look();
}

// Where positions are given that jump, bodies are put there: no force says what that costs.
void Driver::note_jump(double open_before) {
    constexpr double visibly = 1e-6;
    constexpr std::size_t enough = 3;  // to be told of
    if (jumps_.size() == enough) return;
    const Violation open = instance_.position_violation();
    if (!(open.scaled > open_before + visibly)) return;
    const double t = instance_.state.t;
    jumps_.emplace_back(t, instance_.label(instance_.system.nv + open.row) + " jumps by " +
                               number(std::fabs(open.value), 4) + " at t = " + number(t, 6) +
                               " s: bodies are put there at once, whatever energy that takes; step5() or havsin() make "
                               "it smooth");
}

// At the start signs are taken as they are. The motion begins right after a break at that time.
void Driver::watch() {
    State& s = instance_.state;
    happenings_.forget();
    if (const Break here = break_here(); std::isfinite(here.at)) {
        const double begin = s.t;
        s.t = here.at - here.margin, reported_ = false;
        leave_side();
        s.t = begin, s.passed = here.at + here.margin;
        if (s.restart_pending || side_changed()) report(), start_anew();
    }
    if (happenings_.any()) happenings_.take_sides();
}

}  // namespace mbd
