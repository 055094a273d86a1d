// Rest by settling: implicit Euler steps, each from standstill, while time stands still (docs/theory.md, chapter 10).
//
// Must not know the schemes: no inertia carries over from step to step, so nothing of theirs is of use.
#pragma once
#include <vector>

#include "instance.hpp"

namespace mbd {

struct SettleOptions {
    double tolerance = 1e-10;  // of a step's motion: angles in rad, lengths over the model's length, states over theirs
    long limit = 5000;         // steps
};

class Settling {
public:
    // Asked before every step; true stops the search.
    using Poll = bool (*)(void* context);

    Settling(Instance& instance, const SettleOptions& options);

    // Moves the started instance to rest and lets it stand there: v = 0, time held. False where poll stopped it.
    // Throws StepFailed where there is no rest, naming what still moves.
    bool run(Poll poll, void* context);

    long steps = 0, iterations = 0;

private:
    // What a step would do: its motion, that as a fraction of what is allowed, and its error as one of what is allowed.
    struct Outcome {
        bool solved = false, at_rest = false;
        double motion = 0, stride = 0, error = 0;
    };

    Instance& i_;
    const System& s_;
    const SettleOptions o_;
    std::vector<double> z_;              // the unknowns: motion of the coordinates, lambda, Xdot, Y
    double *dq_, *lambda_, *xdot_, *y_;  // where they lie in z_
    std::vector<double> q_, v_, a_, x_, r_, free_;
    std::vector<double> travel_;  // of every coordinate over its unit, of every state over its nominal value
    double imbalance_ = 0;        // of the forces at the last state, J: over the model's length or a radian
    double largest_imbalance_ = 0, largest_rate_ = 0;
    double largest_step_;  // s; beyond it the matrix is singular
    long chosen_at_ = -1;  // steps at the last try with other rows
    Factor factor_;
    Order order_;

    double unit(int k) const;  // of coordinate k, or of state k - nv
    double change(int k, const std::vector<double>& z, double h) const;
    double largest_change(const std::vector<double>& z, double h) const;
    double reach(int k) const;
    double first_step() const;
    void place(double h);
    double improve(double h, bool free);
    bool solve_step(double h);
    Outcome attempt(double h);
    void accept(double h);
    bool rows_chosen_anew();
    bool rests(double h, double motion);
    bool wandered() const;
    [[noreturn]] void refuse(const std::string& what, double h) const;
    [[noreturn]] void fail(double h) const;
};

}  // namespace mbd
