#include "reduced.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mbd {
namespace {

constexpr int most_closing = 30;      // iterations for the dependent coordinates
constexpr double slow_closing = 0.1;  // of the violation left by one: then G is looked at again
constexpr double epsilon = std::numeric_limits<double>::epsilon();

}  // namespace

Reduced::Reduced(const System& system)
    : partition(system),
      index1(system),
      q_fixed(system.nv),
      v_fixed(system.nv),
      x_fixed(system.nx),
      a(system.nv),
      xdot(system.nx),
      q(system.nq()),
      v(system.nv),
      x(system.nx),
      change_a(system.nv),
      change_xdot(system.nx),
      s_(system),
      pose_(system.nq()),
      r_(system.n()),
      phi_(system.nc),
      column_(system.n()),
      force_(system.nv),
      multipliers_(system.nc),
      mixed_a_(system.nv),
      mixed_lambda_(system.nc),
      by_velocity_(system.pattern.singles.size()),
      zero_(std::max(system.nv, system.nc)) {}

Point Reduced::point_with(Instance& i, const double* acceleration, const double* lambda) {
    return i.point(t_, pose_.data(), v.data(), acceleration, lambda, x.data(), index1.xdot.data(), index1.y.data());
}

// G at the present positions, and its factors.
bool Reduced::look_at_gradient(Instance& i) {
    s_.residual_and_derivative(point_with(i, index1.a.data(), index1.lambda.data()), {1, 0, 0, 0, 0}, i.work,
                               r_.data());
    return partition.factorise(i);
}

// Orientations of q from its increments; `pose_` has them without.
void Reduced::turn() {
    s_.turn(from, q.data());
    pose_ = q;
    s_.settle_turned(pose_.data());
}

double Reduced::rounding(const Instance& i) const {
    double largest = 1;
    for (int k = 0; k < s_.nv; ++k) largest = std::max(largest, std::fabs(q[k]) / i.unit(k));
    return 8 * epsilon * largest;
}

// ---------------------------------------------------------------- what depends

bool Reduced::begin(Instance& i, double t, const Weights& weights) {
    t_ = t, weights_ = weights;
    unknowns_.clear();
    for (int k = 0; k < s_.nv; ++k)
        if (!partition.depends(k, Partition::positions)) unknowns_.push_back(k);
    for (int k = 0; k < s_.nv; ++k) q[k] = q_fixed[k] + weights.q * a[k], v[k] = v_fixed[k] + weights.v * a[k];
    for (int k = 0; k < s_.nx; ++k) x[k] = x_fixed[k] + weights.x * xdot[k];
    turn();
    return look_at_gradient(i);
}

Reduced::Outcome Reduced::place(Instance& i, Order& order) {
    for (int k : unknowns_) q[k] = q_fixed[k] + weights_.q * a[k];
    for (int k = 0; k < s_.nv; ++k)
        if (!partition.depends(k, Partition::velocities)) v[k] = v_fixed[k] + weights_.v * a[k];
    for (int k = 0; k < s_.nx; ++k) x[k] = x_fixed[k] + weights_.x * xdot[k];
    return settle(i, order);
}

Reduced::Outcome Reduced::settle(Instance& i, Order& order) {
    if (!close_positions(i)) return Outcome::open;
    if (!close_velocities(i)) return Outcome::singular;
    switch (index1.solve(i, here(), order)) {
        case Index1::Outcome::done:
            return Outcome::done;
        case Index1::Outcome::singular:
            return Outcome::singular;
        case Index1::Outcome::not_finite:
            return Outcome::not_finite;
        case Index1::Outcome::unsolved:
            break;
    }
    return Outcome::unsolved;
}

// [Haug97] eq. 11: Newton's iteration for the dependent coordinates, with new factors where it is slow.
bool Reduced::close_positions(Instance& i) {
    double before = std::numeric_limits<double>::infinity();
    for (int iteration = 0; iteration < most_closing; ++iteration) {
        turn();
        s_.constraints(point_with(i, index1.a.data(), index1.lambda.data()), i.work, phi_.data());
        const Violation worst = i.worst(phi_.data());
        violation = worst.scaled, worst_row = worst.row;
        if (!std::isfinite(violation)) return false;
        if (violation <= rounding(i) || (violation <= tolerance && violation > 0.5 * before)) return true;
        if (violation > slow_closing * before && !look_at_gradient(i)) return false;
        before = violation;
        partition.solve(Partition::positions, phi_.data(), column_.data());
        for (int k = 0; k < s_.nv; ++k) q[k] -= column_[k];
    }
    return violation <= tolerance;
}

// [Haug97] eq. 12; rows of velocities need not be linear.
bool Reduced::close_velocities(Instance& i) {
    if (!look_at_gradient(i)) return false;
    double before = std::numeric_limits<double>::infinity();
    for (int iteration = 0; iteration < most_closing; ++iteration) {
        index1.look(i, here());
        partition.solve(Partition::velocities, index1.velocity.data(), column_.data());
        double change = 0, speed = 0;
        for (int k = 0; k < s_.nv; ++k) {
            change = std::max(change, std::fabs(column_[k]) / i.unit(k));
            speed = std::max(speed, std::fabs(v[k]) / i.unit(k));
        }
        if (!std::isfinite(change)) return false;
        // where all is locked, speeds are rounding: they get no smaller, and no position shows them
        const bool noise = change > 0.1 * before && weights_.v * change <= rounding(i);
        if (noise || change <= 64 * epsilon * speed) return true;
        if (iteration + 1 == most_closing) return change <= tolerance * speed;
        before = change;
        for (int k = 0; k < s_.nv; ++k) v[k] -= column_[k];
    }
    return true;
}

// ---------------------------------------------------------------- the derivative

bool Reduced::derive(Instance& i, bool simplified) {
    balance_dependents(i);
    dq_.setZero(s_.nv, columns());
    dv_.setZero(s_.nv, columns());
    opening_.setZero(s_.nc, columns());
    change_.setZero(s_.n(), columns());
    move_positions(i);
    s_.rate_derivatives(point_with(i, mixed_a_.data(), mixed_lambda_.data()), i.work);
    move_velocities(i);
    if (!simplified) change_rates(i);
    change_equations(i, simplified);
    const int count = static_cast<int>(unknowns_.size());
    jacobian_.setIdentity(columns(), columns());
    for (int j = 0; j < columns(); ++j) {
        for (int k = 0; k < s_.n(); ++k) column_[k] = change_(k, j);
        i.mask_rows(column_.data());
        i.solve(index1.factor, column_.data());
        for (int k = 0; k < count; ++k) jacobian_(k, j) += column_[unknowns_[k]];
        for (int k = 0; k < s_.nx; ++k) jacobian_(count + k, j) += column_[first_state() + k];
    }
    if (!jacobian_.allFinite()) return false;
    lu_.compute(jacobian_);
    return true;
}

void Reduced::correction() {
    const int count = static_cast<int>(unknowns_.size());
    right_.resize(columns());
    for (int k = 0; k < count; ++k) right_[k] = index1.a[unknowns_[k]] - a[unknowns_[k]];
    for (int k = 0; k < s_.nx; ++k) right_[count + k] = index1.xdot[k] - xdot[k];
    solution_ = lu_.solve(right_);
    for (int k = 0; k < count; ++k) change_a[unknowns_[k]] = solution_[k];
    for (int k = 0; k < s_.nx; ++k) change_xdot[k] = solution_[count + k];
}

void Reduced::take_along(Instance& i, std::vector<double>& change) {
    std::fill(phi_.begin(), phi_.end(), 0.0);
    i.for_each_gradient_entry([&](int row, int col, double value) { phi_[row] += value * change[col]; });
    partition.solve(Partition::positions, phi_.data(), column_.data());
    for (int k = 0; k < s_.nv; ++k) change[k] -= column_[k];
}

// Dependent accelerations and multipliers that belong to the unknowns as they are, not to a*: [Haug97] eqs. 37, 38.
void Reduced::balance_dependents(Instance& i) {
    std::vector<double>& d = change_a;  // free until correction()
    std::fill(d.begin(), d.end(), 0.0);
    for (int k : unknowns_) d[k] = a[k] - index1.a[k];
    take_along(i, d);
    std::fill(force_.begin(), force_.end(), 0.0);
    for (std::size_t e = 0; e < i.work.singles.size(); ++e)
        if (const auto& p = s_.pattern.singles[e]; p.row < s_.nv && p.col < s_.nv)
            force_[p.row] += i.work.singles[e] * d[p.col];
    partition.solve_transposed(Partition::positions, force_.data(), multipliers_.data());
    for (int k = 0; k < s_.nv; ++k) mixed_a_[k] = index1.a[k] + d[k];
    for (int k = 0; k < s_.nc; ++k) mixed_lambda_[k] = index1.lambda[k] - multipliers_[k];
    std::fill(d.begin(), d.end(), 0.0);
}

// dq = beta h^2 [1; H], [Haug97] eqs. 21 and 31.
void Reduced::move_positions(Instance& i) {
    const int count = static_cast<int>(unknowns_.size());
    for (int j = 0; j < count; ++j) dq_(unknowns_[j], j) = 1;
    i.for_each_gradient_entry([&](int row, int col, double value) {
        if (!partition.depends(col, Partition::positions)) opening_.row(row) += value * dq_.row(col);
    });
    for (int j = 0; j < count; ++j) {
        for (int k = 0; k < s_.nc; ++k) phi_[k] = opening_(k, j);
        partition.solve(Partition::positions, phi_.data(), column_.data());
        for (int k = 0; k < s_.nv; ++k) dq_(k, j) -= column_[k];
    }
    if (s_.spatial_bodies() > 0) turn_back();
    dq_ *= weights_.q;
}

// Unknowns move increments of rotations, from which the rotations after them differ (T14.8).
void Reduced::turn_back() {
    const int count = static_cast<int>(unknowns_.size());
    moved_ = dq_.leftCols(count).transpose();
    turned_.resize(count, count);
    for (int k = 0; k < count; ++k) {
        const int coordinate = unknowns_[k], body = coordinate / 6, part = coordinate % 6 - 3;
        if (body >= s_.spatial_bodies() || part < 0) {
            turned_.col(k) = moved_.col(coordinate);
            continue;
        }
        double T[9];
        inverse_tangent(load(&q[6 * body + 3]), T);
        const double* row = T + 3 * part;
        const int at = 6 * body + 3;
        turned_.col(k) = row[0] * moved_.col(at) + row[1] * moved_.col(at + 1) + row[2] * moved_.col(at + 2);
    }
    turning_.compute(turned_);
    positions_ = turning_.solve(moved_);
    dq_.leftCols(count) = positions_.transpose();
}

// dv from G dv + (G v + Phi_t)_q dq = 0, [Haug97] eqs. 23 and 32.
void Reduced::move_velocities(Instance& i) {
    const int count = static_cast<int>(unknowns_.size());
    for (int j = 0; j < count; ++j)
        if (!partition.depends(unknowns_[j], Partition::velocities)) dv_(unknowns_[j], j) = weights_.v;
    opening_.setZero();
    i.for_each_gradient_entry([&](int row, int col, double value) {
        if (!partition.depends(col, Partition::velocities)) opening_.row(row) += value * dv_.row(col);
    });
    for (std::size_t e = 0; e < s_.rate_pattern.size(); ++e) {
        const auto& p = s_.rate_pattern[e];
        const double slope = i.work.rate_entries[e].velocity_q;
        if (p.col < s_.nv)
            opening_.row(p.row - s_.nv) += slope * dq_.row(p.col);
        else
            opening_(p.row - s_.nv, count + p.col - first_state()) += slope * weights_.x;
    }
    for (int j = 0; j < columns(); ++j) {
        for (int k = 0; k < s_.nc; ++k) phi_[k] = opening_(k, j);
        partition.solve(Partition::velocities, phi_.data(), column_.data());
        for (int k = 0; k < s_.nv; ++k) dv_(k, j) -= column_[k];
    }
}

// (G a - gamma)_q dq + (G a - gamma)_v dv: what [Haug97] eqs. 33 and 34 say.
void Reduced::change_rates(const Instance& i) {
    const int count = static_cast<int>(unknowns_.size());
    for (std::size_t e = 0; e < s_.rate_pattern.size(); ++e) {
        const auto& p = s_.rate_pattern[e];
        const RateEntry& slope = i.work.rate_entries[e];
        if (p.col < s_.nv)
            change_.row(p.row) += slope.acceleration_q * dq_.row(p.col) + slope.acceleration_v * dv_.row(p.col);
        else
            change_(p.row, count + p.col - first_state()) += slope.acceleration_q * weights_.x;
    }
}

// (M a + G^T lambda - Q)_q dq - Q_v dv - Q_x dx, and the same of the equations of states and variables.
void Reduced::change_equations(Instance& i, bool simplified) {
    const int count = static_cast<int>(unknowns_.size()), first = first_state();
    const auto is_force = [&](const Pattern::Place& p) { return p.row < s_.nv || p.row >= first; };
    const auto is_state = [&](const Pattern::Place& p) { return p.col >= first && p.col < first + s_.nx; };
    const Point whole = point_with(i, mixed_a_.data(), mixed_lambda_.data());
    s_.residual_and_derivative(whole, {0, 1, 0, 0, 0}, i.work, r_.data());
    by_velocity_ = i.work.singles;
    const Point rest = simplified ? point_with(i, mixed_a_.data(), zero_.data()) : whole;
    s_.residual_and_derivative(rest, {0, 0, 1, weights_.x, 0}, i.work, r_.data());
    for (std::size_t e = 0; e < by_velocity_.size(); ++e) {
        const auto& p = s_.pattern.singles[e];
        if (!is_force(p)) continue;
        if (p.col < s_.nv)
            change_.row(p.row) += by_velocity_[e] * dv_.row(p.col) + i.work.singles[e] * dq_.row(p.col);
        else if (is_state(p))  // both hold what rates of states do
            change_(p.row, count + p.col - first) += i.work.singles[e] - by_velocity_[e];
    }
}

}  // namespace mbd
