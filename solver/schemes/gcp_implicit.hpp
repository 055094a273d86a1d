// Implicit generalized coordinate partitioning, after [Haug97]: the Newmark formulas in the independent coordinates
// (docs/theory.md, chapter 14).
//
//   v_{n+1} = v_n + h [(1 - gamma) a_n + gamma a]                       eqs. 16 and 18
//   q_{n+1} = q_n + h v_n + h^2/2 [(1 - 2 beta) a_n + 2 beta a]         eqs. 17 and 19
//   X_{n+1} = X_n + h [(1 - gamma) Xdot_n + gamma Xdot]                 (T14.6)
//
// Everything else follows from constraints and equations of motion at t_{n+1}, which hold exactly (solver/reduced.hpp).
// `simplified` iterates with the matrix of Fisette and Vaneghem (eq. 40): the same solution, more slowly.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../reduced.hpp"
#include "scheme.hpp"

namespace mbd {

struct GcpImplicitOptions {  // in the order of mbdfmu/schemes/gcp_implicit.py
    double beta, gamma, explicit_start, newton_tolerance, max_iterations, constraint_tolerance, worst_condition;
};

class GcpImplicit final : public Scheme {
public:
    GcpImplicit(const System& system, const GcpImplicitOptions& options, bool simplified)
        : s_(system), o_(options), simplified_(simplified), reduced_(system), r_(system.n()) {
        reduced_.tolerance = o_.constraint_tolerance;
    }

    GcpImplicit(const GcpImplicit&) = delete;
    GcpImplicit& operator=(const GcpImplicit&) = delete;

    int error_order() const override { return 3; }
    double carries() const override { return (1 - o_.gamma) / o_.gamma; }
    std::size_t memory_size() const override { return layout_.size; }

    void start(Instance& i) override {
        auto& m = i.state.memory;
        m.assign(layout_.size, 0.0);
        for (int k = 0; k < s_.nv; ++k) m[layout_.per_weight + k] = 1 / std::max(i.unit(k), std::fabs(i.state.q[k]));
        for (int k = 0; k < s_.nx; ++k)
            m[layout_.per_weight + s_.nv + k] = 1 / std::max(s_.nominal[k], std::fabs(i.state.x[k]));
        if (!choose(i))
            throw StepFailed("at t = " + number(i.state.t) +
                             " s no coordinates are independent: the joints are at a singular position; start " +
                             "elsewhere, or use the scheme 'hht'");
    }

    void check(const State& st) const override {
        if (!reduced_.partition.admits(st.memory.data() + layout_.partition, st)) foreign_memory();
    }

    bool move_along(Instance& i, const Jump& jump) override {
        for (int k = 0; k < s_.nx; ++k) i.state.memory[layout_.xdot + k] += jump.z[s_.nv + s_.nc + k];
        return true;
    }

    StepResult step(Instance& i, double h, Statistics& count) override {
        if (i.state.memory[layout_.worn] != 0 && choose(i)) ++count.repartitions;
        StepResult result = solve(i, h, count);
        if (lost_coordinates(result) && choose(i)) {
            ++count.repartitions;
            result = solve(i, h, count);
        }
        if (result.status == Status::done) {
            result.error = std::max(position_error(i, h), state_error(i.state, h));
            result.turn = largest_turn();
        }
        if (result.status != Status::done || !(result.error <= 1)) blame(i, result);
        return result;
    }

    Gaps::End end() const override { return {reduced_.q.data(), reduced_.v.data(), reduced_.x.data()}; }

    void accept(Instance& i) override {
        State& st = i.state;
        double* m = st.memory.data();
        const auto grow = [](double& per_weight, double value) {  // running maxima, as [Negrut05] eq. 34
            if (std::fabs(value) * per_weight > 1) per_weight = 1 / std::fabs(value);
        };
        for (int k = 0; k < s_.nv; ++k) grow(m[layout_.per_weight + k], reduced_.q[k]);
        for (int k = 0; k < s_.nx; ++k) grow(m[layout_.per_weight + s_.nv + k], reduced_.x[k]);
        std::copy(st.xdot.begin(), st.xdot.end(), m + layout_.xdot);
        m[layout_.last] = h_;
        st.t += h_;
        st.q = reduced_.q, st.v = reduced_.v, st.x = reduced_.x;
        s_.settle_turned(st.q.data());
        const Index1& found = reduced_.index1;
        st.a = found.a, st.lambda = found.lambda, st.xdot = reduced_.xdot, st.y = found.y;
        for (int k : reduced_.unknowns()) st.a[k] = reduced_.a[k];
        const double influence = reduced_.partition.influence();
        m[layout_.worn] = !(influence <= std::max(o_.worst_condition, 3 * m[layout_.influence]));
    }

private:
    using Outcome = Reduced::Outcome;
    const System& s_;
    const GcpImplicitOptions o_;
    const bool simplified_;
    Reduced reduced_;
    std::vector<double> r_;
    double h_ = 0;
    double change_ = 0;  // by the last correction

    // ---- the scheme's memory within State: the partition, its influence when chosen and whether it is worn, weights
    // of errors, rates of states one step ago and the size of that step
    struct Layout {
        int partition, influence, worn, per_weight, xdot, last, size;
    };
    static Layout make_layout(const System& s) {
        Layout l{};
        l.influence = s.nv;
        l.worn = l.influence + 1;
        l.per_weight = l.worn + 1;
        l.xdot = l.per_weight + s.nv + s.nx;
        l.last = l.xdot + s.nx;
        l.size = l.last + 1;
        return l;
    }
    const Layout layout_ = make_layout(s_);

    // Independent coordinates at the state.
    bool choose(Instance& i) {
        State& st = i.state;
        double* m = st.memory.data();
        const Point here = i.point(st.t, st.q.data(), st.v.data(), st.a.data(), st.lambda.data(), st.x.data(),
                                   st.xdot.data(), st.y.data());
        s_.residual_and_derivative(here, {1, 0, 0, 0, 0}, i.work, r_.data());
        m[layout_.worn] = 0;
        if (!reduced_.partition.choose(i)) return false;
        reduced_.partition.keep(m + layout_.partition);
        m[layout_.influence] = reduced_.partition.influence();
        return true;
    }
    static bool lost_coordinates(const StepResult& r) {
        return r.status == Status::constraint || r.status == Status::singular || r.status == Status::not_finite;
    }

    // What the formulas take from t_n, and the first guess of the unknowns.
    bool begin(Instance& i, double h) {
        const State& st = i.state;
        h_ = h;
        Reduced& z = reduced_;
        z.partition.take(st.memory.data() + layout_.partition, i);
        z.from = st.q.data();
        z.index1.lambda = st.lambda, z.index1.xdot = st.xdot, z.index1.y = st.y, z.index1.a = st.a;
        for (int k = 0; k < s_.nv; ++k) {
            z.q_fixed[k] = st.q[k] + h * (st.v[k] + h / 2 * (1 - 2 * o_.beta) * st.a[k]);
            z.v_fixed[k] = st.v[k] + h * (1 - o_.gamma) * st.a[k];
        }
        for (int k = 0; k < s_.nx; ++k) z.x_fixed[k] = st.x[k] + h * (1 - o_.gamma) * st.xdot[k];
        z.a = st.a, z.xdot = st.xdot;
        return z.begin(i, st.t + h, {o_.beta * h * h, o_.gamma * h, o_.gamma * h});
    }

    // [Haug97] 3.3, the predictor stage: a at positions and velocities that take a_n for the whole step.
    Outcome predict(Instance& i, Statistics& count) {
        const State& st = i.state;
        Reduced& z = reduced_;
        for (int k = 0; k < s_.nv; ++k) z.q[k] = st.q[k] + h_ * (st.v[k] + h_ / 2 * st.a[k]);
        for (int k = 0; k < s_.nv; ++k) z.v[k] = st.v[k] + h_ * st.a[k];
        for (int k = 0; k < s_.nx; ++k) z.x[k] = st.x[k] + h_ * st.xdot[k];
        ++count.residuals;
        const auto outcome = z.settle(i, i.state.order);
        if (outcome == Outcome::done) z.a = z.index1.a, z.xdot = z.index1.xdot;
        return outcome;
    }

    StepResult solve(Instance& i, double h, Statistics& count) {
        StepResult result;
        result.status = status_of(iterate(i, h, result.iterations, count));
        result.violation = reduced_.violation, result.worst_row = reduced_.worst_row;
        return result;
    }

    // [Haug97] eq. 30, from the present point to a last placement at the solution.
    Outcome iterate(Instance& i, double h, int& iterations, Statistics& count) {
        change_ = 0;
        if (!begin(i, h)) return Outcome::open;
        if (o_.explicit_start != 0)
            if (const Outcome outcome = predict(i, count); outcome != Outcome::done) return outcome;
        const int limit = static_cast<int>(o_.max_iterations);
        for (iterations = 1; iterations <= limit; ++iterations) {
            if (const Outcome outcome = place(i, count); outcome != Outcome::done) return outcome;
            ++count.jacobians, ++count.iterations;
            if (!reduced_.derive(i, simplified_)) return Outcome::not_finite;
            const bool small = correct(i);
            if (!std::isfinite(change_)) return Outcome::not_finite;
            if (small) return place(i, count);
        }
        return Outcome::unsolved;
    }

    Outcome place(Instance& i, Statistics& count) {
        ++count.residuals, ++count.constraint_checks;
        return reduced_.place(i, i.state.order);
    }

    static Status status_of(Outcome outcome) {
        switch (outcome) {
            case Outcome::done:
                return Status::done;
            case Outcome::open:
                return Status::constraint;
            case Outcome::singular:
                return Status::singular;
            case Outcome::not_finite:
                return Status::not_finite;
            case Outcome::unsolved:
                break;
        }
        return Status::slow;
    }

    double largest_acceleration(const Instance& i) const {
        double largest = 0;
        for (int k : reduced_.unknowns()) largest = std::max(largest, std::fabs(reduced_.a[k]) / i.unit(k));
        return largest;
    }

    // Takes one correction; true where it was small: a fraction of the accelerations, or what rounding of positions
    // leaves of them, which gets no smaller.
    bool correct(Instance& i) {
        Reduced& z = reduced_;
        z.correction();
        const double before = change_;
        change_ = 0;
        for (int k : z.unknowns()) {
            z.a[k] += z.change_a[k];
            const double change = std::fabs(z.change_a[k]) / i.unit(k);
            if (!(change <= change_)) change_ = change;  // also where it is not a number
        }
        const bool noise = o_.beta * h_ * h_ * change_ <= 64 * std::numeric_limits<double>::epsilon();
        bool small = change_ <= o_.newton_tolerance * largest_acceleration(i) || (noise && change_ > 0.1 * before);
        for (int k = 0; k < s_.nx; ++k) {
            z.xdot[k] += z.change_xdot[k];
            const double moved = o_.gamma * h_ * std::fabs(z.change_xdot[k]);
            small = small && moved <= o_.newton_tolerance * std::max(s_.nominal[k], std::fabs(z.x[k]));
        }
        return small;
    }

    // ---- local errors over the tolerance

    // (T14.11): the positions miss (beta - 1/6) h^2 (a - a_n), dependent ones what follows from that; whatever beta,
    // the velocities miss as the trapezoidal rule does, and more where gamma is not 1/2. Rotations as in (T7.10).
    double position_error(Instance& i, double h) {
        const State& st = i.state;
        const double constant = std::max(std::fabs(o_.beta - 1.0 / 6), 1.0 / 12) + std::fabs(o_.gamma - 0.5);
        const double* per_weight = st.memory.data() + layout_.per_weight;
        double sum = 0;
        std::vector<double>& miss = reduced_.change_a;  // free until the next correction
        std::fill(miss.begin(), miss.end(), 0.0);
        for (int k : reduced_.unknowns()) miss[k] = reduced_.a[k] - st.a[k];
        reduced_.take_along(i, miss);
        for (int k = 0; k < s_.nv; ++k) sum += std::pow(miss[k] * per_weight[k], 2);
        std::fill(miss.begin(), miss.end(), 0.0);
        for (int b = 0; b < s_.spatial_bodies(); ++b) {
            const int k = 6 * b + 3;
            const Vec turned = (h / (12 * constant)) * cross(load(&reduced_.v[k]), load(&reduced_.index1.a[k]));
            sum += per_weight[k] * per_weight[k] * dot(turned, turned);
        }
        return constant * h * h * std::sqrt(sum / std::max(1, s_.nv)) / tolerance_;
    }

    // Of the trapezoidal rule from second differences of the rates; one step after a start from first ones.
    double state_error(const State& st, double h) const {
        if (s_.nx == 0) return 0;
        const double* m = st.memory.data();
        const double last = m[layout_.last], off = std::fabs(o_.gamma - 0.5);
        double sum = 0;
        for (int k = 0; k < s_.nx; ++k) {
            const double change = reduced_.xdot[k] - st.xdot[k];
            double error = off * h * std::fabs(change);
            if (last > 0)
                error += h * h * h / 6 * std::fabs(change / h - (st.xdot[k] - m[layout_.xdot + k]) / last) / (h + last);
            else
                error += h / 12 * std::fabs(change);
            sum += std::pow(error * m[layout_.per_weight + s_.nv + k], 2);
        }
        return std::sqrt(sum / s_.nx) / tolerance_;
    }

    // As hht: below half a turn between bodies.
    double largest_turn() const {
        constexpr double longest = 1.5;  // rad
        double square = 0;
        for (int b = 0; b < s_.spatial_bodies(); ++b) {
            const Vec theta = load(&reduced_.q[6 * b + 3]);
            square = std::max(square, dot(theta, theta));
        }
        return std::sqrt(square) / longest;
    }

    // What a failed step fails at: what is not finite, else the coordinate whose acceleration changed most.
    void blame(Instance& i, StepResult& result) {
        const State& st = i.state;
        const Reduced& z = reduced_;
        if (result.status == Status::not_finite) {
            result.worst_unknown = z.index1.odd_unknown;
            result.culprit =
                s_.not_finite(i.point(st.t + h_, z.q.data(), z.v.data(), z.a.data(), z.index1.lambda.data(), z.x.data(),
                                      z.xdot.data(), z.index1.y.data()),
                              i.work);
        }
        if (result.worst_unknown >= 0) return;
        double largest = -1;
        for (int k : z.unknowns()) {
            const double change = std::fabs(z.a[k] - st.a[k]) * st.memory[layout_.per_weight + k];
            if (!(change <= largest)) largest = change, result.worst_unknown = k;
        }
    }
};

}  // namespace mbd
