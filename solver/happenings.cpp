// Which indicators occur, and what follows from that at once (docs/theory.md, chapter 9).
#include "happenings.hpp"

namespace mbd {
namespace {

constexpr double rearmed = 1e-7;  // of the largest value so far
constexpr double flat = 1e-3;     // the same: a bend that hides nothing
constexpr long longest_burst = 1000;
constexpr double standstill = 1e-6;  // of a step: time that hardly advances
constexpr double nothing = -std::numeric_limits<double>::infinity();

// The first of the times begin + k period after t; of one that occurs once, begin itself or never.
double first_after(double t, double begin, double period) {
    constexpr double most = 1e15;  // beyond, one time is not told from the next
    if (begin > t && period == 0) return begin;
    double k = std::floor((t - begin) / period);
    if (!(period > 0) || !(std::fabs(k) < most)) return std::numeric_limits<double>::infinity();
    while (begin + k * period > t) --k;
    while (!(begin + k * period > t)) ++k;
    return begin + k * period;
}

}  // namespace

// ---------------------------------------------------------------- indicators

void Happenings::forget() {
    occurrences_.clear();
    before_ = instance_.state.burst = 0;
}

// Of another motion nothing is known but the number.
void Happenings::restore(const State& saved) {
    const long listed = saved.events - before_;
    if (listed < 0 || listed > static_cast<long>(occurrences_.size())) {
        occurrences_.clear();
        before_ = saved.events;
    } else {
        occurrences_.resize(static_cast<std::size_t>(listed));
    }
}

void Happenings::take_sides() {
    see();
    for (std::size_t k = 0; k < indicators_.size(); ++k)
        if (instance_.system.switches.indicators[k].kind == Switches::CROSSING)
            instance_.state.sides[k] = indicators_[k] > 0;
}

void Happenings::see() {
    indicators_.resize(instance_.system.switches.indicators.size());
    if (instance_.indicators_are_reported())
        report_();
    else
        instance_.v = instance_.state.v;
    instance_.indicators(indicators_.data());
}

// Positive where indicator k occurs: became true, or changed its sign.
double Happenings::excess(std::size_t k) const {
    const bool was = instance_.state.sides[k] != 0;
    if (instance_.system.switches.indicators[k].kind == Switches::CROSSING)
        return was ? -indicators_[k] : indicators_[k];
    return was ? nothing : indicators_[k];
}

double Happenings::excess() const {
    double most = nothing;
    for (std::size_t k = 0; k < indicators_.size(); ++k) most = std::max(most, excess(k));
    return most;
}

double Happenings::watched(std::size_t k) const {
    const double g = std::isnan(indicators_[k]) ? -1 : indicators_[k];  // what is not a number does not occur
    const double margin = std::max(rearmed * instance_.state.sizes[k], std::numeric_limits<double>::min());
    const bool was = instance_.state.sides[k] != 0;
    switch (instance_.system.switches.indicators[k].kind) {
        case Switches::CROSSING:
            return was ? g + margin : g - margin;
        case Switches::IMPACT:
            return was ? -std::fabs(g) - margin : g == 0 ? -margin : g;
        default:
            return was ? g + margin : g == 0 ? -margin : g;
    }
}

// A condition that was true has to become clearly false before it can become true again: what an event holds in place
// stays there but for rounding. A contact that has just parted may touch still, but no more once a step has been made.
void Happenings::remember_sides(bool moved) {
    State& s = instance_.state;
    for (std::size_t k = 0; k < indicators_.size(); ++k) {
        const double g = indicators_[k];
        const int kind = instance_.system.switches.indicators[k].kind;
        if (g > 0 && kind != Switches::IMPACT) s.sides[k] = 1;
        if (g < (kind == Switches::EVENT ? -rearmed * s.sizes[k] : 0.0)) s.sides[k] = 0;
        if (moved && kind == Switches::IMPACT) s.sides[k] = 0;
        if (std::isfinite(g)) s.sizes[k] = std::max(s.sizes[k], std::fabs(g));
        s.seen[k] = followed(k);
    }
}

// What tells how near it is: of a contact at rest its reaction, whatever ends it besides.
double Happenings::followed(std::size_t k) const {
    const auto& one = instance_.system.switches.indicators[k];
    return instance_.rests(one) ? instance_.lambda[one.row] : indicators_[k];
}

bool Happenings::may_have_occurred(double h) const {
    const State& s = instance_.state;
    for (std::size_t k = 0; k < indicators_.size(); ++k) {
        const auto& one = instance_.system.switches.indicators[k];
        if (s.sides[k] != 0 || !instance_.is_reported(one)) continue;
        const double first = s.seen[k], last = followed(k), slope = std::isnan(s.slopes[k]) ? 0 : s.slopes[k];
        const double bend = std::fabs(last - first - slope * h);
        const double size = instance_.rests(one) ? instance_.largest_reaction() : s.sizes[k];
        if (bend > flat * size && bend > -std::max(first, last)) return true;
    }
    return false;
}

void Happenings::remember_slopes(double h) {
    State& s = instance_.state;
    for (std::size_t k = 0; k < indicators_.size(); ++k) s.slopes[k] = (followed(k) - s.seen[k]) / h;
}

// ---------------------------------------------------------------- what happens

bool Happenings::found() {
    if (!any()) return false;
    see();
    if (excess() > 0) return true;
    remember_sides(false);
    return false;
}

void Happenings::note(const std::string& name) {
    State& s = instance_.state;
    occurrences_.emplace_back(s.t, name);
    ++s.events;
    if (s.burst == 0 || s.t - s.burst_began > std::max(standstill * s.last_step, instant(s.t)))
        s.burst = 0, s.burst_began = s.t;
    if (++s.burst <= longest_burst) return;
    throw StepFailed("events follow each other without end at t = " + number(s.t, 6) +
                     " s: " + std::to_string(longest_burst) + " of them, the last is '" + name +
                     "'; what it switches makes its own condition false and true again; give the conditions of "
                     "opposite events a distance, or an impact a larger rest_speed");
}

// What is clearly false here may become true at once by what follows.
void Happenings::rearm() {
    State& s = instance_.state;
    const auto& all = instance_.system.switches.indicators;
    for (std::size_t k = 0; k < all.size(); ++k)
        if (all[k].kind == Switches::EVENT && indicators_[k] < -rearmed * s.sizes[k]) s.sides[k] = 0;
}

void Happenings::act() {
    rearm();
    for (bool first = true; gather(first); first = false) happen();
    remember_sides(false);
    std::fill(instance_.state.slopes.begin(), instance_.state.slopes.end(), State::unknown);
}

// What occurs here. A crossing is followed by a new start only, so that one is enough.
bool Happenings::gather(bool first) {
    now_.clear();
    for (std::size_t k = 0; k < indicators_.size(); ++k)
        if (excess(k) > 0 && (first || instance_.system.switches.indicators[k].kind != Switches::CROSSING))
            now_.push_back(static_cast<int>(k));
    return !now_.empty();
}

// In the order of the model: each event sees what those before it have set, and what follows from that.
void Happenings::set_states() {
    bool set = false;
    for (int k : now_) {
        if (!instance_.system.switches.sets(k)) continue;
        if (set) {
            instance_.report();
            instance_.state.v = instance_.v;
        }
        instance_.set_states(k);
        set = true;
    }
}

void Happenings::happen() {
    const Switches& w = instance_.system.switches;
    State& s = instance_.state;
    const Instance::ClosedPose pose(instance_);
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
    set_states();  // by what is there before anything is switched
    for (const auto& action : w.actions)
        if (std::binary_search(now_.begin(), now_.end(), action.indicator)) instance_.switch_row(action.row, action.on);
    for (int k : partings) instance_.switch_row(w.indicators[k].row, false);
    if (!hits.empty()) instance_.collide(hits);
    for (int k : hits)
        if (instance_.is_active(w.indicators[k].row)) note(w.indicators[k].name + ".rest");
    instance_.choose_rows();
    const double violation = instance_.worst_velocity_violation;
    restart_();  // the speed at which rows that have been switched on were closing is no violation
    instance_.worst_velocity_violation = violation;
    see();
    rearm();
    for (int k : partings) s.sides[k] = indicators_[k] > 0;  // what has just parted touches still
}

// ---------------------------------------------------------------- breaks

Break Happenings::next_break(double t) {
    constexpr double never = std::numeric_limits<double>::infinity();
    Break next{never, 0};
    const System& system = instance_.system;
    breaks_.resize(3 * system.break_count());
    if (breaks_.empty()) return next;
    system.breaks(instance_.state_point(), instance_.work, breaks_.data());
    for (std::size_t k = 0; k < breaks_.size(); k += 3) {
        const double at = first_after(t, breaks_[k], breaks_[k + 1]);
        if (at < next.at) next = {at, instant(at) + breaks_[k + 2]};
    }
    return next;
}

}  // namespace mbd
