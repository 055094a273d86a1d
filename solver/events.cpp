// What occurs while a model moves: finds the time at which it happens, and crosses breaks (docs/theory.md, chapter 9).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "driver.hpp"

namespace mbd {
namespace {

constexpr double narrow = 1e-10;  // of the step: how well the time of an event is known
constexpr double near = 1e-3;     // of the step: how far before an event steps have to reach
constexpr double far = 0.5;       // of the step: what a jump of a force keeps steps from ending in
constexpr int trusted = 3;        // secants in a row before the bracket is halved

// Where a function that is negative at lo and positive at hi may vanish: by the secant, else in the middle.
double guess(double lo, double f_lo, double hi, double f_hi, bool halve) {
    const double middle = lo + 0.5 * (hi - lo);
    if (halve || !(f_lo < 0) || !std::isfinite(f_lo) || !std::isfinite(f_hi)) return middle;
    const double d = lo + (hi - lo) * (f_lo / (f_lo - f_hi));
    const double margin = 1e-3 * (hi - lo);
    return std::clamp(d, lo + margin, hi - margin);
}

}  // namespace

// At the start signs are taken as they are; conditions that are true occur with the first step.
void Driver::watch() {
    happenings_.forget();
    for (int k = 0; k < instance_.system.switches.breaks; ++k)
        if (instance_.constants[instance_.system.switches.breaks_at + k] == instance_.state.t) {
            if (jumps(instance_.state.t)) start_after(instance_.state.t);
            break;
        }
    if (happenings_.any()) happenings_.take_sides();
}

// ---------------------------------------------------------------- the time

void Driver::look() {
    if (happenings_.found()) act_or_wait();
}

// What waits, and what inputs or parameters have made true since.
void Driver::let_happen() {
    waiting_ = false;
    if (instance_.state.restart_pending) restart();
    if (!happenings_.any()) return;
    happenings_.see();
    happenings_.act();
}

void Driver::act_or_wait() {
    if (events_wait)
        waiting_ = true;
    else
        happenings_.act();
}

// After a step of size h from `before_`.
bool Driver::occurred(double h) {
    happenings_.see();
    if (happenings_.excess() > 0) locate(h);
    if (!(happenings_.excess() > 0)) {
        happenings_.remember_sides(true);
        return false;
    }
    act_or_wait();
    return true;
}

// Where a force jumps, no step ends right beside the jump: with the force the motion is on the side without it, and
// the other way round. Then this is false.
bool Driver::reached_from_before(double d) {
    State& s = instance_.state;
    s = before_;
    if (short_of_a_step(d)) {
        drift(d);
    } else {
        if (scheme_->step(instance_, d, statistics).status != Status::done) return false;
        scheme_->accept(instance_);
        instance_.follow_turns();
        s.drift = 0;
    }
    s.t = std::min(s.t, after_.t);  // the sum may be rounded beyond where the event has occurred
    return true;
}

// Shorter steps from `before_` end where nothing has occurred (lo) or something has (hi), until both are one time:
// secants (Illinois), halved where these are slow. The motion goes on from hi, and never from beyond the end of the
// step: inputs may jump there, or a break may lie there. Where nothing occurs up to it after all, the motion is there.
void Driver::locate(double h) {
    State& s = instance_.state;
    const double end = s.t;
    double lo = 0, hi = h, f_hi = happenings_.excess(), quiet = 0;
    after_ = s;
    last_quiet_ = s = before_;
    happenings_.see();
    double f_lo = happenings_.excess();
    const double width = std::max(narrow * h, 2 * instant(s.t + h));
    for (int k = 1, side = 0; hi - lo > width; ++k) {
        const double d = guess(lo, f_lo, hi, f_hi, k % (trusted + 1) == 0);
        const bool reached = reached_from_before(d);
        if (reached) happenings_.see();
        const double f = reached ? happenings_.excess() : 0;  // unknown: the next guess is the middle
        const bool here = f > 0;
        if (here) {
            hi = d, f_hi = f, after_ = s;
            if (side == 1) f_lo *= 0.5;
        } else {
            lo = d, f_lo = f;
            if (reached) last_quiet_ = s, quiet = d;
            if (side == -1) f_hi *= 0.5;
        }
        side = here ? 1 : -1;
    }
    quiet = approach(quiet, hi, near * h);
    if (!drifted_into(hi - quiet, width, far * h)) s = after_;
    if (s.t > end) drift_to(end);
    s.last_step = std::max(before_.last_step, h);
    happenings_.see();
}

// From the last time before, without a step; what the scheme knows of steps ends there.
void Driver::drift_to(double t) {
    State& s = instance_.state;
    s = last_quiet_;
    drift(t - s.t);
    s.t = t;
    happenings_.see();
    if (!(happenings_.excess() > 0)) restart();
}

// Sizes at which no step ends may lie on either side of where the search went: the motion before goes on as far as
// steps without the event reach. Returns the size of the longest.
double Driver::approach(double quiet, double beyond, double near_enough) {
    while (beyond - quiet > near_enough) {
        const double d = quiet + 0.5 * (beyond - quiet);
        const bool reached = reached_from_before(d);
        if (reached) happenings_.see();
        if (reached && !(happenings_.excess() > 0))
            last_quiet_ = instance_.state, quiet = d;
        else
            beyond = d;
    }
    return quiet;
}

// A force that jumps where something occurs acts at the end of a step already: a step that ends after the event has
// half of the jump all the way, and there are times at which no step can end, neither with it nor without. So what is
// left is crossed without a step from the last time before (T9.5). False where nothing occurs on that way.
bool Driver::drifted_into(double first, double width, double longest) {
    State& s = instance_.state;
    const auto occurs_after = [&](double d) {
        s = last_quiet_;
        drift(d);
        happenings_.see();
        return happenings_.excess() > 0;
    };
    double lo = 0, hi = first;
    while (!occurs_after(hi)) {
        lo = hi, hi *= 2;
        if (hi > longest) return false;
    }
    while (hi - lo > width) {
        const double d = lo + 0.5 * (hi - lo);
        (occurs_after(d) ? hi : lo) = d;
    }
    return occurs_after(hi);
}

// ---------------------------------------------------------------- breaks

void Driver::cross_break(double at) {
    State& s = instance_.state;
    drift(at - s.t);
    s.t = at;
    if (jumps(at)) {
        start_after(at);
        ++statistics.restarts;
    }
    look();
}

// Consistent with what holds right after this time.
void Driver::start_after(double at) {
    State& s = instance_.state;
    s.t = at + instant(at);
    instance_.restart();
    scheme_->start(instance_);
    s.t = at, s.drift = 0;
}

// Whether velocities, accelerations or rates of states jump; what changes less than the error test sees is no jump.
bool Driver::jumps(double at) {
    State& s = instance_.state;
    const auto side = [&](double t) {
        s.t = t;
        instance_.report();
        s.t = at;
        return std::array<std::vector<double>, 3>{instance_.v, instance_.a, instance_.xdot};
    };
    const auto before = side(at - instant(at)), after = side(at + instant(at));
    for (std::size_t k = 0; k < before.size(); ++k) {
        double size = 0, jump = 0;
        for (std::size_t j = 0; j < before[k].size(); ++j) {
            const double unit = k < 2 ? instance_.unit(static_cast<int>(j)) : 1;
            size = std::max({size, std::fabs(before[k][j]) / unit, std::fabs(after[k][j]) / unit});
            jump = std::max(jump, std::fabs(after[k][j] - before[k][j]) / unit);
        }
        if (jump > std::sqrt(options_.tolerance) * std::max(size, options_.tolerance)) return true;
    }
    return false;
}

}  // namespace mbd
