#include "sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mbd {
namespace {

constexpr double first_step = 2e-3;  // in the scales of what moves: (T20.4) misses 1e-12 of a smooth function there
constexpr double enough = 1e-5;      // by which slopes over one and over two steps may differ; (T20.4) squares it
constexpr int most_attempts = 5;
constexpr double least_cut = 0.01, greatest_cut = 0.3;
constexpr double rounding = 1e-13;   // of a value
constexpr double negligible = 1e-6;  // of the largest slope: what is smaller may be less exact
constexpr double steps[] = {-2, -1, 1, 2};
constexpr double broken = 0.1;  // slopes over one and two steps that differ by this have a jump between
constexpr double steps_ahead[] = {1, 2, 3, 4}, weights_ahead[] = {-13. / 3, 19. / 2, -7, 11. / 6};  // (T20.6)

// to := from + s by, where that moves
void shift_by(std::vector<double>& to, const std::vector<double>& from, double s, const double* by) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = from[k] + s * (by != nullptr ? by[k] : 0);
}

}  // namespace

Sensitivity::Sensitivity(const System& system)
    : s_(system),
      here_(system),
      moved_(system),
      velocity_(system.nc),
      gamma_(system.nc),
      gaps_(system.nc),
      change_(system.n()),
      v_(system.nv),
      a_(system.nv),
      lambda_(system.nc),
      xdot_(system.nx),
      y_(system.ny),
      rows_(system.n()),
      speeds_(system.nc),
      shown_(system.signal_count()) {
    rolls_ = std::find(system.level.begin(), system.level.end(), 1) != system.level.end();
}

void Sensitivity::look(const Instance& instance, double gain) {
    gain_ = gain;
    here_.follow(instance), moved_.follow(instance);
    shared_ = !here_.state.redundancies.empty();
    direction_ = {};
    factorise();
}

// dR/dz at what is reported.
void Sensitivity::factorise() {
    turn_to({});
    shift(0);
    rows(change_.data());
    Order order = here_.state.order;
    if (!moved_.factorise(factor_, order)) refuse("the equations of motion are singular here");
}

void Sensitivity::refuse(const char* why) const {
    throw StepFailed("derivatives at t = " + number(here_.state.t) + " s: " + why);
}

// (T20.1)
void Sensitivity::along(const Direction& direction, double* signals) {
    const Direction moving = with_velocities(direction);
    if (factor_.pivoting || shared_) factorise();  // such a factorisation does not last
    turn_to(moving);
    const auto residual = [&](double s, double* out) { shift(s), rows(out); };
    differentiate(residual, rows_);
    for (int k = 0; k < s_.n(); ++k) change_[k] = -rows_.slope[k];
    moved_.solve(factor_, change_.data());
    const double* from = change_.data();
    for (auto* to : {&a_, &lambda_, &xdot_, &y_})
        for (double& x : *to) x = *from++;
    if (signals != nullptr) {
        differentiate([&](double s, double* out) { show(s, out); }, shown_);
        std::copy(shown_.slope.begin(), shown_.slope.end(), signals);
    }
}

void Sensitivity::in_time(double* signals) {
    Direction d;
    d.t = 1;
    d.q = here_.v.data(), d.v = here_.a.data(), d.x = here_.xdot.data();
    along(d, signals);
}

// The largest of all parts, over what counts as one of them.
double Sensitivity::size_of(const Direction& d) const {
    double size = std::fabs(d.t);
    const auto see = [&](const double* by, std::size_t count, auto&& scale) {
        for (std::size_t k = 0; by != nullptr && k < count; ++k) size = std::max(size, std::fabs(by[k]) / scale(k));
    };
    const State& st = here_.state;
    const auto unit = [&](std::size_t k) { return here_.unit(static_cast<int>(k)); };
    see(d.q, here_.v.size(), unit);
    see(d.v, here_.v.size(), [&](std::size_t k) { return std::max(unit(k), std::fabs(here_.v[k])); });
    see(d.x, st.x.size(), [&](std::size_t k) { return std::max(s_.nominal[k], std::fabs(st.x[k])); });
    see(d.u, st.u.size(), [&](std::size_t k) { return std::max(1.0, std::fabs(st.u[k])); });
    see(d.udot, st.u.size(), [&](std::size_t k) { return std::max(1.0, std::fabs(st.udot[k])); });
    see(d.p, st.parameters.size(),
        [&](std::size_t k) { return st.parameters[k] != 0 ? std::fabs(st.parameters[k]) : 1.0; });
    return size;
}

// Moves by s along the direction; accelerations, reactions, rates of states and variables stay.
void Sensitivity::shift(double s) {
    const Direction& d = direction_;
    const State& from = here_.state;
    State& to = moved_.state;
    to.t = from.t + s * d.t;
    to.passed = d.t != 0 ? State::never : from.passed;  // differences in time show a break, which T20.6 sees
    shift_by(moved_.v, here_.v, s, d.v);
    shift_by(to.x, from.x, s, d.x);
    shift_by(to.u, from.u, s, d.u);
    shift_by(to.udot, from.udot, s, d.udot);
    to.q = from.q;
    for (int k = 0; k < s_.nv && d.q != nullptr; ++k) to.q[k] += s * d.q[k];
    if (d.q != nullptr) s_.settle(to.q.data());
    moved_.a = here_.a, moved_.lambda = here_.lambda, moved_.xdot = here_.xdot, moved_.y = here_.y;
    if (d.p == nullptr) return;
    shift_by(to.parameters, from.parameters, s, d.p);
    moved_.compute_constants();
}

void Sensitivity::turn_to(const Direction& direction) {
    if (direction_.p != nullptr) {
        moved_.state.parameters = here_.state.parameters;
        moved_.compute_constants();
    }
    direction_ = direction;
    const auto still = [](double x) { return x == 0; };
    if (direction_.p != nullptr && std::all_of(direction_.p, direction_.p + s_.np, still)) direction_.p = nullptr;
    size_ = size_of(direction_);
}

// R at what is shifted, its derivative by z in the workspace: rows of constraints hold G a - gamma.
void Sensitivity::rows(double* out) {
    const Point p = moved_.state_point();
    s_.rates(p, moved_.work, velocity_.data(), gamma_.data());
    s_.residual_and_derivative(p, {1, 0, 0, 0, 1}, moved_.work, out);
    double* held = out + s_.nv;
    for (int k = 0; k < s_.nc; ++k) held[k] = -gamma_[k];
    if (gain_ > 0) feed_back(p, held);
    moved_.for_each_gradient_entry([&](int row, int col, double value) { held[row] += value * moved_.a[col]; });
    moved_.for_each_entry_by_state([&](int row, int col, double value) { held[row] += value * moved_.xdot[col]; });
    moved_.mask_rows(out);
}

void Sensitivity::feed_back(const Point& p, double* held) {
    s_.constraints(p, moved_.work, gaps_.data());
    for (int k = 0; k < s_.nc; ++k) {
        if (s_.level[k] == 0) held[k] += gain_ * (2 * velocity_[k] + gain_ * gaps_[k]);
        if (s_.level[k] == 1) held[k] += gain_ * velocity_[k];
    }
}

// What rows of velocities say of the velocities as they are.
void Sensitivity::speeds(double* out) {
    s_.speeds(moved_.state_point(), moved_.work, out);
    for (int k = 0; k < s_.nc; ++k)
        if (s_.level[k] != 1) out[k] = 0;
}

// Whether the inputs and parameters of a direction drive rows of velocities; how, is in `speeds_` then.
bool Sensitivity::drives(const Direction& d) {
    if (!rolls_ || gain_ > 0) return false;
    Direction given;
    given.u = d.u, given.p = d.p;
    turn_to(given);
    differentiate([&](double s, double* out) { shift(s), speeds(out); }, speeds_);
    return std::any_of(speeds_.slope.begin(), speeds_.slope.end(), [](double x) { return x != 0; });
}

// (T20.5)
Sensitivity::Direction Sensitivity::with_velocities(Direction d) {
    if (!drives(d)) return d;
    turn_to({});
    shift(0);
    s_.residual_and_derivative(moved_.state_point(), {1, 0, 0, 0, 0}, moved_.work, change_.data());
    Order order = here_.state.order;
    if (!moved_.factorise(projection_, order)) refuse("the equations of motion are singular here");
    std::fill(change_.begin(), change_.end(), 0.0);
    for (int k = 0; k < s_.nc; ++k) change_[s_.nv + k] = -speeds_.slope[k];
    moved_.mask_rows(change_.data());
    moved_.solve(projection_, change_.data());
    for (int k = 0; k < s_.nv; ++k) v_[k] = change_[k] + (d.v != nullptr ? d.v[k] : 0);
    d.v = v_.data();
    return d;
}

// Signals at what is shifted, with all unknowns that follow; rows that repeat others take their share of reactions.
void Sensitivity::show(double s, double* out) {
    shift(s);
    shift_by(moved_.a, here_.a, s, a_.data());
    shift_by(moved_.lambda, here_.lambda, s, lambda_.data());
    shift_by(moved_.xdot, here_.xdot, s, xdot_.data());
    shift_by(moved_.y, here_.y, s, y_.data());
    if (shared_) {
        rows(change_.data());
        moved_.share_reactions();
    }
    moved_.signals(out);
}

template <class F>
void Sensitivity::differentiate(F&& value, Differences& found) {
    std::fill(found.slope.begin(), found.slope.end(), 0.0);
    if (size_ == 0) return;
    double doubt = between_both_sides(value, found);
    if (direction_.t > 0 && !(doubt <= broken)) doubt = on_the_side_ahead(value, found);
    if (!std::isfinite(doubt)) refuse("a value beside the present one is not finite");
}

// Where something jumps as time passes (T20.6).
template <class F>
double Sensitivity::on_the_side_ahead(F&& value, Differences& found) {
    const double s = 0.1 * first_step / size_;
    for (int k = 0; k < 4; ++k) value(steps_ahead[k] * s, found.at[k].data());
    double sum = 0;
    for (std::size_t c = 0; c < found.slope.size(); ++c) {
        found.slope[c] = 0;
        for (int k = 0; k < 4; ++k) found.slope[c] += weights_ahead[k] * found.at[k][c] / s;
        sum += std::fabs(found.slope[c]);
    }
    return sum;
}

// (T20.4) with a step at which it is exact; where functions have a kink, with the best that was tried.
template <class F>
double Sensitivity::between_both_sides(F&& value, Differences& found) {
    double s = first_step / size_, best = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        for (int k = 0; k < 4; ++k) value(steps[k] * s, found.at[k].data());
        const double doubt = take_slopes(found, s);
        if (doubt < best)
            best = doubt, found.slope.swap(found.trial);
        else if (std::isfinite(best))
            break;  // rounding: shorter steps are worse
        if (best <= enough) break;
        s *= std::isfinite(doubt) ? std::clamp(std::sqrt(enough / doubt), least_cut, greatest_cut) : least_cut;
    }
    return best;
}

// Fills `trial`; returns by how much slopes over one and over two steps differ at most.
double Sensitivity::take_slopes(Differences& found, double s) {
    double largest = 0, doubt = 0;
    const auto& at = found.at;
    for (std::size_t k = 0; k < found.trial.size(); ++k) {
        const double near = (at[2][k] - at[1][k]) / (2 * s), far = (at[3][k] - at[0][k]) / (4 * s);
        found.trial[k] = (4 * near - far) / 3;
        if (!std::isfinite(found.trial[k])) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, std::fabs(found.trial[k]));
    }
    for (std::size_t k = 0; k < found.trial.size(); ++k) {
        const double apart = std::fabs((at[3][k] - at[0][k]) / (4 * s) - (at[2][k] - at[1][k]) / (2 * s));
        const double noise = rounding * std::max(std::fabs(at[1][k]), std::fabs(at[2][k])) / s;
        const double slope = std::fabs(found.trial[k]) + negligible * largest;
        if (apart > noise) doubt = std::max(doubt, apart / slope);
    }
    return doubt;
}

}  // namespace mbd
