// What occurs while a model moves: finds the time, lets it happen, starts the motion anew (docs/theory.md, chapter 9).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "driver.hpp"

namespace mbd {
namespace {

constexpr double rearmed = 1e-7;  // of the largest value so far
constexpr double narrow = 1e-10;  // of the step: how well the time of an event is known
constexpr double near = 1e-3;     // of the step: how far before an event steps have to reach
constexpr double far = 0.5;       // of the step: what a jump of a force keeps steps from ending in
constexpr int trusted = 3;        // secants in a row before the bracket is halved
constexpr long longest_burst = 1000;
constexpr double standstill = 1e-6;  // of a step: time that hardly advances
constexpr double nothing = -std::numeric_limits<double>::infinity();

// Where a function that is negative at lo and positive at hi may vanish: by the secant, else in the middle.
double guess(double lo, double f_lo, double hi, double f_hi, bool halve) {
    const double middle = lo + 0.5 * (hi - lo);
    if (halve || !(f_lo < 0) || !std::isfinite(f_lo) || !std::isfinite(f_hi)) return middle;
    const double d = lo + (hi - lo) * (f_lo / (f_lo - f_hi));
    const double margin = 1e-3 * (hi - lo);
    return std::clamp(d, lo + margin, hi - margin);
}

}  // namespace

// ---------------------------------------------------------------- indicators

void Driver::see() {
    indicators_.resize(instance_.system.switches.indicators.size());
    instance_.indicators(indicators_.data());
}

// At the start signs are taken as they are; conditions that are true occur with the first step.
void Driver::watch() {
    occurrences_.clear();
    burst_ = 0;
    for (int k = 0; k < instance_.system.switches.breaks; ++k)
        if (instance_.constants[instance_.system.switches.breaks_at + k] == instance_.state.t) {
            if (jumps(instance_.state.t)) start_after(instance_.state.t);
            break;
        }
    if (!instance_.system.switches.any()) return;
    see();
    for (std::size_t k = 0; k < indicators_.size(); ++k)
        if (instance_.system.switches.indicators[k].kind == Switches::CROSSING)
            instance_.state.sides[k] = indicators_[k] > 0;
}

// Positive where indicator k occurs: became true, or changed its sign.
double Driver::excess(std::size_t k) const {
    const bool was = instance_.state.sides[k] != 0;
    if (instance_.system.switches.indicators[k].kind == Switches::CROSSING)
        return was ? -indicators_[k] : indicators_[k];
    return was ? nothing : indicators_[k];
}

double Driver::excess() const {
    double most = nothing;
    for (std::size_t k = 0; k < indicators_.size(); ++k) most = std::max(most, excess(k));
    return most;
}

// A condition that was true has to become clearly false before it can become true again: what an event holds in place
// stays there but for rounding. A contact that has just parted may touch still, but no more once a step has been made.
void Driver::remember_sides(bool moved) {
    State& s = instance_.state;
    for (std::size_t k = 0; k < indicators_.size(); ++k) {
        const double g = indicators_[k];
        const int kind = instance_.system.switches.indicators[k].kind;
        if (g > 0 && kind != Switches::IMPACT) s.sides[k] = 1;
        if (g < (kind == Switches::EVENT ? -rearmed * s.sizes[k] : 0.0)) s.sides[k] = 0;
        if (moved && kind == Switches::IMPACT) s.sides[k] = 0;
        if (std::isfinite(g)) s.sizes[k] = std::max(s.sizes[k], std::fabs(g));
    }
}

// ---------------------------------------------------------------- the time

// Whatever is true here and was not; inputs, parameters or a start may have made it so.
void Driver::look() {
    if (!instance_.system.switches.any()) return;
    see();
    if (excess() > 0)
        act_or_wait();
    else
        remember_sides(false);
}

// What waits, and what inputs or parameters have made true since.
void Driver::let_happen() {
    waiting_ = false;
    if (instance_.state.restart_pending) restart();
    if (!instance_.system.switches.any()) return;
    see();
    act();
}

void Driver::act_or_wait() {
    if (events_wait)
        waiting_ = true;
    else
        act();
}

// After a step of size h from `before_`.
bool Driver::occurred(double h) {
    see();
    if (!(excess() > 0)) {
        remember_sides(true);
        return false;
    }
    locate(h);
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
        return true;
    }
    if (scheme_->step(instance_, d, statistics).status != Status::done) return false;
    scheme_->accept(instance_);
    instance_.follow_turns();
    s.drift = 0;
    return true;
}

// Shorter steps from `before_` end where nothing has occurred (lo) or something has (hi), until both are one time:
// secants (Illinois), halved where these are slow. The motion goes on from hi.
void Driver::locate(double h) {
    State& s = instance_.state;
    double lo = 0, hi = h, f_hi = excess(), quiet = 0;
    after_ = s;
    last_quiet_ = s = before_;
    see();
    double f_lo = excess();
    const double width = std::max(narrow * h, 2 * instant(s.t + h));
    for (int k = 1, side = 0; hi - lo > width; ++k) {
        const double d = guess(lo, f_lo, hi, f_hi, k % (trusted + 1) == 0);
        const bool reached = reached_from_before(d);
        if (reached) see();
        const double f = reached ? excess() : 0;  // unknown: the next guess is the middle
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
    s.last_step = std::max(before_.last_step, h);
    see();
}

// Sizes at which no step ends may lie on either side of where the search went: the motion before goes on as far as
// steps without the event reach. Returns the size of the longest.
double Driver::approach(double quiet, double beyond, double near_enough) {
    while (beyond - quiet > near_enough) {
        const double d = quiet + 0.5 * (beyond - quiet);
        const bool reached = reached_from_before(d);
        if (reached) see();
        if (reached && !(excess() > 0))
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
        see();
        return excess() > 0;
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

// ---------------------------------------------------------------- what happens

void Driver::note(const std::string& name) {
    State& s = instance_.state;
    occurrences_.emplace_back(s.t, name);
    ++s.events;
    if (burst_ == 0 || s.t - burst_began_ > std::max(standstill * s.last_step, instant(s.t)))
        burst_ = 0, burst_began_ = s.t;
    if (++burst_ <= longest_burst) return;
    throw StepFailed("events follow each other without end at t = " + number(s.t, 6) +
                     " s: " + std::to_string(longest_burst) + " of them, the last is '" + name +
                     "'; what it switches makes its own condition false and true again; give the conditions of "
                     "opposite events a distance, or an impact a larger rest_speed");
}

// All that occurs at this time, in the order of the model; what follows from it at once, after that.
void Driver::act() {
    for (bool first = true; gather(first); first = false) happen();
    remember_sides(false);
}

// What occurs here. A crossing is followed by a new start only, so that one is enough.
bool Driver::gather(bool first) {
    now_.clear();
    for (std::size_t k = 0; k < indicators_.size(); ++k)
        if (excess(k) > 0 && (first || instance_.system.switches.indicators[k].kind != Switches::CROSSING))
            now_.push_back(static_cast<int>(k));
    return !now_.empty();
}

void Driver::happen() {
    const Switches& w = instance_.system.switches;
    State& s = instance_.state;
    instance_.report();  // what is let go has the velocities that the rows allowed
    s.v = instance_.v;
    std::vector<int> hits, partings;
    for (int k : now_) {
        const auto& one = w.indicators[k];
        const bool impact = one.kind == Switches::IMPACT, rests = impact && instance_.is_active(one.row);
        note(rests ? one.name + ".release" : one.name);
        if (impact) (rests ? partings : hits).push_back(k);
        s.sides[k] = !impact && indicators_[k] > 0;
    }
    for (const auto& action : w.actions)
        if (std::binary_search(now_.begin(), now_.end(), action.indicator)) instance_.switch_row(action.row, action.on);
    for (int k : partings) instance_.switch_row(w.indicators[k].row, false);
    if (!hits.empty()) instance_.collide(hits);
    for (int k : hits)
        if (instance_.is_active(w.indicators[k].row)) note(w.indicators[k].name + ".rest");
    instance_.choose_rows();
    const double violation = instance_.worst_velocity_violation;
    restart();  // the speed at which rows that have been switched on were closing is no violation
    instance_.worst_velocity_violation = violation;
    see();
    for (std::size_t k = 0; k < indicators_.size(); ++k)
        if (w.indicators[k].kind == Switches::EVENT && indicators_[k] < -rearmed * s.sizes[k]) s.sides[k] = 0;
    for (int k : partings) s.sides[k] = indicators_[k] > 0;  // what has just parted touches still
}

// ---------------------------------------------------------------- breaks

// The next time at which something may jump; infinite where there is none.
double Driver::next_break() const {
    const Switches& w = instance_.system.switches;
    double next = std::numeric_limits<double>::infinity();
    for (int k = 0; k < w.breaks; ++k)
        if (const double at = instance_.constants[w.breaks_at + k]; at > instance_.state.t) next = std::min(next, at);
    return next;
}

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
