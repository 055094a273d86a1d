// What every integration scheme is to the driver: start, try a step, accept it. Nothing else crosses.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../gaps.hpp"

namespace mbd {

enum class Status { done, slow, diverged, constraint, not_finite, singular, turned, reversed };

struct StepResult {
    Status status = Status::done;
    double error = 0;  // estimated local error over the tolerance
    int iterations = 0;
    std::string culprit;     // the user's expression that is not finite
    int worst_unknown = -1;  // of a step that failed: where the correction or the error was largest
    int failed_at = -1;      // the same of a first iteration that failed, although the step may have succeeded
    double violation = 0;    // worst scaled |Phi| after the last correction
    int worst_row = -1;
    double turn = 0;   // largest rotation of a body, over what angles that count turns and T(theta) bear
    double clear = 1;  // part of the step up to where a gap is passed over
    bool passed() const { return status == Status::done && error <= 1 && clear == 1; }
};

// What jumps at one instant: v, and z = (a, lambda, Xdot, Y).
struct Jump {
    const double *v, *z;
};

struct Statistics {
    long steps = 0, rejected = 0, iterations = 0, residuals = 0, jacobians = 0, factorisations = 0, fallbacks = 0,
         constraint_checks = 0, extra_iterations = 0, restarts = 0, repartitions = 0, corrected_steps = 0,
         partitioned_steps = 0, row_choices = 0, failed_iterations = 0;
    std::vector<long> failed_at;  // how many of these at each unknown
    double worst_position_violation = 0;
};

class Scheme {
public:
    virtual ~Scheme() = default;
    // steps are of a given size and stand, whatever their error is
    bool fixed_steps = false;
    // of the local error
    virtual void set_tolerance(double tolerance) { tolerance_ = tolerance; }
    // the local error is O(h^error_order)
    virtual int error_order() const = 0;
    // the step size grows by no less than this, as a change of it costs something
    virtual double least_growth() const { return 1.35; }
    virtual double greatest_growth(const State&) const { return 5; }
    // and shrinks to no more than this
    virtual double least_cut() const { return 1; }
    // of the step size at which the error would be the tolerance, this much is taken
    virtual double safety() const { return 0.9; }
    // the first step, over the time scale of the motion
    virtual double first_step(double tolerance) const { return 0.1 * std::cbrt(tolerance); }
    // numbers in state.memory
    virtual std::size_t memory_size() const = 0;
    // fills state.memory at a consistent state (start and restart)
    virtual void start(Instance& instance) = 0;
    // The state has moved by a jump: what is known of the steps before moves along, as if the new side had always held.
    // False where the scheme has to start anew instead.
    virtual bool move_along(Instance&, const Jump&) { return true; }
    // Throws ModelError where numbers in state.memory, of the right size, cannot be this scheme's.
    virtual void check(const State&) const {}
    // Goes on from a state that another instance of the scheme may have left.
    virtual void resume(const State&) {}
    // tries one step; the state is untouched until accept()
    virtual StepResult step(Instance& instance, double h, Statistics& statistics) = 0;
    virtual void accept(Instance& instance) = 0;
    // where the step tried last ends
    virtual Gaps::End end() const = 0;
    // Other rows are kept from here on; the state's multipliers are theirs, all else is as it was.
    virtual void take_rows(Instance&) {}
    // Whether positions and velocities are not on the constraints at the ends of steps, by design.
    virtual bool leaves_gaps() const { return false; }
    // Whether nothing at all closes joints, so that the errors of all steps add up in them.
    virtual bool drifts() const { return false; }
    static constexpr double widest_gap = 0.1;  // of the model's length: what is open further is no mechanism
    // how much of the speed that a blow takes away within one step the next one adds (T9.12)
    virtual double carries() const { return 0; }
    // the step tried last was refused
    virtual void reject(Instance&) {}
    // what the error of the accepted step says about the next, where that is of another order
    virtual double next_error(double error) const { return error; }

    // ---- the state within a step (docs/decisions/012)
    // whether show() is offered
    virtual bool continuous() const { return false; }
    // After a step that has succeeded, before accept(): what show() and go_on() need, into state.memory. False where
    // the equations have no value there.
    virtual bool keep(Instance&, Statistics&) { return false; }
    // the state at a time within the last step
    virtual void show(Instance&, double /*t*/) {}
    // the state at its end
    virtual void go_on(Instance&) {}

protected:
    static constexpr double slowest = 1e-5;  // of units in a step: from rest, that is a motion at least
    double tolerance_ = 1e-6;

    // 1/s, at which units of length and angle are travelled (T12.2); no less than `least`.
    static double pace(const Instance& i, double least, const double* v) {
        for (int k = 0; k < i.system.nv; ++k) least = std::max(least, std::fabs(v[k]) / i.unit(k));
        return least;
    }
    // The same of a step of size h, which accelerations begin or quicken.
    static double pace_within(const Instance& i, double least, double h, const double* a) {
        for (int k = 0; k < i.system.nv; ++k) {
            const double turning = std::fabs(a[k]) / i.unit(k);
            least = std::max(least, std::min(std::sqrt(turning), h * turning));
        }
        return least;
    }
};

// ---- numbers in a state's memory that say where to look

[[noreturn]] inline void foreign_memory() {
    throw ModelError("the saved state is damaged, or belongs to the same scheme with other options");
}
inline void require_whole(double found, int least, int most) {
    if (!(found >= least && found <= most) || found != std::floor(found)) foreign_memory();
}
// A factorisation that is to be used again.
template <class Scalar>
void require_factor(const FactorOf<Scalar>& factor) {
    if (factor.values.empty() || factor.pivoting) foreign_memory();
}

}  // namespace mbd
