// What occurs while a model moves: finds the time at which it happens (docs/theory.md, chapter 9).
#include <algorithm>
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

// ---------------------------------------------------------------- the time

void Driver::look() {
    if (instance_.state.last_step == 0 && !events_wait) happen_before_breaks();
    if (happenings_.found()) act_or_wait();
}

// At the start a break there is passed already: what is true at its very time only, as `time <= 0`, occurs before.
void Driver::happen_before_breaks() {
    State& s = instance_.state;
    const double passed = s.passed;
    if (passed < s.t) return;
    s.passed = State::never;
    if (happenings_.found()) happenings_.act();
    s.passed = std::max(s.passed, passed);
}

// What waits, and what inputs or parameters have made true since.
void Driver::let_happen() {
    waiting_ = false;
    take_side();
    reported_ = false;
    if (!happenings_.any()) return;
    if (instance_.state.last_step == 0) happen_before_breaks();
    happenings_.see();
    happenings_.act();
}

// Where nothing can occur, what is read stays what it is, to the last bit.
void Driver::catch_up() {
    if (happenings_.any()) follow_changes();
}

void Driver::follow_changes() {
    take_side();
    reported_ = waiting_ = false;
    look();
}

void Driver::act_or_wait() {
    if (events_wait)
        waiting_ = true;
    else
        happenings_.act();
}

// After a step of size h from `before_`, at whose end indicators have been seen.
bool Driver::occurred(double h) {
    if (happenings_.excess() > 0) {
        locate(h);
        const double part = instance_.state.t - before_.t;
        if (part > 0 && scheme_->carries() > 0) look_for_swing(before_.t, part, before_.v, before_.a);
    }
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

}  // namespace mbd
