#include "settling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mbd {
namespace {

constexpr double off_path = 0.1;  // a step's error that is still the same motion: rad, or of the model's length
constexpr double longest = 0.5;   // a step's motion: rad, or of the model's length, or of what was travelled
constexpr double least_factor = 0.1, greatest_factor = 10, failure_factor = 0.25, safety = 0.9;
constexpr double shortest = 1e-9;  // of the first step
constexpr double recovery = 2;     // of the longest step, for every one that succeeds
constexpr int calm_steps = 2;      // that move nothing
constexpr int most_iterations = 15;
constexpr double enough = 1e-3;         // a correction, of the step's motion
constexpr double farthest = 1e4;        // of the model's length: what travels farther falls
constexpr double most_turning = 1e3;    // rad: what turns more is driven
constexpr double largest_state = 1e12;  // of its nominal value

constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();
constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

Settling::Settling(Instance& instance, const SettleOptions& options)
    : i_(instance),
      s_(instance.system),
      o_(options),
      z_(s_.n()),
      dq_(z_.data()),
      lambda_(dq_ + s_.nv),
      xdot_(lambda_ + s_.nc),
      y_(xdot_ + s_.nx),
      q_(s_.nq()),
      v_(s_.nv),
      a_(s_.nv),
      x_(s_.nx),
      r_(s_.n()),
      free_(s_.n()),
      travel_(s_.nv + s_.nx),
      largest_step_(infinite),
      order_(s_.preferred_order()) {}

bool Settling::run(Poll poll, void* context) {
    i_.stand_still();
    std::copy(i_.y.begin(), i_.y.end(), y_);
    const double first = first_step();
    double h = first;
    for (int calm = 0; calm < calm_steps;) {
        if (poll && poll(context)) return false;
        if (steps >= o_.limit) refuse("still moves after as many steps as are allowed", h);
        const Outcome step = attempt(h);
        if (!step.solved) {
            if (rows_chosen_anew()) continue;
            largest_step_ = h *= failure_factor;
            if (h < shortest * first) fail(h);
            continue;
        }
        const double factor = std::min(std::sqrt(1 / step.error), 1 / step.stride) * safety;
        if (step.motion > o_.tolerance && (step.error > 1 || step.stride > 1)) {
            h *= std::clamp(factor, least_factor, safety);
            continue;
        }
        accept(h);
        if (wandered()) refuse("goes on moving", h);
        calm = step.at_rest ? calm + 1 : 0;
        largest_step_ *= recovery;
        if (!step.at_rest) h = std::min(h * std::clamp(factor, safety, greatest_factor), largest_step_);
    }
    i_.stand_still();
    return true;
}

// A step may fail because another choice of independent rows is due; once is enough at one state.
bool Settling::rows_chosen_anew() {
    if (chosen_at_ == steps) return false;
    chosen_at_ = steps;
    return i_.choose_rows();
}

double Settling::unit(int k) const {
    return k < s_.nv ? i_.unit(k) : std::max(s_.nominal[k - s_.nv], std::fabs(i_.state.x[k - s_.nv]));
}

// What a step of size h makes of an unknown: lengths over the model's length, states over their size.
double Settling::change(int k, const std::vector<double>& z, double h) const {
    return (k < s_.nv ? z[k] : h * z[k + s_.nc]) / unit(k);
}

// How far a coordinate or state may go without losing its way: a mass on a soft spring goes far, an angle turns round.
double Settling::reach(int k) const { return k >= s_.nv || s_.rotational[k] ? 1 : std::max(1.0, travel_[k]); }

// In which what accelerates most goes a hundredth of its unit.
double Settling::first_step() const {
    double rate = 0;
    for (int k = 0; k < s_.nv; ++k) rate = std::max(rate, std::sqrt(std::fabs(i_.a[k]) / unit(k)));
    for (int k = 0; k < s_.nx; ++k) rate = std::max(rate, std::fabs(i_.xdot[k]) / unit(s_.nv + k));
    return rate > 0 ? 0.1 / rate : 1;
}

// The state at the end of a step that moves the coordinates by dq_: velocities begin at zero (T10.1).
void Settling::place(double h) {
    const State& st = i_.state;
    for (int k = 0; k < s_.nv; ++k) {
        q_[k] = st.q[k] + dq_[k];
        v_[k] = dq_[k] / h;
        a_[k] = v_[k] / h;
    }
    s_.turn(st.q.data(), q_.data());
    for (int k = 0; k < s_.nx; ++k) x_[k] = st.x[k] + h * xdot_[k];
}

// One Newton iteration; `free`: with forces that do not follow the motion. Returns the largest correction over its
// unit, infinite where there is none.
double Settling::improve(double h, bool free) {
    ++iterations;
    place(h);
    const Point p = i_.point(i_.state.t, q_.data(), v_.data(), a_.data(), lambda_, x_.data(), xdot_, y_);
    const double moves = free ? 0 : 1;
    s_.residual_and_derivative(p, {1 / (h * h), 1 / h, moves, moves * h, moves * h * h}, i_.work, r_.data());
    const double per_level[3] = {1, h, h * h};  // as (T7.9)
    for (int k = 0; k < s_.nc; ++k) r_[s_.nv + k] *= per_level[static_cast<int>(s_.level[k])];
    i_.mask_rows(r_.data());
    if (free) {
        imbalance_ = 0;
        for (int k = 0; k < s_.nv; ++k) imbalance_ = std::max(imbalance_, std::fabs(r_[k]) * unit(k));
    }
    if (!i_.factorise(factor_, order_)) return infinite;
    i_.solve(factor_, r_.data());
    s_.increments(q_.data(), r_.data());
    if (!std::all_of(r_.begin(), r_.end(), [](double x) { return std::isfinite(x); })) return infinite;
    for (std::size_t k = 0; k < z_.size(); ++k) z_[k] -= r_[k];
    return largest_change(r_, h);
}

double Settling::largest_change(const std::vector<double>& z, double h) const {
    double largest = 0;
    for (int k = 0; k < s_.nv + s_.nx; ++k) largest = std::max(largest, std::fabs(change(k, z, h)));
    return largest;
}

bool Settling::solve_step(double h) {
    double before = infinite;
    for (int k = 0; k < most_iterations; ++k) {
        const double size = improve(h, false);
        if (!std::isfinite(size) || (k > 1 && size > 2 * before && size > rounding)) return false;
        if (k > 0 && size <= std::max(enough * largest_change(z_, h), rounding)) return true;
        before = size;
    }
    return false;
}

// From standstill: where forces stay as they are, then as they follow. What lies between is the error of the path.
Settling::Outcome Settling::attempt(double h) {
    const auto stand = [&] { std::fill(dq_, lambda_, 0.0), std::fill(xdot_, y_, 0.0); };
    const std::vector<double> given = z_;
    Outcome step;
    stand();
    step.solved = std::isfinite(improve(h, true));
    free_ = z_, z_ = given;  // copies: dq_ and the others point into z_
    stand();
    step.solved = step.solved && solve_step(h);
    if (!step.solved) return z_ = given, step;
    step.motion = largest_change(z_, h);
    step.at_rest = rests(h, step.motion);
    for (int k = 0; k < s_.nv + s_.nx; ++k) {
        const double moved = change(k, z_, h), missed = change(k, free_, h) - moved;
        if (k < s_.nv) step.stride = std::max(step.stride, std::fabs(moved) / (longest * reach(k)));
        step.error = std::max(step.error, std::fabs(missed) / (2 * off_path * reach(k)));
    }
    return step;
}

// Whether nothing moves though forces would move it farther if they did not follow (a short step alone would not say
// much), or what is left of forces and rates is rounding of the largest there have been.
bool Settling::rests(double h, double motion) {
    double rate = 0;
    for (int k = s_.nv; k < s_.nv + s_.nx; ++k) rate = std::max(rate, std::fabs(change(k, free_, h)) / h);
    largest_imbalance_ = std::max(largest_imbalance_, imbalance_);  // at first without reactions: all applied forces
    largest_rate_ = std::max(largest_rate_, rate);
    const bool balanced = imbalance_ <= rounding * largest_imbalance_ && rate <= rounding * largest_rate_;
    return balanced || motion <= std::min(o_.tolerance, 0.5 * largest_change(free_, h));
}

void Settling::accept(double h) {
    ++steps;
    for (int k = 0; k < s_.nv; ++k) travel_[k] += std::fabs(change(k, z_, h));
    for (int k = 0; k < s_.nx; ++k) travel_[s_.nv + k] += std::fabs(h * xdot_[k]) / s_.nominal[k];
    place(h);
    i_.state.q.swap(q_), i_.state.x.swap(x_);
    s_.settle_turned(i_.state.q.data());
    i_.follow_turns();
}

bool Settling::wandered() const {
    for (int k = 0; k < s_.nv + s_.nx; ++k)
        if (travel_[k] > (k >= s_.nv ? largest_state : s_.rotational[k] ? most_turning : farthest)) return true;
    return false;
}

// Names what moves most, as a multiple of how far it has come, and what else moves about as much.
void Settling::refuse(const std::string& what, double h) const {
    int worst = 0;
    for (int k = 1; k < s_.nv + s_.nx; ++k)
        if (travel_[k] > travel_[worst]) worst = k;
    const bool state = worst >= s_.nv;
    const std::string gone =
        number(travel_[worst] * (state ? s_.nominal[worst - s_.nv] : unit(worst))) + (state                  ? ""
                                                                                      : s_.rotational[worst] ? " rad"
                                                                                                             : " m");
    const double rate = state ? xdot_[worst - s_.nv] : dq_[worst] / (h * h);
    throw StepFailed("there is no rest: " + i_.label(state ? worst + s_.nc : worst) + " " + what + " (" + number(rate) +
                     (state                  ? " 1/s"
                      : s_.rotational[worst] ? " rad/s2"
                                             : " m/s2") +
                     ", " + gone + " so far, " + std::to_string(steps) + " steps)" +
                     (state ? "; a controller that integrates an error which cannot vanish? give it a path to the "
                              "error, or leave the integrator out"
                            : "; nothing balances the forces on it: hold it by a joint or spring, take the drive away, "
                              "or start nearer to rest"));
}

void Settling::fail(double h) const {
    int worst = 0;
    for (int k = 0; k < s_.nv; ++k)
        if (!(std::fabs(r_[k]) <= std::fabs(r_[worst]))) worst = k;
    throw StepFailed("settling is stuck after " + std::to_string(steps) + " steps: no step, however short (" +
                     number(h) + " s), can be solved; worst: " + i_.label(worst) +
                     "; something jumps there: check forces and geometry, or start elsewhere");
}

}  // namespace mbd
