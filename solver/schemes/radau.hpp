// Radau IIA with three stages (order 5, stiffly accurate) on stabilised equations of index 2 (docs/theory.md, ch. 16).
//
// Unknowns at the stages t_i = t_n + c_i h: z_i = (a, lambda, Xdot, Y)_i, with h A the weights of the method:
//
//   v_i = v_n + h sum A_ij a_j,   X_i = X_n + h sum A_ij Xdot_j,   q_i = q_n + h sum A_ij qdot_j         (T16.1)
//   0 = M a_i + G^T lambda_i - Q,   0 = G v_i + Phi_t,   0 = d(Xdot_i, ..),   0 = Y_i - f(..)            (T16.2)
//
// qdot is v; of a spatial body's rotation it is T(theta)^-1 omega, as theta counts from the last accepted step. The
// last stage is the end of the step: there q is moved onto Phi = 0 and v onto G v = -Phi_t, both by as little as the
// local error, which is what stabilises the index-2 form (T16.8).
//
// Newton's matrix for all stages comes apart into a real one and a complex one, each of the pattern of System's:
// K(s) = P0 + s P1 + s^2 P2 with s = h/(eigenvalue of A^-1) (T16.4). P0, P1, P2 are kept: another h costs no
// evaluation.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "imbalance.hpp"
#include "radau_tableau.hpp"
#include "scheme.hpp"

namespace mbd {

struct RadauOptions {  // in the order of mbdfmu/schemes/radau.py
    double stop_ratio, max_iterations, constraint_tolerance;
};

class Radau final : public Scheme {
public:
    Radau(const System& system, const RadauOptions& options)
        : s_(system),
          o_(options),
          q_flat_(s_.nq()),
          per_speed_(s_.nv),
          rates_(s_.nc),
          b_(s_.n()),
          f_(s_.n()),
          q_miss_(s_.nv),
          bc_(s_.n()),
          imbalance_{Imbalance(s_), Imbalance(s_), Imbalance(s_)} {
        for (int i = 0; i < stages; ++i) {
            q_[i].resize(s_.nq()), v_[i].resize(s_.nv), x_[i].resize(s_.nx);
            z_[i].resize(s_.n()), r_[i].resize(s_.n());
        }
    }

    Radau(const Radau&) = delete;
    Radau& operator=(const Radau&) = delete;

    int error_order() const override { return 4; }  // of the embedded formula
    double least_growth() const override { return 1.2; }
    std::size_t memory_size() const override { return layout_.size; }

    // [HairerWanner96] radau5.f: what the embedded formula of order 3 may miss, so that the method misses `tolerance`
    // about
    void set_tolerance(double tolerance) override { tolerance_ = 0.1 * std::pow(tolerance, 2.0 / 3); }

    void check(const State& st) const override {
        if (counter(st, FACTOR_H) == 0) return;
        require_factor(st.factor);
        require_factor(st.complex_factor);
    }

    void start(Instance& i) override {
        State& st = i.state;
        st.memory.assign(layout_.size, 0.0);
        double* m = st.memory.data();
        for (int k = 0; k < s_.nv; ++k) m[layout_.per_weight + k] = 1 / std::max(i.unit(k), std::fabs(st.q[k]));
        for (int k = 0; k < s_.nx; ++k)
            m[layout_.per_weight + s_.nv + k] = 1 / std::max(s_.nominal[k], std::fabs(st.x[k]));
        quicken(i, st.v.data());
    }

    bool move_along(Instance& i, const Jump& jump) override {
        double* z = i.state.memory.data() + layout_.begin;
        for (int node = 0; node < nodes; ++node)
            for (int k = 0; k < s_.n(); ++k) *z++ += jump.z[k];
        return true;
    }

    void take_rows(Instance& i) override {
        State& st = i.state;
        double* m = st.memory.data();
        const auto share = [&](int at) { std::copy(st.lambda.begin(), st.lambda.end(), m + at + s_.nv); };
        share(layout_.begin);
        for (int k = 0; k < stages; ++k) share(layout_.stages + k * s_.n()), share(layout_.rejected + k * s_.n());
        counter(st, FACTOR_H) = 0;
    }

    StepResult step(Instance& i, double h, Statistics& count) override {
        State& st = i.state;
        pace_ = pace_within(i, std::max(counter(st, PACE), slowest / h), h, st.a.data());
        for (int k = 0; k < s_.nv; ++k) per_speed_[k] = 1 / (i.unit(k) * pace_);
        const bool kept = counter(st, FACTOR_H) != 0, begins = counter(st, LAST_H) == 0;
        h_ = h;
        predict(st);
        StepResult result = attempt(i, count);
        if (result.status != Status::done && (kept || begins || fixed_steps)) {
            // before the step is blamed: the same with a new matrix, from where velocities stay as they are
            counter(st, FACTOR_H) = counter(st, MATRIX) = 0;
            predict_coasting(st);
            result = attempt(i, count);
        }
        if (st.factor.pivoting || st.complex_factor.pivoting) counter(st, FACTOR_H) = 0;  // such a one is not kept
        if (result.status != Status::done) counter(st, REJECTED_H) = 0;  // its stages are good for nothing
        if (result.status != Status::done || !(result.error <= 1)) blame(i, result);
        return result;
    }

    Gaps::End end() const override { return {q_[last].data(), v_[last].data(), x_[last].data()}; }

    void accept(Instance& i) override {
        State& st = i.state;
        choose_degree(st);
        remember(st);
        double* per_weight = st.memory.data() + layout_.per_weight;
        const auto grow = [](double& weight, double value) {  // running maxima
            if (std::fabs(value) * weight > 1) weight = 1 / std::fabs(value);
        };
        for (int k = 0; k < s_.nv; ++k) grow(per_weight[k], q_[last][k]);
        for (int k = 0; k < s_.nx; ++k) grow(per_weight[s_.nv + k], x_[last][k]);
        quicken(i, v_[last].data());
        st.t += h_;
        st.q.swap(q_[last]), st.v.swap(v_[last]), st.x.swap(x_[last]);
        s_.settle_turned(st.q.data());
        const double* z = z_[last].data();
        std::copy_n(z, s_.nv, st.a.begin());
        std::copy_n(z + s_.nv, s_.nc, st.lambda.begin());
        std::copy_n(z + s_.nv + s_.nc, s_.nx, st.xdot.begin());
        std::copy_n(z + s_.nv + s_.nc + s_.nx, s_.ny, st.y.begin());
        counter(st, LAST_H) = h_;
        counter(st, LAST_ERROR) = error_;
        counter(st, REJECTED_H) = 0;
    }

private:
    static constexpr int stages = radau::stages, last = stages - 1;
    static constexpr int nodes = stages + 1;  // of the predictor: the stages of the last step and its begin
    static constexpr double stiff = 2;        // times the mass: a matrix that holds less hides little (T5.20)
    static constexpr double epsilon = std::numeric_limits<double>::epsilon();
    using Stages = std::array<std::vector<double>, stages>;

    const System& s_;
    const RadauOptions o_;
    double h_ = 0, error_ = 0, pace_ = 0;
    Stages q_, v_, x_, z_, r_;
    std::vector<double> q_flat_, per_speed_, rates_, b_, f_, q_miss_;
    std::vector<Complex> bc_;
    std::array<Imbalance, stages> imbalance_;
    double weights_[2][stages][nodes] = {};  // of the predictors of degree 2 and 3
    double ratio_ = -1;                      // of step sizes, that the weights are for
    double remaining_ = 0;                   // what the last Newton iteration is estimated to leave open

    // ---- the scheme's memory within State
    struct Layout {
        int per_weight, begin, stages, rejected, held, singles[3], pairs, counters, size;
    };
    // counters: size of the last step (0 = none), its error, h of the factorisations (0 = none), whether the parts of
    // the matrix hold, degree of the predictor, iterations of the step after the matrix was evaluated, iterations lost
    // since, what a first step with an old matrix loses, convergence rate, pace of the motion, size of the last attempt
    // that was rejected for its error (0 = none), whether the matrix holds coordinates (`held`) by far more than their
    // mass, and what it has hidden
    enum Counter {
        LAST_H,
        LAST_ERROR,
        FACTOR_H,
        MATRIX,
        DEGREE,
        FRESH_ITERATIONS,
        EXCESS,
        LOSS,
        RATE,
        PACE,
        REJECTED_H,
        HELD,
        HIDDEN,
        COUNTERS
    };
    Layout make_layout() const {
        const auto singles = static_cast<int>(s_.pattern.singles.size());
        Layout l{};
        l.begin = l.per_weight + s_.nv + s_.nx;
        l.stages = l.begin + s_.n();
        l.rejected = l.stages + stages * s_.n();
        l.held = l.rejected + stages * s_.n();
        l.singles[0] = l.held + s_.nv;
        l.singles[1] = l.singles[0] + singles;
        l.singles[2] = l.singles[1] + singles;
        l.pairs = l.singles[2] + singles;
        l.counters = l.pairs + static_cast<int>(s_.pattern.pairs.size());
        l.size = l.counters + COUNTERS;
        return l;
    }
    const Layout layout_ = make_layout();
    double& counter(State& st, Counter c) const { return st.memory[layout_.counters + c]; }
    double counter(const State& st, Counter c) const { return st.memory[layout_.counters + c]; }
    PowerStream powers(State& st) const {
        double* m = st.memory.data();
        return {{m + layout_.singles[0], m + layout_.singles[1], m + layout_.singles[2]}, m + layout_.pairs};
    }

    // The pace of the motion: running maximum of |v| over units.
    void quicken(Instance& i, const double* v) const {
        double& fastest = counter(i.state, PACE);
        fastest = pace(i, fastest, v);
    }

    // ---- the predictor: polynomials through the unknowns at the last stages, with the begin of that step or without;
    // after a rejected step through its own stages, which the new ones lie among

    void extrapolation(double ratio) {
        if (ratio == ratio_) return;
        ratio_ = ratio;
        const double node[nodes] = {radau::c[0] - 1, radau::c[1] - 1, 0, -1};
        for (int i = 0; i < stages; ++i) {
            radau::lagrange(node, stages, radau::c[i] * ratio, weights_[0][i]);
            radau::lagrange(node, nodes, radau::c[i] * ratio, weights_[1][i]);
        }
    }

    const double* past(const State& st, int stage) const { return st.memory.data() + layout_.stages + stage * s_.n(); }

    // The unknowns at the state.
    double* copy_unknowns(const State& st, double* to) const {
        to = std::copy(st.a.begin(), st.a.end(), to);
        to = std::copy(st.lambda.begin(), st.lambda.end(), to);
        to = std::copy(st.xdot.begin(), st.xdot.end(), to);
        return std::copy(st.y.begin(), st.y.end(), to);
    }

    void predict(State& st) {
        const double last_h = counter(st, LAST_H);
        if (counter(st, REJECTED_H) != 0) return interpolate(st, h_ / counter(st, REJECTED_H));
        if (last_h == 0) {
            for (auto& z : z_) copy_unknowns(st, z.data());
            return;
        }
        extrapolation(h_ / last_h);
        const double *p0 = past(st, 0), *p1 = past(st, 1), *p2 = past(st, 2);
        const double* begin = st.memory.data() + layout_.begin;
        for (int i = 0; i < stages; ++i) {
            const double* w = weights_[counter(st, DEGREE) == 3][i];
            const double w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
            double* z = z_[i].data();
            for (int k = 0; k < s_.n(); ++k) z[k] = w0 * p0[k] + w1 * p1[k] + w2 * p2[k] + w3 * begin[k];
        }
    }

    // Accelerations of stiff models where they begin would carry them far.
    void predict_coasting(const State& st) {
        for (auto& z : z_) {
            copy_unknowns(st, z.data());
            std::fill_n(z.begin(), s_.nv, 0.0);
        }
    }

    void interpolate(const State& st, double ratio) {
        const double node[nodes] = {radau::c[0], radau::c[1], 1, 0};
        double w[stages][nodes];
        for (int i = 0; i < stages; ++i) radau::lagrange(node, nodes, radau::c[i] * ratio, w[i]);
        copy_unknowns(st, b_.data());
        const double* rejected = st.memory.data() + layout_.rejected;
        const int n = s_.n();
        for (int k = 0; k < n; ++k) {
            const double z0 = rejected[k], z1 = rejected[n + k], z2 = rejected[2 * n + k], begin = b_[k];
            for (int i = 0; i < stages; ++i) z_[i][k] = w[i][0] * z0 + w[i][1] * z1 + w[i][2] * z2 + w[i][3] * begin;
        }
    }

    // The degree that would have predicted the accepted step better.
    void choose_degree(State& st) {
        if (counter(st, LAST_H) == 0) return;
        extrapolation(h_ / counter(st, LAST_H));
        const double *p0 = past(st, 0), *p1 = past(st, 1), *p2 = past(st, 2);
        const double *begin = st.memory.data() + layout_.begin, *z = z_[last].data();
        double miss[2] = {};
        for (int d = 0; d < 2; ++d) {
            const double* w = weights_[d][last];
            for (int k = 0; k < s_.nv; ++k) {
                const double change = w[0] * p0[k] + w[1] * p1[k] + w[2] * p2[k] + w[3] * begin[k] - z[k];
                miss[d] += std::pow(change * per_speed_[k], 2);
            }
        }
        counter(st, DEGREE) = miss[1] < miss[0] ? 3 : 2;
    }

    void remember(State& st) const { copy_stages(copy_unknowns(st, st.memory.data() + layout_.begin)); }
    void copy_stages(double* to) const {
        for (const auto& z : z_) to = std::copy(z.begin(), z.end(), to);
    }

    // ---- what follows from the unknowns (T16.1)

    // Sums of squares of what a correction changes, in weights of the error test.
    struct Moved {
        double places = 0, speeds = 0, states = 0;
    };

    // Places all stages; returns by how much they have moved, as a fraction of the tolerance.
    double place(const State& st, bool first) {
        const double* per_weight = st.memory.data() + layout_.per_weight;
        Moved moved;
        for (int k = 0; k < s_.nv; ++k) moved.speeds += advance(v_, z_, st.v[k], k, k) * square(per_speed_[k]);
        const int rotating = 6 * s_.spatial_bodies();
        for (int k = 0; k < s_.nv; ++k)
            if (k >= rotating || k % 6 < 3) moved.places += advance(q_, v_, st.q[k], k, k) * square(per_weight[k]);
        for (int k = 3; k < rotating; k += 6) moved.places += rotate(k, first) * square(per_weight[k]);
        if (rotating > 0)
            for (auto& q : q_) s_.turn(st.q.data(), q.data());
        const int xdot = s_.nv + s_.nc;
        for (int k = 0; k < s_.nx; ++k)
            moved.states += advance(x_, z_, st.x[k], k, xdot + k) * square(per_weight[s_.nv + k]);
        const double coordinates = std::max(moved.places, moved.speeds) / std::max(1, s_.nv);
        return std::sqrt(std::max(coordinates, moved.states / std::max(1, s_.nx)) / stages) / tolerance_;
    }
    static double square(double x) { return x * x; }

    // y_i := y_n + h sum A_ij rate_j; returns the sum of the squares of the changes.
    double advance(Stages& y, const Stages& rate, double begin, int k, int at) const {
        const double r0 = rate[0][at], r1 = rate[1][at], r2 = rate[2][at];
        double sum = 0;
        for (int i = 0; i < stages; ++i) {
            const double to = begin + h_ * (radau::A[i][0] * r0 + radau::A[i][1] * r1 + radau::A[i][2] * r2);
            sum += square(to - y[i][k]);
            y[i][k] = to;
        }
        return sum;
    }

    // theta_i := h sum A_ij T(theta_j)^-1 omega_j, whose right side depends on theta little (T16.3): some sweeps per
    // Newton iteration converge faster than that.
    double rotate(int k, bool first) {
        Vec theta[stages], before[stages], rate[stages];
        for (int i = 0; i < stages; ++i)
            theta[i] = before[i] = first ? h_ * radau::c[i] * load(&v_[i][k]) : load(&q_[i][k]);
        for (int sweep = first ? 4 : 2; sweep > 0; --sweep) {
            for (int j = 0; j < stages; ++j) {
                double inverse[9];
                inverse_tangent(theta[j], inverse);
                rate[j] = to_ground(inverse, load(&v_[j][k]));
            }
            for (int i = 0; i < stages; ++i)
                theta[i] = h_ * (radau::A[i][0] * rate[0] + radau::A[i][1] * rate[1] + radau::A[i][2] * rate[2]);
        }
        double sum = 0;
        for (int i = 0; i < stages; ++i) {
            const Vec change = theta[i] - before[i];
            sum += dot(change, change);
            q_[i][k] = theta[i].x, q_[i][k + 1] = theta[i].y, q_[i][k + 2] = theta[i].z;
        }
        return sum;
    }

    // ---- the equations at the stages (T16.2)

    Point stage_point(Instance& i, int stage, const double* q) const {
        const double* z = z_[stage].data();
        return i.point(i.state.t + radau::c[stage] * h_, q, v_[stage].data(), z, z + s_.nv, x_[stage].data(),
                       z + s_.nv + s_.nc, z + s_.nv + s_.nc + s_.nx);
    }

    void evaluate(Instance& i, bool derive, Statistics& count) {
        constexpr int middle = 1;  // the matrix of this stage does for all better than that of the begin
        for (int stage = 0; stage < stages; ++stage) {
            double* r = r_[stage].data();
            ++count.residuals;
            if (derive && stage == middle) derive_at(i, stage, count);
            const Point p = stage_point(i, stage, q_[stage].data());
            if (derive && stage == middle)
                s_.speeds(p, i.work, rates_.data());
            else
                s_.residual_and_speeds(p, i.work, r, rates_.data());
            for (int k = 0; k < s_.nc; ++k)
                if (s_.level[k] == 0) r[s_.nv + k] = rates_[k];
            i.mask_rows(r);
        }
    }

    // The parts of the matrix at a stage, as rotations after theta move it: theta is 0 there.
    void derive_at(Instance& i, int stage, Statistics& count) {
        ++count.jacobians;
        q_flat_ = q_[stage];
        s_.settle_turned(q_flat_.data());
        s_.residual_and_powers(stage_point(i, stage, q_flat_.data()), powers(i.state), i.work, r_[stage].data());
        counter(i.state, MATRIX) = 1;
        counter(i.state, FACTOR_H) = 0;
    }

    // K(s) for both s (T16.4); false where one is singular.
    bool factorise(Instance& i) {
        State& st = i.state;
        const PowerStream p = powers(st);
        const double s = radau::gamma * h_;
        const Complex sc = h_ * radau::complex_gamma(), square = sc * sc;
        const double *p0 = p.singles[0], *p1 = p.singles[1], *p2 = p.singles[2];
        std::vector<double>& real = i.work.singles;
        std::vector<Complex>& complex = i.work.complex_singles;
        for (std::size_t e = 0; e < real.size(); ++e) {
            real[e] = p0[e] + s * (p1[e] + s * p2[e]);
            complex[e] = {p0[e] + sc.real() * p1[e] + square.real() * p2[e], sc.imag() * p1[e] + square.imag() * p2[e]};
        }
        std::copy_n(p.pairs, i.work.pairs.size(), i.work.pairs.begin());
        counter(st, FACTOR_H) = 0;
        if (!i.factorise(st.factor, st.order) || !i.factorise(st.complex_factor, st.order)) return false;
        counter(st, FACTOR_H) = h_;
        counter(st, HELD) = imbalance_[last].mark(i, 1, stiff, st.memory.data() + layout_.held);
        counter(st, HIDDEN) = 0;
        return true;
    }

    // One iteration: solves for the correction of all stages and applies it (T16.5).
    void improve(Instance& i) {
        const auto& S = radau::inverse_T;
        for (int k = 0; k < s_.n(); ++k) {
            const double r0 = r_[0][k], r1 = r_[1][k], r2 = r_[2][k];
            b_[k] = S[0][0] * r0 + S[0][1] * r1 + S[0][2] * r2;
            bc_[k] = {S[1][0] * r0 + S[1][1] * r1 + S[1][2] * r2, S[2][0] * r0 + S[2][1] * r1 + S[2][2] * r2};
        }
        const double per_s = 1 / (radau::gamma * h_);
        const Complex per_sc = Complex(radau::alpha, radau::beta) / h_;
        for (int k = 0; k < s_.nc; ++k)
            if (s_.level[k] < 2) b_[s_.nv + k] *= per_s, bc_[s_.nv + k] *= per_sc;
        i.solve(i.state.factor, b_.data());
        i.solve(i.state.complex_factor, bc_.data());
        for (int j = 0; j < stages; ++j) {
            const double *T = radau::T[j], t0 = T[0], t1 = T[1], t2 = T[2];
            double* z = z_[j].data();
            for (int k = 0; k < s_.n(); ++k) z[k] -= t0 * b_[k] + t1 * bc_[k].real() + t2 * bc_[k].imag();
        }
    }

    // ---- the iteration

    enum class Verdict { reached, goes_on, wants_matrix, diverges };
    struct Iteration {
        int number = 0, derived_at = 0;
        bool derive = false, estimated = false;
        double size = 0, rate = 0;  // of the last correction, and over the one before
        int fresh() const { return derived_at > 0 ? number - derived_at + 1 : 0; }
    };
    static constexpr double roughly = 0.1;  // of the tolerance: near enough to see what the error will be

    // What Newton's iteration may leave open, as a fraction of the tolerance of the embedded formula, whose error is
    // `error` of it: a fraction of what the method itself misses, which is of order 3/2 in that (T16.7).
    double allowed(double error) const {
        const double of_method = std::pow(fixed_steps ? error : std::min(1.0, error), 1.5) * std::sqrt(tolerance_);
        const double enough = fixed_steps ? 0.01 * of_method : std::min(0.03, o_.stop_ratio * of_method);
        return std::max(enough, rounding());
    }
    double rounding() const { return 10 * epsilon / tolerance_; }

    // A correction of this size: how the iteration goes on. The first one is judged by the rate of the last step, in a
    // longer step by its root: what is predicted there reaches far, and a matrix that knows of stiffness which has gone
    // since (friction that stuck and slides) makes corrections look small. None vouches for more than a thousandth of
    // itself: after one that went far astray the next is much smaller, and may still be far off.
    Verdict judge(const State& st, Iteration& c, double size) {
        constexpr double longer = 1.1, fastest = 1e-3;
        if (c.number > 1) c.rate = std::max(size / c.size, fastest);
        c.size = size;
        const bool known = c.derived_at > 0 || h_ <= longer * counter(st, LAST_H);
        const double rate = c.number > 1 ? c.rate : known ? counter(st, RATE) : std::sqrt(counter(st, RATE));
        remaining_ = rate > 0 && rate < 1 ? rate / (1 - rate) * size : std::numeric_limits<double>::infinity();
        const bool rounded = c.fresh() > 2 && rate > 0.5 && size <= 16000 * rounding();  // no better
        if (rounded || size <= rounding()) remaining_ = 0;
        const double enough = c.estimated ? allowed(keeps_short()) : roughly;
        if (remaining_ <= enough) return Verdict::reached;
        if (c.number == 1) return Verdict::goes_on;
        if (rate > 0.3 && c.fresh() == 0) return Verdict::wants_matrix;
        if (fixed_steps) return rate > 0.5 && c.fresh() > 1 ? Verdict::wants_matrix : Verdict::goes_on;  // no other way
        const bool hopeless = rate >= 1 || remaining_ * std::pow(rate, o_.max_iterations - c.number) > enough;
        return c.fresh() > 2 && hopeless ? Verdict::diverges : Verdict::goes_on;
    }

    // How the matrix of this step comes about: evaluated anew once the iterations lost to the old one, with those that
    // a step with an old one has been seen to lose, cost as much; put together anew where only h has changed.
    bool wants_parts(const State& st) const {
        constexpr double part = 0.7;  // of the cost in units of one residual and one real solution
        return counter(st, MATRIX) == 0 || counter(st, EXCESS) + counter(st, LOSS) >= part * s_.refactor_cost();
    }
    bool wants_factor(const State& st) const {
        const double kept = counter(st, FACTOR_H);
        return kept == 0 || h_ < 0.9 * kept || h_ > 1.1 * kept;
    }

    StepResult attempt(Instance& i, Statistics& count) {
        State& st = i.state;
        StepResult result;
        place(st, true);
        Iteration c;
        c.derive = wants_parts(st);
        do {
            ++c.number;
            evaluate(i, c.derive, count);
            if (c.derive) c.derived_at = c.number;
            if ((c.derive || wants_factor(st)) && !factorise(i)) return result.status = Status::singular, result;
            const bool may_hide = counter(st, HELD) != 0;
            for (int k = 0; k < stages && may_hide; ++k) imbalance_[k].keep(r_[k].data());
            improve(i);
            const double size = place(st, false);
            ++count.iterations;
            result.iterations = c.number;
            if (!std::isfinite(size)) return result.status = Status::not_finite, result;
            Verdict verdict = judge(st, c, size);
            if (verdict == Verdict::reached && may_hide && left_open(i, count)) verdict = Verdict::wants_matrix;
            if (verdict == Verdict::diverges) return result.status = Status::diverged, result;
            if (verdict == Verdict::reached && concluded(i, c)) return finish(i, c, result, count), result;
            c.derive = verdict == Verdict::wants_matrix;
        } while (c.number < o_.max_iterations);
        result.status = Status::slow;
        return result;
    }

    // Whether an old matrix may have hidden corrections that add up to a part of the tolerance.
    bool left_open(Instance& i, Statistics& count) {
        const double* held = i.state.memory.data() + layout_.held;
        const auto norm = [&](const std::vector<double>& a) {
            double sum = 0;
            for (int k = 0; k < s_.nv; ++k) sum += square(a[k] * per_speed_[k]);
            return radau::gamma * h_ * std::sqrt(sum / std::max(1, s_.nv)) / tolerance_;
        };
        double hidden = 0;
        for (int k = 0; k < stages; ++k) {
            double &before = counter(i.state, HIDDEN), size = imbalance_[k].size(i, held, norm);
            if (before + size > Imbalance::part) {
                ++count.residuals;
                s_.residual(stage_point(i, k, q_[k].data()), i.work, r_[k].data());
                const double left = imbalance_[k].left(i, r_[k].data(), norm);
                before *= std::min(1.0, left / size);  // as much less than thought
                size = left;
                if (!(before + size <= Imbalance::part)) return true;
            }
            hidden = std::max(hidden, size);
        }
        counter(i.state, HIDDEN) += hidden;
        return false;
    }

    // The error once it can be seen; whether the iteration may end with it. What is rejected needs no more.
    bool concluded(Instance& i, Iteration& c) {
        constexpr double clearly = 1.3;
        const bool known = c.estimated;
        error_ = estimate(i);
        c.estimated = true;
        if (error_ > clearly && !fixed_steps) return true;
        return (known || remaining_ <= allowed(keeps_short())) && settled();
    }
    // The error, or what takes its place in keeping the step short.
    double keeps_short() const { return std::max(error_, std::pow(largest_turn(), error_order())); }

    void finish(Instance& i, const Iteration& c, StepResult& result, Statistics& count) {
        State& st = i.state;
        result.error = error_;
        result.turn = largest_turn();
        if (!(error_ <= 1) && !fixed_steps) {
            counter(st, REJECTED_H) = h_;
            copy_stages(st.memory.data() + layout_.rejected);
        } else {
            keep_count(st, c);
            result.error = foreseen_error(st, c);
        }
        if (!close(i, result, count)) result.status = Status::constraint;
    }

    // What the step control is told: the error that a step of this size would have next ([HairerWanner96] IV.8.35), and
    // that longer steps are not wanted where the iteration is slow.
    double foreseen_error(const State& st, const Iteration& c) const {
        constexpr int many = 8;
        if (c.number >= many) return 1;
        const double before = counter(st, LAST_H);
        if (before == 0) return error_;
        const double trend = error_ * error_ / std::max(0.01, counter(st, LAST_ERROR)) * std::pow(before / h_, 4);
        return std::min(1.0, std::max(error_, trend));
    }

    // Whether the last correction left variables where they are: those that move nothing count in no error.
    bool settled() const {
        constexpr double small = 1e-3;  // of the value
        for (int k = s_.n() - s_.ny; k < s_.n(); ++k) {
            const double change = std::fabs(b_[k]) + std::fabs(bc_[k].real()) + std::fabs(bc_[k].imag());
            if (!(change <= small * std::max(1.0, std::fabs(z_[last][k])))) return false;
        }
        return true;
    }

    void keep_count(State& st, const Iteration& c) const {
        double& rate = counter(st, RATE);
        rate = c.number > 1 ? std::min(c.rate, 0.9) : std::pow(rate, 0.8);
        double &excess = counter(st, EXCESS), &loss = counter(st, LOSS);
        if (c.derived_at > 0) {
            counter(st, FRESH_ITERATIONS) = c.fresh();
            excess = 0;
            loss *= 0.95;  // to be looked at again some time
        } else {
            const double lost = std::max(0.0, c.number - counter(st, FRESH_ITERATIONS));
            if (excess == 0) loss = 0.5 * (loss + lost);
            excess += lost;
        }
    }

    // ---- local error: what the embedded formula of order 3 misses, through the filter of K(s) (T16.6)

    double estimate(Instance& i) {
        State& st = i.state;
        const int xdot = s_.nv + s_.nc;
        const auto miss = [&](const Stages& y, double begin, double rate, int k) {
            double sum = h_ * rate;
            for (int j = 0; j < stages; ++j) sum += radau::e[j] * (y[j][k] - begin);
            return radau::gamma * sum;
        };
        std::fill(f_.begin(), f_.end(), 0.0);
        for (int k = 0; k < s_.nv; ++k) {
            const bool turns = k < 6 * s_.spatial_bodies() && k % 6 > 2;  // theta begins at 0
            q_miss_[k] = miss(q_, turns ? 0 : st.q[k], st.v[k], k);
            f_[k] = miss(v_, st.v[k], st.a[k], k);
        }
        for (int k = 0; k < s_.nx; ++k) f_[xdot + k] = miss(x_, st.x[k], st.xdot[k], k);
        double error = filtered(i);
        if (error > 1 && (counter(st, LAST_H) == 0 || counter(st, REJECTED_H) != 0)) error = filtered(i);
        return error;
    }

    // Takes the misses of q (q_miss_), v and X (f_) through the filter (T16.6); returns their size over the tolerance.
    double filtered(Instance& i) {
        State& st = i.state;
        const int nv = s_.nv, rows = nv + s_.nc;
        const double s = radau::gamma * counter(st, FACTOR_H);
        const PowerStream p = powers(st);
        std::fill(b_.begin(), b_.end(), 0.0);
        for (std::size_t e = 0; e < s_.pattern.singles.size(); ++e) {
            const auto [row, col] = s_.pattern.singles[e];
            if (row >= nv && row < rows) continue;
            if (col < nv)
                b_[row] += p.singles[0][e] * f_[col] / s - p.singles[2][e] * q_miss_[col];
            else if (col >= rows && col < rows + s_.nx)
                b_[row] += p.singles[0][e] * f_[col] / s;
        }
        i.mask_rows(b_.data());
        i.solve(st.factor, b_.data());
        const double* per_weight = st.memory.data() + layout_.per_weight;
        double places = 0, speeds = 0, states = 0;
        for (int k = 0; k < nv; ++k) {
            f_[k] = s * b_[k];
            q_miss_[k] += s * f_[k];
            places += square(q_miss_[k] * per_weight[k]);
            speeds += square(f_[k] * per_speed_[k]);
        }
        for (int k = 0; k < s_.nx; ++k) {
            f_[rows + k] = s * b_[rows + k];
            states += square(f_[rows + k] * per_weight[nv + k]);
        }
        const double coordinates = std::max(places, speeds) / std::max(1, nv);
        return std::sqrt(std::max(coordinates, states / std::max(1, s_.nx))) / tolerance_;
    }

    // ---- the end of the step on Phi = 0 and G v = -Phi_t (T16.8)

    bool close(Instance& i, StepResult& result, Statistics& count) {
        if (s_.nc == 0) return true;
        std::vector<double>& q = q_[last];
        double before = std::numeric_limits<double>::infinity();
        constexpr int most = 20;
        for (int k = 0; k < most; ++k) {
            ++count.constraint_checks;
            s_.constraints(stage_point(i, last, q.data()), i.work, rates_.data());
            const Violation worst = i.worst(rates_.data());
            result.violation = worst.scaled;
            result.worst_row = worst.row;
            if (worst.scaled <= closed_enough(i, before)) return close_velocities(i), true;
            if (!(worst.scaled < before)) return false;
            before = worst.scaled;
            least_motion(i);
            s_.increments(q.data(), b_.data());
            for (int j = 0; j < s_.nv; ++j) q[j] -= b_[j];
            s_.turn(i.state.q.data(), q.data());
        }
        return false;
    }

    // Far below the tolerance; or what rounding leaves, where it gets no better.
    double closed_enough(const Instance& i, double before) const {
        double largest = 0;
        for (double x : q_[last]) largest = std::max(largest, std::fabs(x));
        double rounded = std::max(1.0, largest / i.length());
        for (double x : i.state.turns) rounded = std::max(rounded, std::fabs(x));
        const double wanted = std::min(o_.constraint_tolerance, 0.01 * std::pow(tolerance_, 1.5));
        return std::max(wanted, before < 1e-10 * rounded ? 64 * epsilon * rounded : 0.0);
    }

    // Another G than that of K(s) leaves a part of what was open: as often as that counts.
    void close_velocities(Instance& i) {
        const double wanted = o_.constraint_tolerance * pace_;
        for (int k = 0; k < 4; ++k) {
            s_.speeds(stage_point(i, last, q_[last].data()), i.work, rates_.data());
            if (i.worst(rates_.data()).scaled <= wanted) return;
            least_motion(i);
            for (int j = 0; j < s_.nv; ++j) v_[last][j] -= b_[j];
        }
    }

    // b_ := the motion d with G d = rates_, least in the metric of K(s).
    void least_motion(Instance& i) {
        std::fill(b_.begin(), b_.end(), 0.0);
        for (int k = 0; k < s_.nc; ++k)
            if (s_.level[k] < 2) b_[s_.nv + k] = rates_[k];
        i.mask_rows(b_.data());
        i.solve(i.state.factor, b_.data());
    }

    // ---- failures

    // T(theta) is regular up to a full turn, and angles between bodies count turns up to half of one.
    double largest_turn() const {
        constexpr double longest = 1.0;  // rad
        double most = 0;
        for (int b = 0; b < s_.spatial_bodies(); ++b) {
            const Vec theta = load(&q_[last][6 * b + 3]);
            most = std::max(most, dot(theta, theta));
        }
        return std::sqrt(most) / longest;
    }

    // Finds what a failed step fails at: a row that is not a number, else the coordinate that moved or missed most.
    void blame(Instance& i, StepResult& result) {
        for (int stage = 0; stage < stages && result.worst_unknown < 0 && result.status != Status::done; ++stage) {
            const auto& r = r_[stage];
            const auto odd = std::find_if(r.begin(), r.end(), [](double x) { return !std::isfinite(x); });
            if (odd == r.end()) continue;
            result.status = Status::not_finite;
            result.worst_unknown = static_cast<int>(odd - r.begin());
            result.culprit = s_.not_finite(stage_point(i, stage, q_[stage].data()), i.work);
        }
        if (result.worst_unknown >= 0) return;
        const bool converged = result.status == Status::done;
        double largest = -1;
        for (int k = 0; k < s_.nv; ++k) {
            const double d = std::fabs(converged ? f_[k] : b_[k]) * per_speed_[k];
            if (!(d <= largest)) largest = d, result.worst_unknown = k;
            if (!std::isfinite(d)) break;
        }
    }
};

}  // namespace mbd
