// One driver for all schemes: error-controlled or fixed steps, exact hits of communication points, named failures.
// Decisions come from counts and from the state, never from a clock.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chatter.hpp"
#include "happenings.hpp"
#include "instance.hpp"
#include "schemes/scheme.hpp"

namespace mbd {

struct DriverOptions {
    double tolerance = 1e-6;
    double step = 0;          // fixed step, s; 0 = error-controlled
    double first_step = 0;    // 0 = chosen from the start accelerations
    double largest_step = 0;  // 0 = no limit
    double smallest_step = 1e-10;
    double most_steps = 1e6;  // tries of one advance, restarts included, or in which laws only jump to and fro
};

class Driver {
public:
    // Asked every few hundred steps; true stops the run.
    using Poll = bool (*)(void* context);

    Driver(Instance& instance, std::unique_ptr<Scheme> scheme, const DriverOptions& options)
        : instance_(instance),
          scheme_(std::move(scheme)),
          options_(options),
          gaps_(instance),
          chatter_(instance),
          happenings_(instance, [this] { instance_.report(); }, [this] { restart(); }) {
        fastest_.assign(instance.system.nv, 0);  // a state may be restored before any start
        scheme_->fixed_steps = options_.step > 0;
        scheme_->set_tolerance(options_.tolerance);
    }

    void start();    // at a consistent state
    void restart();  // after a discontinuity
    void report();   // what holds at the state
    // Throws ModelError where a state is not one of this model and scheme.
    void check(const State& saved) const;
    // Checks it first; where that or its parameters are refused, the state is what it was, to be reported anew.
    void restore(const State& saved);
    void set_input(int index, double value, double slope);
    void change_parameter(int index, double value);
    // Advances exactly to `t`, or by `limit` accepted steps towards it where limit > 0. False where poll stopped it.
    // Throws StepFailed; the state is the last good one.
    bool advance(double t, Poll poll = nullptr, void* context = nullptr, long limit = 0);

    // Where events wait, advance() stops at the time of one before it happens, and let_happen() goes on.
    bool events_wait = false;
    bool waiting() const { return waiting_; }
    void let_happen();
    // What is true with the start, inputs and parameters as they are now happens, as it would with the next step.
    void catch_up();
    // Where the next step towards `t` is likely to end.
    double reach(double t) const;

    // How far joints have come open, in words: of a scheme that lets them, anything; of others, far beyond their error.
    std::string gap_note(const std::string& scheme) const;
    // Times at which positions that are given have jumped, in words.
    const std::vector<std::pair<double, std::string>>& jumps() const { return jumps_; }
    // The hardest blow that steps have not followed, in words, and the coordinate that it has braked: of a scheme that
    // carries a part of it on (T9.12).
    std::string blow_note(const std::string& scheme) const;
    int blow_at() const { return worst_blow().at; }

    Statistics statistics;

    // What has occurred since the start, or since a state of another motion was restored: time, and the name of an
    // event, impact or crossing.
    const std::vector<std::pair<double, std::string>>& occurrences() const { return happenings_.occurrences(); }

private:
    Instance& instance_;
    std::unique_ptr<Scheme> scheme_;
    DriverOptions options_;
    long limit_ = 0;        // value of statistics.steps at which advance() returns; 0 = none
    bool waiting_ = false;  // something has been found to occur here

    Gaps gaps_;

    // ---- what one advance may take (T9.15)
    Chatter chatter_;
    double target_ = -1, begin_ = 0;  // of the advance: its ends, s
    long tries_before_ = 0;
    // Fixed steps are as many as the user asks for.
    long tries() const {
        return statistics.restarts + (options_.step > 0 ? 0 : statistics.steps + statistics.rejected);
    }
    void allow_tries(double t);
    void forget_tries();
    void check_budget();

    // ---- what changes at one instant (breaks.cpp)
    bool reported_ = false;  // whether what is reported is that of the state
    std::vector<double> jump_;
    void watch();
    void leave_side();
    void take_side();
    bool side_changed();
    bool moved_along(const Jump& jump);
    bool jump_counts(const Jump& jump) const;
    void start_anew();
    Break next_break() { return happenings_.next_break(std::max(instance_.state.t, instance_.state.passed)); }
    Break break_here();
    void cross_break(const Break& next);
    void note_jump(double open_before);
    std::vector<std::pair<double, std::string>> jumps_;
    struct Blow {
        double t = 0, taken = 0, size = 0;  // taken: of the speed, in m/s or rad/s; size: in units of the model
        int at = -1;
    };
    struct Blows {
        Blow stop, swing;
        double most[2] = {};  // the greatest speed so far in units, of translations and rotations
    } blows_;
    const Blow& worst_blow() const;
    std::vector<double> fastest_;              // |v|, by coordinate
    std::vector<double> v_before_, a_before_;  // of the step
    void look_for_blow(double h);
    void look_for_swing(double began, double h, const std::vector<double>& v, const std::vector<double>& a);

    // ---- events (events.cpp)
    Happenings happenings_;
    State before_, after_, last_quiet_;  // the step in which something occurs, and the motion up to it
    bool occurred(double h);
    bool reached_from_before(double d);
    void locate(double h);
    double approach(double quiet, double beyond, double near_enough);
    bool drifted_into(double first, double width, double longest);
    void drift_to(double t);
    void look();
    void follow_changes();
    void happen_before_breaks();
    void act_or_wait();

    bool paused() const { return waiting_ || (limit_ > 0 && statistics.steps >= limit_); }
    double first_step(double remaining) const;
    // towards t; they return early where an event has started the motion anew
    void fixed_steps(double t, Poll poll, void* context, bool& stopped);
    void controlled_steps(double t, double until, Poll poll, void* context, bool& stopped);
    double next_size(double remaining, bool passing, bool& last) const;
    void follow(double h, double error, bool after_rejection);
    void look_at_gaps(StepResult& result, double h);
    void look_at_sides(StepResult& result);
    bool cut(const StepResult& result, double h);
    bool may_pass() const;
    double horizon(double t, const Break& next) const;
    void within_last_step(double t);
    void accept(const StepResult& result, double h);
    void count_failure(const StepResult& result);
    void check_reach() const;
    bool short_of_a_step(double d) const;
    void drift(double d);
    void cross_without_step(double t);
    bool taken(StepResult& result, double h, double t, bool strict = false);
    double accepted_factor(double error, bool after_rejection) const;
    bool singular_pose_passed(double h);
    void keep_rows_independent(double h);
    bool rows_chosen_anew(const StepResult& result, double h);
    [[noreturn]] void fail(const StepResult& result, double h);
};

}  // namespace mbd
