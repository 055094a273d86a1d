#include "index1.hpp"

#include <algorithm>
#include <cmath>

#include "instance.hpp"

namespace mbd {
namespace {
constexpr int most_iterations = 50;
constexpr double solved = 1e-12;  // the last change, of the largest unknown of its kind
}  // namespace

Index1::Index1(const System& system)
    : a(system.nv),
      lambda(system.nc),
      xdot(system.nx),
      y(system.ny),
      velocity(system.nc),
      gamma(system.nc),
      rows(system.n()),
      s_(system),
      change_(system.n()) {
    const int first = s_.nv + s_.nc;
    for (const auto& p : s_.pattern.singles)
        rows_hold_states_ |= p.row >= s_.nv && p.row < first && p.col >= first && p.col < first + s_.nx;
}

void Index1::look(Instance& i, const Place& at) {
    s_.rates(i.point(at.t, at.q, at.v, a.data(), lambda.data(), at.x, xdot.data(), y.data()), i.work, velocity.data(),
             gamma.data());
}

void Index1::evaluate(Instance& i, const Place& at, double xv) {
    const Point p = i.point(at.t, at.q, at.v, a.data(), lambda.data(), at.x, xdot.data(), y.data());
    s_.residual_and_derivative(p, {1, 0, 0, 0, xv}, i.work, rows.data());
}

// Adds a change of all unknowns; notes its size and theirs.
bool Index1::add(const double* change, double& largest, double& size) {
    int k = 0;
    for (auto* to : {&a, &lambda, &xdot, &y})
        for (double& x : *to) {
            const double d = change[k++];
            x += d;
            largest = std::max(largest, std::fabs(d)), size = std::max(size, std::fabs(x));
            if (!std::isfinite(x)) return odd_unknown = k - 1, false;
        }
    return true;
}

Index1::Outcome Index1::solve(Instance& i, const Place& at, Order& order) {
    const int nv = s_.nv, nc = s_.nc;
    std::fill(a.begin(), a.end(), 0.0);
    if (s_.linear()) std::fill(lambda.begin(), lambda.end(), 0.0);
    for (int iteration = 1; iteration <= most_iterations; ++iteration) {
        evaluate(i, at, 1);
        for (int k = 0; k < nc; ++k) rows[nv + k] = -gamma[k];
        i.for_each_gradient_entry([&](int row, int col, double value) { rows[nv + row] += value * a[col]; });
        if (rows_hold_states_)
            i.for_each_entry_by_state([&](int row, int col, double value) { rows[nv + row] += value * xdot[col]; });
        if (!i.factorise(factor, order)) return Outcome::singular;
        for (std::size_t k = 0; k < rows.size(); ++k) change_[k] = -rows[k];
        i.mask_rows(change_.data());
        i.solve(factor, change_.data());
        double change = 0, size = 1;
        if (!add(change_.data(), change, size)) return Outcome::not_finite;
        if (s_.linear() || change <= solved * size) return Outcome::done;
    }
    return Outcome::unsolved;
}

bool Index1::factorise(Instance& i, const Place& at, Order& order) {
    evaluate(i, at);
    return i.factorise(factor, order);
}

const double* Index1::least_motion(Instance& i, const double* values) {
    std::fill(change_.begin(), change_.end(), 0.0);
    for (int k = 0; k < s_.nc; ++k) change_[s_.nv + k] = -values[k];
    i.mask_rows(change_.data());
    i.solve(factor, change_.data());
    return change_.data();
}

}  // namespace mbd
