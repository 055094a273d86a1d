// The parameter-free schemes of [Welch07], in the plane (eq. 44), in space (eq. 43) and for what the paper leaves out
// (docs/theory.md, chapter 13).
//
// Accelerations and multipliers solve [M G^T; G 0] for rows that close the joints at t_{n+1}, to the order of the step:
//
//   predictor, all at t_n:              G a^p = -Phi(q_n, t_{n+1})/h^2 - G v_n/h              (T13.1), eqs. 43a, 44a
//                                       v^p = v_n + h a^p,  q^p = q_n + h v^p
//   corrector, all at the half step:    G a = -2 Phi(q^p, t_{n+1})/h^2 + 2 G a^p              (T13.2), eqs. 43b, 44b
//                                       v = v_n + h a,      q = q_n + h/2 (v_n + v)
//
// Rows of velocities and of accelerations: (T13.5). The corrector is repeated once with the half-step velocity that it
// has found: the predictor's lacks what is normal to the constraints, and the printed scheme with it is of first order
// wherever forces see velocities (13.3). The predictor alone is welch1.
//
// State keeps a, lambda, Xdot and Y of the half step (of t_n in welch1). Reactions at t_{n+1} are those of the report.
//
// Under error control slopes are compared: those of index 1 at t_n, at the half step and at t_{n+1} (T13.7).
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "scheme.hpp"

namespace mbd {

struct Welch1Options {};
struct Welch2Options {  // in the order of mbdfmu/schemes/welch.py
    double printed_form;
};

class Welch final : public Scheme {
public:
    // Correctors in a step: 0 is welch1, 1 the printed and 2 the corrected form of welch2.
    Welch(const System& system, int corrections)
        : s_(system),
          corrections_(corrections),
          index1_(system),
          end_(system),
          place_(system.nq(), system.nv, system.nx),
          next_(system.nq(), system.nv, system.nx),
          phi_(system.nc),
          still_(system.nc),
          asked_(system.nc),
          open_(system.nc),
          gamma_(system.nc),
          shift_(system.nc),
          no_gamma_(system.nc),
          zero_(system.nv),
          begin_(system.nv + system.nx),
          half_(system.nv + system.nx),
          error_(2 * system.nv + system.nx) {}

    int error_order() const override { return corrections_ > 0 ? 3 : 2; }
    std::size_t memory_size() const override { return s_.nv + 2 * s_.nx + 2; }

    void start(Instance& i) override {
        State& st = i.state;
        st.memory.assign(memory_size(), 0.0);
        double* m = st.memory.data();
        for (int k = 0; k < s_.nv; ++k) m[k] = std::max(i.unit(k), std::fabs(st.q[k]));
        for (int k = 0; k < s_.nx; ++k) m[s_.nv + k] = std::max(s_.nominal[k], std::fabs(st.x[k]));
        m[pace_at()] = pace(i, 0, st.v.data());
    }

    bool move_along(Instance& i, const Jump& jump) override {
        double* rates = i.state.memory.data() + last_at() + 1;
        for (int k = 0; k < s_.nx; ++k) rates[k] += jump.z[s_.nv + s_.nc + k];
        return true;
    }

    StepResult step(Instance& i, double h, Statistics& count) override {
        h_ = h;
        order_ = i.state.order;
        index1_.a = i.state.a, index1_.lambda = i.state.lambda, index1_.xdot = i.state.xdot, index1_.y = i.state.y;
        StepResult result;
        if (attempt(i, result)) estimate(i, result);
        return blame(i, result, count);
    }

    Gaps::End end() const override { return {next_.q.data(), next_.v.data(), next_.x.data()}; }

    void accept(Instance& i) override {
        State& st = i.state;
        double* m = st.memory.data();
        m[last_at()] = h_;
        if (!fixed_steps) std::copy_n(&begin_[s_.nv], s_.nx, m + last_at() + 1);
        st.t += h_;
        st.q.swap(next_.q), st.v.swap(next_.v), st.x.swap(next_.x);
        st.a = index1_.a, st.lambda = index1_.lambda, st.xdot = index1_.xdot, st.y = index1_.y;
        st.order = order_;
        for (int k = 0; k < s_.nv; ++k) m[k] = std::max(m[k], std::fabs(st.q[k]));  // [Negrut05] eq. 34
        for (int k = 0; k < s_.nx; ++k) m[s_.nv + k] = std::max(m[s_.nv + k], std::fabs(st.x[k]));
        m[pace_at()] = pace(i, m[pace_at()], st.v.data());
    }

private:
    struct Motion {
        Motion(int nq, int nv, int nx) : q(nq), v(nv), x(nx) {}
        std::vector<double> q, v, x;
    };
    static constexpr double steady = 0.5;  // an error at which the step size stays as it is

    const System& s_;
    const int corrections_;
    Index1 index1_, end_;  // of the step; where it ends
    Motion place_, next_;  // where accelerations are asked for; where the step ends
    std::vector<double> phi_, still_, asked_, open_, gamma_, shift_, no_gamma_, zero_;
    std::vector<double> begin_, half_;  // slopes of v and X by index 1: at t_n, at the half step
    std::vector<double> error_;         // of positions, velocities, states
    double h_ = 0;
    Order order_ = Order::eager;

    // ---- the scheme's memory within State: weights of the errors, the pace of the motion, the size of the last
    // step, rates of X at its beginning
    std::size_t pace_at() const { return s_.nv + s_.nx; }
    std::size_t last_at() const { return pace_at() + 1; }

    // ---- the step
    bool attempt(Instance& i, StepResult& result) {
        if (!predict(i, result)) return false;
        keep_slopes(i, begin_);
        if (corrections_ > 0 && !correct_all(i, result)) return false;
        return fixed_steps || arrive(i, result);
    }

    // (T13.1)
    bool predict(Instance& i, StepResult& result) {
        const State& st = i.state;
        place_.q = st.q, place_.v = st.v, place_.x = st.x;
        index1_.look(i, here(st.t));
        open_ = index1_.velocity;  // B v + b of rows of velocities
        gamma_ = index1_.gamma;
        constraints(i, st.t + h_, st.q);
        still(i, st.t);
        for (int k = 0; k < s_.nc; ++k)
            if (s_.level[k] == 0)
                index1_.gamma[k] = -(phi_[k] / h_ + (index1_.velocity[k] - still_[k])) / h_;
            else if (s_.level[k] == 1)
                index1_.gamma[k] -= open_[k] / h_;  // (T13.5)
        if (!solve(i, st.t, result)) return false;
        advance(st, true);
        return true;
    }

    bool correct_all(Instance& i, StepResult& result) {
        prepare_corrector(i);
        for (int k = 0; k < corrections_; ++k)
            if (!correct(i, result)) return false;
        keep_slopes(i, half_);
        return true;
    }

    // The half step's positions, and what its rows ask for: neither changes when the corrector is repeated.
    void prepare_corrector(Instance& i) {
        const State& st = i.state;
        constraints(i, st.t + h_, next_.q);
        for (int k = 0; k < s_.nv; ++k) place_.q[k] = (st.q[k] + next_.q[k]) / 2;  // eq. 23
        for (int b = 0; b < s_.spatial_bodies(); ++b) {                            // eq. 24
            const int at = s_.nv + 4 * b;
            double e[4];
            for (int k = 0; k < 4; ++k) e[k] = st.q[at + k] + next_.q[at + k];
            normalised(e, &place_.q[at]);
        }
        still(i, st.t + h_ / 2);
        const Point p = i.point(st.t + h_ / 2, place_.q.data(), index1_.a.data(), zero_.data(), index1_.lambda.data(),
                                place_.x.data(), index1_.xdot.data(), index1_.y.data());
        s_.rates(p, i.work, asked_.data(), no_gamma_.data());
        for (int k = 0; k < s_.nc; ++k) asked_[k] = 2 * (asked_[k] - still_[k] - phi_[k] / (h_ * h_));  // (T13.2)
    }

    bool correct(Instance& i, StepResult& result) {
        const State& st = i.state;
        for (int k = 0; k < s_.nv; ++k) place_.v[k] = (st.v[k] + next_.v[k]) / 2;  // eq. 25
        for (int k = 0; k < s_.nx; ++k) place_.x[k] = (st.x[k] + next_.x[k]) / 2;
        index1_.look(i, here(st.t + h_ / 2));
        gamma_ = index1_.gamma;
        for (int k = 0; k < s_.nc; ++k)
            if (s_.level[k] == 0)
                index1_.gamma[k] = asked_[k];
            else if (s_.level[k] == 1)
                index1_.gamma[k] -= open_[k] / h_;  // (T13.5)
        if (!solve(i, st.t + h_ / 2, result)) return false;
        advance(st, false);
        return true;
    }

    // From t_n with the accelerations found: by the new velocity, or by the mean of both.
    void advance(const State& st, bool predictor) {
        const double own = predictor ? 1 : 0.5;
        for (int k = 0; k < s_.nv; ++k) {
            const double v = st.v[k], after = v + h_ * index1_.a[k];
            next_.v[k] = after;
            next_.q[k] = st.q[k] + h_ * (own * after + (1 - own) * v);
        }
        for (int b = 0; b < s_.spatial_bodies(); ++b) {
            std::fill_n(&next_.q[6 * b + 3], 3, 0.0);
            const double *e = &st.q[s_.nv + 4 * b], *w = &st.v[6 * b + 3];
            const Vec after = load(&next_.v[6 * b + 3]);
            double* to = &next_.q[s_.nv + 4 * b];
            if (predictor)
                turn(e, 1, h_ / 2 * after, to);  // eq. 17
            else
                turn_by_mean(e, h_ / 8 * (load(w) + after), to);  // eq. 32
        }
        for (int k = 0; k < s_.nx; ++k) next_.x[k] = st.x[k] + h_ * index1_.xdot[k];  // (T13.6)
    }

    // e o (c, w), normalised: (1 - h G(omega))^-1 e is e o (1, h omega/2) but for its length.
    static void turn(const double* e, double c, Vec w, double* to) {
        const Vec u = load(e + 1), turned = e[0] * w + c * u + cross(u, w);
        const double raw[4] = {e[0] * c - dot(u, w), turned.x, turned.y, turned.z};
        normalised(raw, to);
    }
    // (1 - h/2 G(omega))^-1 (1 + h/2 G(omega)) e = e o (1 - |w|^2, 2 w)/(1 + |w|^2), w = h omega/4 (Cayley)
    static void turn_by_mean(const double* e, Vec w, double* to) { turn(e, 1 - dot(w, w), 2.0 * w, to); }
    static void normalised(const double* e, double* to) {
        const double scale = 1 / std::sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
        for (int k = 0; k < 4; ++k) to[k] = scale * e[k];
    }

    // ---- evaluations
    Index1::Place here(double t) const { return {t, place_.q.data(), place_.v.data(), place_.x.data()}; }
    Point point(Instance& i, double t, const std::vector<double>& q) {
        return i.point(t, q.data(), zero_.data(), zero_.data(), index1_.lambda.data(), place_.x.data(),
                       index1_.xdot.data(), index1_.y.data());
    }
    void constraints(Instance& i, double t, const std::vector<double>& q) {
        if (s_.nc > 0) s_.constraints(point(i, t, q), i.work, phi_.data());
    }
    // Phi_t: what rows say of a body that stands
    void still(Instance& i, double t) {
        if (s_.nc > 0) s_.rates(point(i, t, place_.q), i.work, still_.data(), no_gamma_.data());
    }

    bool solve(Instance& i, double t, StepResult& result) { return solve(i, index1_, here(t), result); }
    bool solve(Instance& i, Index1& index1, const Index1::Place& at, StepResult& result) {
        ++result.iterations;
        const Index1::Outcome outcome = index1.solve(i, at, order_);
        if (outcome == Index1::Outcome::done) return true;
        result.status = outcome == Index1::Outcome::singular     ? Status::singular
                        : outcome == Index1::Outcome::not_finite ? Status::not_finite
                                                                 : Status::slow;
        result.worst_unknown = index1.odd_unknown;
        const auto& r = index1.rows;
        const auto odd = std::find_if(r.begin(), r.end(), [](double x) { return !std::isfinite(x); });
        if (odd == r.end()) return false;
        result.status = Status::not_finite;
        result.worst_unknown = static_cast<int>(odd - r.begin());
        return false;
    }

    // ---- the local error (13.5)
    // Those of index 1 where it was solved last: its rows asked for what closes the joints.
    void keep_slopes(Instance& i, std::vector<double>& to) {
        if (fixed_steps) return;
        for (int k = 0; k < s_.nc; ++k) shift_[k] = index1_.gamma[k] - gamma_[k];
        const double* change = index1_.least_motion(i, shift_.data());
        for (int k = 0; k < s_.nv; ++k) to[k] = index1_.a[k] + change[k];
        const double* rates = change + s_.nv + s_.nc;
        for (int k = 0; k < s_.nx; ++k) to[s_.nv + k] = index1_.xdot[k] + rates[k];
    }

    // Slopes where the step ends: what begins there (a contact, a force that jumps) is seen.
    bool arrive(Instance& i, StepResult& result) {
        end_.a = index1_.a, end_.lambda = index1_.lambda, end_.xdot = index1_.xdot, end_.y = index1_.y;
        const Index1::Place at{i.state.t + h_, next_.q.data(), next_.v.data(), next_.x.data()};
        end_.look(i, at);
        return solve(i, end_, at, result);
    }

    void estimate(Instance& i, StepResult& result) {
        const State& st = i.state;
        if (!fixed_steps) {
            if (corrections_ > 0)
                third_order_errors(st);
            else
                second_order_errors(st);
            result.error = norm(i) / tolerance_;
            // the first step of welch2 does not know how rates bend
            if (corrections_ > 0 && s_.nx > 0 && st.memory[last_at()] == 0)
                result.error = std::max(result.error, steady);
        }
        if (s_.turns > 0) result.turn = largest_turn(st);
        examine(i, result);
    }

    // What is left open at t_{n+1} is an error of positions too.
    void examine(Instance& i, StepResult& result) {
        if (!std::isfinite(result.error)) result.status = Status::not_finite;
        if (s_.nc == 0) return;
        constraints(i, i.state.t + h_, next_.q);
        const Violation worst = i.worst(phi_.data());
        result.violation = worst.scaled, result.worst_row = worst.row;
        result.error = std::max(result.error, worst.scaled / tolerance_);
        if (!(worst.scaled <= widest_gap) && result.status == Status::done) result.status = Status::constraint;
    }

    // (T13.7). Rotations turn about an axis that moves, and Cayley's turns fall behind.
    void third_order_errors(const State& st) {
        double *places = error_.data(), *speeds = places + s_.nv, *states = speeds + s_.nv;
        const double *begin = begin_.data(), *half = half_.data(), *rates = begin + s_.nv;
        for (int k = 0; k < s_.nv; ++k) {
            places[k] = h_ * h_ / 6 * (half[k] - begin[k]);
            speeds[k] = h_ / 6 * (begin[k] - 2 * half[k] + end_.a[k]);
        }
        const double scale = h_ * h_ * h_ / 12, last = st.memory[last_at()];
        for (int k = 0; k < s_.nx; ++k) {
            const double slope = (end_.xdot[k] - rates[k]) / h_, bend = (slope - slope_before(st, k)) / (h_ + last);
            states[k] = h_ / 2 * (rates[k] - 2 * half[s_.nv + k] + end_.xdot[k]) - 2 * scale * bend;
        }
        for (int k = 3; k < 6 * s_.spatial_bodies(); k += 6) {
            const Vec w = 0.5 * (load(&st.v[k]) + load(&next_.v[k]));
            add(&places[k], -scale * (cross(w, load(&half[k])) + dot(w, w) / 4 * w));
        }
    }

    // (T13.8)
    void second_order_errors(const State& st) {
        double *speeds = &error_[s_.nv], *states = speeds + s_.nv;
        for (int k = 0; k < s_.nv; ++k) {
            error_[k] = h_ / 2 * (next_.v[k] - st.v[k]);
            speeds[k] = h_ / 2 * (end_.a[k] - begin_[k]);
        }
        for (int k = 0; k < s_.nx; ++k) states[k] = h_ / 2 * (end_.xdot[k] - begin_[s_.nv + k]);
    }

    // Xdd over the last step; 0 before the first.
    double slope_before(const State& st, int k) const {
        const double last = st.memory[last_at()];
        return last > 0 ? (begin_[s_.nv + k] - st.memory[last_at() + 1 + k]) / last : 0;
    }

    // As in (T12.2).
    double norm(const Instance& i) const {
        const double *m = i.state.memory.data(), *speed = &error_[s_.nv], *state = speed + s_.nv;
        const double known = std::max(pace(i, m[pace_at()], next_.v.data()), slowest / h_);
        const double fastest = pace_within(i, known, h_, index1_.a.data());
        double places = 0, speeds = 0, states = 0;
        for (int k = 0; k < s_.nv; ++k) {
            places += std::pow(error_[k] / m[k], 2);
            speeds += std::pow(speed[k] / (i.unit(k) * fastest), 2);
        }
        for (int k = 0; k < s_.nx; ++k) states += std::pow(state[k] / m[s_.nv + k], 2);
        const double motion = std::sqrt(std::max(places, speeds) / std::max(1, s_.nv));
        return std::max(motion, std::sqrt(states / std::max(1, s_.nx)));
    }

    // Two bodies that turn against each other by less than half a turn leave no doubt of the turns between them.
    double largest_turn(const State& st) const {
        constexpr double longest = 1.5;  // rad
        double square = 0;
        for (int k = 3; k < 6 * s_.spatial_bodies(); k += 6) {
            const Vec w = 0.5 * (load(&st.v[k]) + load(&next_.v[k]));
            square = std::max(square, dot(w, w));
        }
        return h_ * std::sqrt(square) / longest;
    }

    // Counts the step, and finds what it fails at.
    StepResult blame(Instance& i, StepResult& result, Statistics& count) {
        count.iterations += result.iterations, count.residuals += result.iterations;
        count.jacobians += result.iterations;
        if (result.status == Status::not_finite) {
            const Point p = i.point(i.state.t, place_.q.data(), place_.v.data(), index1_.a.data(),
                                    index1_.lambda.data(), place_.x.data(), index1_.xdot.data(), index1_.y.data());
            result.culprit = s_.not_finite(p, i.work);
        }
        if (result.status != Status::done || result.error <= 1 || result.worst_unknown >= 0) return result;
        const double* m = i.state.memory.data();
        double largest = -1;
        for (int k = 0; k < s_.nv; ++k)
            if (const double d = std::fabs(error_[k]) / m[k]; d > largest) largest = d, result.worst_unknown = k;
        return result;
    }
};

}  // namespace mbd
