#include "driver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bytes.hpp"

namespace mbd {
namespace {

constexpr int poll_interval = 256;
constexpr double shortest_remainder = 1e-5;  // of the last step
constexpr double least_factor = 0.2;
constexpr double failure_factor = 0.25;  // after a corrector that failed
constexpr double doubled = 2;            // at most, where reactions have to be followed from step to step
constexpr double unknown_course = 0.1;   // of a step: the first one after an event, where the same holds
constexpr double unknown_start = 1e-2;   // of the time ahead: the same at the start, where nothing moves
constexpr int most_halvings = 6;         // of a step for what it may have passed over
constexpr double out_of_reach = 1e12;    // of the model's length, or rad: rounding there is 1e-4 of it
constexpr double least_jerk = 1e-10;     // of the model's length
constexpr double rounding = 1e-12;       // of the model's length, or rad: what it opens
// What feedback leaves open is 0.3 times the tolerance on the average, 5 times at most (200 random mechanisms).
// Blows: part that one takes away of a speed, in schemes that carry some of it on and in others; part of the greatest
// speed so far; way that would have been gone, in tolerances.
constexpr double braked = 0.4, thrown_back = 1.1, considerable = 0.25, visible = 3, swung = 0.5;
constexpr double much_open = 20, visibly_open = 1e-3;  // times the tolerance; of the model's length, or rad

std::string shown(double x) { return number(x, 6); }

// A step so small that the run would not end is a mistake.
void limit_steps(double count, double step, const char* kind) {
    if (count <= 1e9) return;
    throw ModelError("the " + std::string(kind) + " step of " + shown(step) + " s would take " + shown(count) +
                     " steps to the next output; 1e9 are allowed, use a larger step");
}

constexpr const char* passed_over = "bodies pass through each other or meet unseen within one step";

const char* reason(Status status) {
    switch (status) {
        case Status::slow:
            return "Newton's iteration did not converge";
        case Status::diverged:
            return "Newton's iteration diverged";
        case Status::constraint:
            return "the constraints could not be closed";
        case Status::not_finite:
            return "a force or constraint is not finite";
        case Status::singular:
            return "the iteration matrix is singular";
        case Status::turned:
            return "a body turns by more than a quarter turn in one step";
        case Status::reversed:
            return "a joint's axes come to point in opposite directions";
        case Status::done:
            break;
    }
    return "the local error stayed above the tolerance";
}

}  // namespace

void Driver::start() {
    statistics = Statistics{};
    statistics.failed_at.assign(instance_.system.n(), 0);
    instance_.state.chosen_at = State::never;
    waiting_ = false;
    instance_.factorisations = instance_.fallbacks = 0;
    instance_.worst_velocity_violation = 0;
    instance_.state.before.clear();
    fastest_.assign(instance_.system.nv, 0);
    blows_.most[0] = blows_.most[1] = 0;
    forget_tries();
    scheme_->start(instance_);
    watch();
}

void Driver::restart() {
    ++statistics.restarts;
    State& s = instance_.state;
    if (const Break here = break_here(); std::isfinite(here.at)) s.passed = std::max(s.passed, here.at + here.margin);
    report();
    start_anew();
}

void Driver::report() {
    instance_.report();
    reported_ = true;
}

void Driver::check(const State& saved) const {
    mbd::check(saved, instance_.system);
    if (saved.memory.size() != scheme_->memory_size())
        throw ModelError("the saved state belongs to another scheme, or the same with other options");
    if (saved.ahead > saved.t && !scheme_->continuous())
        throw ModelError("the saved state lies within a step, which this scheme does not show");
    scheme_->check(saved);
}

void Driver::restore(const State& saved) {
    check(saved);
    before_ = instance_.state;
    instance_.state = saved;
    reported_ = false;
    try {
        instance_.let_time_run();
        instance_.update();
        report();
    } catch (...) {
        instance_.state = before_;
        instance_.update();
        throw;
    }
    scheme_->resume(instance_.state);
    happenings_.restore(saved);
    const auto later = [&](const auto& one) { return one.first > saved.t; };
    jumps_.erase(std::remove_if(jumps_.begin(), jumps_.end(), later), jumps_.end());
    if (blows_.stop.t > saved.t) blows_.stop = {};
    if (blows_.swing.t > saved.t) blows_.swing = {};
    forget_tries();
    waiting_ = false;
}

bool Driver::advance(double t, Poll poll, void* context, long limit) {
    if (!std::isfinite(t)) throw ModelError("cannot advance to a time that is not finite");
    if (t < instance_.state.t)
        throw ModelError("cannot advance from t = " + shown(instance_.state.t) + " s back to t = " + shown(t) + " s");
    follow_changes();
    bool stopped = false;
    limit_ = limit > 0 ? statistics.steps + limit : 0;
    allow_tries(t);
    State& s = instance_.state;
    within_last_step(t);
    for (long k = 1; s.t < t && !stopped && !paused(); ++k) {
        check_budget();
        const Break next = next_break();
        const double until = horizon(t, next), end = std::min(t, until);
        if (s.t == until)
            cross_break(next);
        else if (short_of_a_step(until - s.t))
            cross_without_step(end);
        else if (options_.step > 0)
            fixed_steps(end, poll, context, stopped);
        else
            controlled_steps(end, until, poll, context, stopped);
        stopped = stopped || (poll && k % poll_interval == 0 && s.t < t && poll(context));  // many events
    }
    statistics.factorisations = instance_.factorisations;
    statistics.fallbacks = instance_.fallbacks;
    check_reach();
    return !stopped;
}

// Advances by few steps towards the same time are one.
void Driver::allow_tries(double t) {
    if (t == target_ && begin_ <= instance_.state.t && tries_before_ <= tries()) return;
    target_ = t, begin_ = instance_.state.t;
    tries_before_ = tries();
}

void Driver::forget_tries() {
    target_ = -1;
    chatter_.forget();
}

void Driver::check_budget() {
    const State& s = instance_.state;
    const long spent = tries() - tries_before_, jumping = chatter_.length();
    const bool chatters = static_cast<double>(jumping) >= options_.most_steps;
    if (!chatters && static_cast<double>(spent) < options_.most_steps) return;
    std::string text;
    if (chatters || 2 * jumping > spent) {
        text = chatter_.label() + " jumps to and fro: " + std::to_string(jumping) +
               " tries of a step from t = " + shown(chatter_.begin()) + " s to " + shown(s.t) +
               " s did no more than follow its jumps; make it smooth, as tanh(v/v0) for sign(v), or take a 'friction' "
               "element or an event";
    } else {
        const auto most = std::max_element(statistics.failed_at.begin(), statistics.failed_at.end());
        const bool failed = most != statistics.failed_at.end() && *most > 0;
        text = "the motion takes " + std::to_string(spent) + " tries of a step from t = " + shown(begin_) + " s to " +
               shown(s.t) + " s, on its way to " + shown(target_) + " s (" + std::to_string(statistics.rejected) +
               " of the whole run were refused, " + std::to_string(statistics.restarts) + " follow events" +
               (failed ? "; most failed at " + instance_.label(static_cast<int>(most - statistics.failed_at.begin()))
                       : "") +
               "); check forces that change very fast or jump, events that follow each other without end, and the "
               "tolerance";
    }
    forget_tries();  // whoever goes on has mended something, or wants to
    throw StepFailed(text + "; most_steps, " + shown(options_.most_steps) + ", allows more");
}

// Steps that are too long for stiff forces make a motion grow without any step that fails.
void Driver::check_reach() const {
    const State& s = instance_.state;
    for (int k = 0; k < instance_.system.nv; ++k) {
        const double unit = instance_.unit(k), start = instance_.constants[instance_.system.start_at + k];
        if (!(std::fabs(s.q[k]) > out_of_reach * std::max(unit, std::fabs(start)))) continue;
        const std::string much = instance_.system.rotational[k] ? " rad" : " times the model's length";
        throw StepFailed("the motion grows without bound: " + instance_.label(k) + " is " + shown(s.q[k] / unit) +
                         much + " at t = " + shown(s.t) + " s; " +
                         (options_.step > 0 ? "the fixed step of " + shown(options_.step) +
                                                  " s is too long for the forces: take a shorter one, or error control"
                                            : "check forces, their signs and the model's length"));
    }
}

// Whether a step may go beyond the time asked for, which is then shown within it: not where inputs are known to change,
// where something may occur, or where the user gives the steps.
bool Driver::may_pass() const {
    const State& s = instance_.state;
    const bool steady = std::all_of(s.udot.begin(), s.udot.end(), [](double slope) { return slope == 0; });
    return options_.step == 0 && scheme_->continuous() && steady && !s.inputs_vary && !happenings_.any();
}

// How far steps towards t may reach: right before the next break, or t itself.
double Driver::horizon(double t, const Break& next) const {
    const double before = std::isfinite(next.at) ? next.at - next.margin : next.at;
    if (next.at <= t) return std::max(instance_.state.t, before);
    return may_pass() ? std::max(t, before) : t;
}

// Where a step has gone beyond the state shown: shows the time t within it, or goes on from its end.
void Driver::within_last_step(double t) {
    State& s = instance_.state;
    if (s.ahead <= s.t) return;
    if (t < s.ahead)
        scheme_->show(instance_, t);
    else
        scheme_->go_on(instance_);
    s.t = std::min(t, s.ahead);
    instance_.follow_turns();
}

void Driver::accept(const StepResult& result, double h) {
    const bool carries = scheme_->carries() > 0;
    const double began = instance_.state.t;
    if (instance_.system.forces_have_kinks) look_for_blow(h);
    if (carries) v_before_ = instance_.state.v, a_before_ = instance_.state.a;
    scheme_->accept(instance_);
    instance_.follow_turns();
    instance_.state.last_step = h;
    instance_.state.drift = 0;
    if (carries) look_for_swing(began, h, v_before_, a_before_);
    ++statistics.steps;
    statistics.worst_position_violation = std::max(statistics.worst_position_violation, result.violation);
}

// What the step tried last has taken of speeds, beyond what the acceleration at its begin does (T9.12).
void Driver::look_for_blow(double h) {
    const State& s = instance_.state;
    const double *end = scheme_->end().v, least = scheme_->carries() > 0 ? braked : thrown_back;
    const double way = visible * options_.tolerance;
    for (int k = 0; k < instance_.system.nv; ++k) {
        const double sign = std::copysign(1, s.v[k]), was = sign * s.v[k], lost = was - sign * end[k];
        fastest_[k] = std::max(fastest_[k], was);
        const double unforeseen = lost + h * sign * s.a[k];
        if (!(unforeseen > std::max(least * was, considerable * fastest_[k]))) continue;
        const double unit = instance_.unit(k);
        if (h * was > way * unit && lost / unit > blows_.stop.size) blows_.stop = {s.t, lost, lost / unit, k};
    }
}

// Where accelerations change so much within a step that what follows depends on how the scheme weighs both (T9.14), or
// take a speed while a remainder is crossed without a step.
void Driver::look_for_swing(double began, double h, const std::vector<double>& v, const std::vector<double>& a) {
    const State& s = instance_.state;
    for (int k = 0; k < instance_.system.nv; ++k) {
        const double unit = instance_.unit(k), fastest = std::max(std::fabs(v[k]), std::fabs(s.v[k])) / unit;
        double& most = blows_.most[instance_.system.rotational[k]];
        most = std::max(most, fastest);
        const double taken = std::fabs(s.v[k] - v[k]),
                     swing = h / 2 * std::fabs(s.a[k] - a[k]) + s.drift * std::fabs(a[k]);
        if (!(h * taken > rounding * unit)) continue;  // at rest
        if (swing > swung * most * unit && taken / unit > std::max(blows_.swing.size, considerable * most))
            blows_.swing = {began, taken, taken / unit, k};
    }
}

// Takes a step that has succeeded, to t. False where something occurred on the way: the motion has started anew there.
// Where it may have passed over something it is taken back, if `strict`, and half of it is `clear`.
bool Driver::taken(StepResult& result, double h, double t, bool strict) {
    const bool watched = happenings_.any();
    if (watched) before_ = instance_.state;
    const Blows kept = blows_;
    accept(result, h);
    instance_.state.t = t;
    if (!watched) return true;
    happenings_.see();
    if (strict && !(happenings_.excess() > 0) && happenings_.may_have_occurred(h)) {
        instance_.state = before_;
        blows_ = kept;
        --statistics.steps;
        result.clear = 0.5;
        return true;
    }
    happenings_.remember_slopes(h);
    if (happenings_.excess() > 0) blows_ = kept;  // of a step that is taken back
    return !occurred(h);
}

// A remainder far below the last step is crossed by its Taylor polynomial, whose error is smaller than that of any
// step: a step that short would divide the rounding of q by beta h^2.
bool Driver::short_of_a_step(double d) const {
    const State& s = instance_.state;
    return s.drift + d <= std::max(shortest_remainder * s.last_step, 0.1 * options_.smallest_step);
}

void Driver::cross_without_step(double t) {
    State& s = instance_.state;
    const double d = t - s.t;
    const bool watched = happenings_.any();
    if (watched) before_ = s;
    drift(d);
    s.t = t;
    if (!watched) return;
    happenings_.see();
    occurred(d);
}

std::string Driver::gap_note(const std::string& scheme) const {
    const double worst = statistics.worst_position_violation, error = options_.step > 0 ? 0 : options_.tolerance;
    const bool drifts = scheme_->drifts();
    if (!(worst > (drifts ? rounding : std::max(much_open * error, visibly_open)))) return {};
    return "scheme '" + scheme + (drifts ? "' let joints drift open" : "' left joints open") + " by up to " +
           number(worst, 2) + " of the model's length (or rad)" +
           (drifts              ? ""
            : options_.step > 0 ? "; take a smaller step"
                                : "; take a smaller tolerance");
}

// A swing was small if much faster motions have followed, as at the begin of a ramp.
const Driver::Blow& Driver::worst_blow() const {
    const bool small = blows_.swing.at < 0 ||
                       blows_.swing.size < considerable * blows_.most[instance_.system.rotational[blows_.swing.at]];
    return blows_.stop.at >= 0 || small ? blows_.stop : blows_.swing;
}

std::string Driver::blow_note(const std::string& scheme) const {
    const Blow& blow = worst_blow();
    if (blow.at < 0) return {};
    const System& s = instance_.system;
    const std::string unit = s.rotational[blow.at] ? " rad/s" : " m/s";
    const double carried = scheme_->carries() * blow.taken;
    const std::string effect = carried > 0 ? "may give back " + number(carried, 2) + unit + " of it in the next"
                                           : "does not see how, and the speed after it may be far off";
    return s.labels[blow.at] + " is braked by " + number(blow.taken, 3) + unit +
           " within one step from t = " + number(blow.t, 6) + " s: scheme '" + scheme + "' " + effect +
           "; take a smaller tolerance or step, a softer force, or an impact";
}

void Driver::drift(double d) {
    State& s = instance_.state;
    for (int k = 0; k < instance_.system.nv; ++k) {
        s.q[k] += d * (s.v[k] + d / 2 * s.a[k]);
        s.v[k] += d * s.a[k];
    }
    instance_.system.settle(s.q.data());
    for (int k = 0; k < instance_.system.nx; ++k) s.x[k] += d * s.xdot[k];
    instance_.follow_turns();
    s.drift += d;
    s.t += d;
}

// Other rows are kept before those that are turn dependent. The motion is the same, so that nothing is lost; but forces
// may depend on how reactions are shared, and gaps that a scheme leaves open would grow from choice to choice.
void Driver::keep_rows_independent(double h) {
    if (instance_.state.redundancies.empty()) return;
    if (scheme_->leaves_gaps() && instance_.opens_alone() && rows_chosen_anew({}, h)) return;
    if (!instance_.exchange_rows()) return;
    ++statistics.row_choices;
    const bool open = scheme_->leaves_gaps();
    // What rounded numbers leave open in rows that are kept from now on would be closed with a jerk.
    if (open || instance_.state.misfit > least_jerk) instance_.close_rows_kept();
    if (open || !instance_.system.linear())
        restart();
    else
        scheme_->take_rows(instance_);
}

// Where Newton's iteration fails at first, whatever becomes of the step.
void Driver::count_failure(const StepResult& result) {
    const int at = result.failed_at < 0 && result.status != Status::done ? result.worst_unknown : result.failed_at;
    if (at < 0) return;
    ++statistics.failed_iterations;
    ++statistics.failed_at[at];
}

// A corrector may fail because another choice of independent rows is due: then the motion goes on with that.
bool Driver::rows_chosen_anew(const StepResult& result, double h) {
    State& s = instance_.state;
    if (s.t == s.chosen_at) return false;  // once is enough at one time
    s.chosen_at = s.t;
    const State before = s;
    instance_.look_from_state();
    // Where joints are open rows that repeat others seem not to.
    if (!instance_.close_rows_kept() || (!instance_.choose_rows() && !instance_.choose_rows_ahead(h))) {
        s = before;
        return instance_.allow_misfit(result.worst_row, result.violation);
    }
    instance_.close_rows_kept();
    try {
        restart();
    } catch (const StepFailed&) {  // no motion is left with these rows: what failed names the dead point
        s = before;
        return false;
    }
    ++statistics.row_choices;
    return true;
}

// A fixed step may end at a singular pose or right beside it, where no corrector converges: one and a half steps pass
// it, half a step ends where two would have. The state is untouched where that fails too.
bool Driver::singular_pose_passed(double h) {
    const State before = instance_.state;
    for (const double part : {1.5 * h, 0.5 * h}) {
        StepResult result = scheme_->step(instance_, part, statistics);
        look_at_sides(result);
        if (result.status != Status::done || result.turn > 1) {
            instance_.state = before;
            return false;
        }
        accept(result, part);
    }
    return true;
}

// Equal steps not longer than the given one, the last of which ends exactly at t.
void Driver::fixed_steps(double t, Poll poll, void* context, bool& stopped) {
    State& s = instance_.state;
    const double begin = s.t, remaining = t - begin;
    if (remaining <= 0) return;
    const double wanted = std::ceil(remaining / options_.step * (1 - 1e-9));
    if (!(wanted < 9e15))
        throw ModelError("the fixed step of " + shown(options_.step) + " s is too small for this interval");
    const long count = std::max(1L, static_cast<long>(wanted));
    const double h = remaining / static_cast<double>(count);
    for (long k = 1; k <= count; ++k) {
        keep_rows_independent(h);
        StepResult result = scheme_->step(instance_, h, statistics);
        count_failure(result);
        if (result.status == Status::done && result.turn > 1) result.status = Status::turned;
        look_at_sides(result);
        look_at_gaps(result, h);
        if (result.clear < 1) fail(result, h);
        if (result.status != Status::done) {
            if (result.status != Status::turned && k < count && singular_pose_passed(h)) {
                s.t = begin + static_cast<double>(++k) * h;
                if (k == count) s.t = t;
                look();
                if (waiting_) return;
                continue;
            }
            const bool turned = result.status == Status::turned || result.status == Status::reversed;
            if (turned || !rows_chosen_anew(result, h)) fail(result, h);
            --k;
            continue;
        }
        if (!taken(result, h, k == count ? t : begin + static_cast<double>(k) * h) || paused()) return;
        if (poll && k % poll_interval == 0 && k < count && poll(context)) {
            stopped = true;
            return;
        }
    }
}

// A first guess from the time scales of motion; the error test corrects it.
double Driver::first_step(double remaining) const {
    if (options_.first_step > 0) return options_.first_step;
    const Instance& i = instance_;
    double rate = 0;
    for (int k = 0; k < i.system.nv; ++k) {
        const double scale = i.unit(k);
        rate = std::max({rate, std::sqrt(std::fabs(i.state.a[k]) / scale), std::fabs(i.state.v[k]) / scale});
    }
    for (int k = 0; k < i.system.nx; ++k)
        rate = std::max(rate, std::fabs(i.state.xdot[k]) / std::max(i.system.nominal[k], std::fabs(i.state.x[k])));
    // Where nothing moves, reactions that decide are met by steps that begin short and double.
    const double still = happenings_.depend_on_reactions() ? unknown_start * remaining : remaining;
    const double time_scale = rate > 0 ? 1 / rate : still;  // not shorter for a short first interval
    return scheme_->first_step(options_.tolerance) * time_scale;
}

double Driver::accepted_factor(double error, bool after_rejection) const {
    const double next = std::max(scheme_->next_error(error), 1e-12);
    const double factor = scheme_->safety() * std::pow(next, -1.0 / scheme_->error_order());  // [Negrut05] eq. 37b
    if (factor >= 1 && (factor <= scheme_->least_growth() || after_rejection)) return 1;
    if (factor < 1) return std::max(least_factor, std::min(factor, scheme_->least_cut()));
    return std::min(factor, scheme_->greatest_growth(instance_.state));
}

// Equal steps to where they have to end: a short last one would amplify the noise of lambda by 1/h^2, and every change
// of h costs accuracy (docs/decisions/004). No such place is near where steps may pass the time asked for.
double Driver::next_size(double remaining, bool passing, bool& last) const {
    const double h = instance_.state.h;
    if (passing && remaining > 2 * h) return h;
    const double count = std::ceil(remaining / h * (1 - 1e-10));
    last = count <= 1;
    return last ? remaining : remaining / count;
}

double Driver::reach(double t) const {
    const State& s = instance_.state;
    if (!(t > s.t)) return t;
    const double h = options_.step > 0 ? options_.step : s.h > 0 ? s.h : first_step(t - s.t);
    return std::min(t, s.t + (options_.largest_step > 0 ? std::min(h, options_.largest_step) : h));
}

// The size of the next step after one of size h that was accepted.
void Driver::follow(double h, double error, bool after_rejection) {
    State& s = instance_.state;
    const double factor = accepted_factor(error, after_rejection);
    const double proposal = h * (happenings_.depend_on_reactions() ? std::min(factor, doubled) : factor);
    if (h > 0.75 * s.h || after_rejection)
        s.h = proposal == h && !after_rejection ? s.h : proposal;
    else
        s.h = std::max(s.h, proposal);  // cut short for where it had to end: the free step size is remembered
    // refused there, the step is named instead of shrinking for ever
    s.h = std::max(s.h, options_.smallest_step);
}

// Whether a step that has succeeded has passed over a gap.
void Driver::look_at_gaps(StepResult& result, double h) {
    const bool stands = options_.step > 0 ? result.status == Status::done : result.passed();
    if (!gaps_.any() || !stands) return;
    const State& s = instance_.state;
    const Gaps::End begin{s.q.data(), s.v.data(), s.x.data()};
    const double rounding = options_.tolerance * instance_.length();
    result.clear = gaps_.part(begin, s.t, scheme_->end(), h, rounding, options_.step == 0);
    if (result.clear < 1) result.culprit = gaps_.passed();
}

// Whether a step that has succeeded ends where axes of a joint point in opposite directions, for which its rows hold
// too.
void Driver::look_at_sides(StepResult& result) {
    if (!instance_.system.branches_meet || result.status != Status::done ||
        !(scheme_->fixed_steps || result.error <= 1))
        return;
    const int side = instance_.reversed_at(scheme_->end().q);
    if (side < 0) return;
    result.status = Status::reversed;
    result.culprit = instance_.system.side_labels[side];
}

// After a step that was refused; false where the motion has started anew with other rows instead.
bool Driver::cut(const StepResult& result, double h) {
    State& s = instance_.state;
    ++statistics.rejected;
    const bool open = result.worst_row >= 0 && instance_.is_left_out(result.worst_row);
    const bool unsolved = result.status != Status::done && result.status != Status::reversed;
    if ((open || unsolved) && rows_chosen_anew(result, h)) return false;
    const double factor =
        result.status != Status::done ? failure_factor
        : result.clear < 1
            ? result.clear
            : std::clamp(scheme_->safety() * std::pow(result.error, -1.0 / scheme_->error_order()), least_factor, 0.9);
    scheme_->reject(instance_);
    s.h = h * factor;
    if (!(s.h >= std::max(options_.smallest_step, 4 * 2.2e-16 * std::fabs(s.t)))) fail(result, s.h);
    return true;
}

// Steps to t, which may end beyond it, at `until` at most; the state shown is that at t then.
void Driver::controlled_steps(double t, double until, Poll poll, void* context, bool& stopped) {
    State& s = instance_.state;
    if (options_.largest_step > 0) limit_steps((t - s.t) / options_.largest_step, options_.largest_step, "largest");
    if (s.h <= 0) s.h = first_step(t - s.t);
    bool after_rejection = false;
    int halved = 0;  // in a row, for what may have occurred within a step
    for (long k = 1; s.t < t; ++k) {
        if (options_.largest_step > 0) s.h = std::min(s.h, options_.largest_step);
        bool last = false;
        const double h = next_size(until - s.t, until > t, last), to = last ? until : s.t + h;
        keep_rows_independent(h);
        StepResult result = scheme_->step(instance_, h, statistics);
        count_failure(result);
        chatter_.see(h, scheme_->end(), tries());
        result.error = std::max(result.error, std::pow(result.turn, scheme_->error_order()));
        look_at_sides(result);
        look_at_gaps(result, h);
        if (to > t && result.passed() && !scheme_->keep(instance_, statistics)) result.status = Status::not_finite;
        const bool done = result.passed(), arrived = done && taken(result, h, to, halved < most_halvings);
        if (result.passed()) {
            halved = 0;
            follow(h, result.error, after_rejection);
            after_rejection = false;
            if (to > t) s.ahead = s.t, s.t -= h, within_last_step(t);
            if (!arrived && happenings_.depend_on_reactions()) s.h *= unknown_course;
            if (!arrived || paused()) return;
        } else {
            halved += done;
            after_rejection = cut(result, h) || after_rejection;
        }
        check_budget();
        if (poll && k % poll_interval == 0 && s.t < t && poll(context)) {
            stopped = true;
            return;
        }
    }
}

void Driver::fail(const StepResult& result, double h) {
    Instance& i = instance_;
    std::string text = std::string(result.clear < 1 ? passed_over : reason(result.status)) +
                       " at t = " + shown(i.state.t) + " s with a step of " + shown(h) + " s";
    if (options_.step > 0)
        text += " (fixed)";
    else
        text += " (the smallest allowed is " + shown(options_.smallest_step) + " s)";
    const std::string culprit = result.culprit.empty() ? i.odd_expression("") : result.culprit;
    if (!culprit.empty()) text += "; " + culprit;
    if (result.worst_unknown >= 0) text += "; worst: " + i.label(result.worst_unknown);
    if (result.worst_row >= 0)
        text += "; joint most open: " + i.label(i.system.nv + result.worst_row) + ", " + shown(result.violation);
    // A step refused for its error alone could be solved: rows that are merely at a small angle do not end a motion.
    const std::string dead = result.status == Status::done ? "" : instance_.dead_point();
    if (result.status == Status::constraint && scheme_->leaves_gaps())
        text += "; this scheme lets joints open as its errors add up: take a smaller tolerance" +
                std::string(options_.step > 0 ? " or step" : "") + ", or a scheme that closes them ('hht', 'dop853')";
    else if (result.status == Status::constraint && result.worst_row >= 0 && instance_.is_left_out(result.worst_row))
        text += "; it repeats what others hold and no longer fits them: correct it, or leave it out";
    else if (!dead.empty())
        text += "; dead point at " + dead + ", t = " + shown(i.state.t) +
                " s: there it repeats what other joints hold; drive the mechanism elsewhere or change its lengths";
    else if (result.clear < 1)
        text += options_.step > 0
                    ? "; use error control or a step of at most " + shown(result.clear * h) + " s"
                    : std::string("; the gap changes faster than any step can follow: check its geometry");
    else if (result.status == Status::reversed)
        text +=
            "; its rows hold there as well, so that the motion beyond is not known: keep it from folding back, by a "
            "stop or other starts";
    else if (!result.culprit.empty())
        text += std::string(options_.step > 0 ? "; take a smaller step, or" : ";") +
                " keep it within what it is defined for, by max(), if() or another law";
    else if (options_.step > 0)
        text += "; use a smaller step or error control";
    else if (options_.tolerance < 1e-11)
        text += "; a tolerance of " + shown(options_.tolerance) + " may be below rounding, use a larger one";
    else
        text +=
            "; something jumps or grows without bound near this time: check forces, motions and geometry (step() and "
            "havsin() make jumps smooth)";
    throw StepFailed(text);
}

}  // namespace mbd
