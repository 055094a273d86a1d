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

// Adds a change of all unknowns; false where one is not finite then.
bool Index1::add(const double* change) {
    bool finite = true;
    for (auto* to : {&a, &lambda, &xdot, &y})
        for (double& x : *to) x += *change++, finite &= x - x == 0;
    if (!finite) find_odd();
    return finite;
}

void Index1::find_odd() {
    odd_unknown = 0;
    for (const auto* of : {&a, &lambda, &xdot, &y})
        for (double x : *of) {
            if (!std::isfinite(x)) return;
            ++odd_unknown;
        }
}

// Whether the last change is rounding of the largest unknown.
bool Index1::settled(const double* change) const {
    double largest = 0, size = 1;
    for (const auto* of : {&a, &lambda, &xdot, &y})
        for (double x : *of) largest = std::max(largest, std::fabs(*change++)), size = std::max(size, std::fabs(x));
    return largest <= solved * size;
}

Index1::Outcome Index1::solve(Instance& i, const Place& at, Order& order) {
    const int nv = s_.nv, nc = s_.nc;
    std::fill(a.begin(), a.end(), 0.0);
    if (s_.linear()) std::fill(lambda.begin(), lambda.end(), 0.0);
    for (int iteration = 1; iteration <= most_iterations; ++iteration) {
        evaluate(i, at, 1);
        for (int k = 0; k < nc; ++k) rows[nv + k] = -gamma[k];
        if (iteration > 1)  // a = 0 before
            i.for_each_gradient_entry([&](int row, int col, double value) { rows[nv + row] += value * a[col]; });
        if (rows_hold_states_)
            i.for_each_entry_by_state([&](int row, int col, double value) { rows[nv + row] += value * xdot[col]; });
        if (!i.factorise(factor, order)) return Outcome::singular;
        for (std::size_t k = 0; k < rows.size(); ++k) change_[k] = -rows[k];
        i.mask_rows(change_.data());
        i.solve(factor, change_.data());
        if (!add(change_.data())) return Outcome::not_finite;
        if (s_.linear() || settled(change_.data())) return Outcome::done;
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
