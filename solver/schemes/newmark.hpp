// The Newmark family on constrained equations of motion: HHT after [Negrut05] in its corrected second-order form,
// Newmark, the trapezoidal rule and generalised-alpha, of index 3 or stabilised of index 2 (docs/theory.md, chapters 5
// and 15).
//
// Unknowns at t_{n+1}: a, lambda, Xdot, Y.
//
//   q = q_n + h v_n + h^2/2 [(1 - 2 beta) a_n + 2 beta a]          [Negrut05] eq. 2a
//   v = v_n + h [(1 - gamma) a_n + gamma a]                        eq. 2b
//   (1 - alpha_m) a + alpha_m a_n = (1 - alpha_f) qdd + alpha_f qdd_n                  (T15.1)
//   X as v, with w and Xdot in the places of a and qdd (T15.6), or by option of hht
//   X = X_n + h [(1 - rho) Xdot_n + rho Xdot]                                          eq. 9a
//   0 = M qdd + G^T lambda - Q                                     (T5.2), corrected eq. 11a
//   0 = Phi/(beta h^2)                                             eq. 13
//   0 = d(Xdot, X, q, v, qdd, lambda, Y, t),  0 = Y - f(..)        eq. 8
//
// qdd is the acceleration that balances the forces; a runs `shift` h ahead of it, shift = alpha_m - alpha_f. Not a
// mistake. In the stabilised form of index 2 (T15.8)
//
//   q = [eq. 2a] + beta h^2 e,    0 = (G v + Phi_t)/(gamma h),    0 = Phi/(beta h^2),    0 = Mhat e + G^T mu
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "damping.hpp"
#include "imbalance.hpp"
#include "scheme.hpp"

namespace mbd {

// The options that every member has, in the order of the files in mbdfmu/schemes/.
struct CorrectorOptions {
    double unit_weights, index, stop_ratio, max_iterations, constraint_tolerance;
};

struct HhtOptions {
    double alpha, printed_form, sharp_estimate, states_of_paper, rho;
    CorrectorOptions corrector;
};

struct NewmarkOptions {
    double gamma, beta;
    CorrectorOptions corrector;
};

struct TrapezoidalOptions {
    CorrectorOptions corrector;
};

struct GeneralisedAlphaOptions {
    double rho, sharp_estimate;
    CorrectorOptions corrector;
};

// One member of the family.
struct NewmarkMember {
    double alpha_m, alpha_f, beta, gamma;
    double constant;    // of the local error: what it is to h^2 (a - a_n)
    double excess = 0;  // gamma + shift - 1/2: 0 where the member is of second order
    bool printed_form = false, states_of_paper = false;
    double rho = 1;
    CorrectorOptions corrector;
    double shift() const { return alpha_m - alpha_f; }
};

inline NewmarkMember member(const HhtOptions& o) {
    const double alpha = o.alpha, beta = (1 - alpha) * (1 - alpha) / 4;            // [Negrut05] eq. 6
    const double constant = o.sharp_estimate != 0 ? 1.0 / 12 + alpha * alpha / 4   // (T5.4)
                                                  : beta - 1 / (6 * (1 + alpha));  // eq. 25
    NewmarkMember m{0, -alpha, beta, (1 - 2 * alpha) / 2, constant, 0, false, false, o.rho, o.corrector};
    m.printed_form = o.printed_form != 0;
    m.states_of_paper = o.states_of_paper != 0;
    return m;
}

inline NewmarkMember member(const NewmarkOptions& o) {
    const double excess = o.gamma - 0.5;
    // beta = 1/6 has no such error in q, but that of v still (T15.5)
    const double constant = std::max(std::fabs(o.beta - 1.0 / 6), 1.0 / 12) + excess;
    return {0, 0, o.beta, o.gamma, constant, excess, false, false, 1, o.corrector};
}

inline NewmarkMember member(const TrapezoidalOptions& o) { return member(NewmarkOptions{0.5, 0.25, o.corrector}); }

inline NewmarkMember member(const GeneralisedAlphaOptions& o) {
    const double alpha_m = (2 * o.rho - 1) / (o.rho + 1), alpha_f = o.rho / (o.rho + 1), shift = alpha_m - alpha_f;
    const double beta = (1 - shift) * (1 - shift) / 4;
    const double constant = o.sharp_estimate != 0 ? 1.0 / 12 + shift * shift / 4                 // (T15.4)
                                                  : beta - (1 - alpha_m) / (6 * (1 - alpha_f));  // (T15.3)
    return {alpha_m, alpha_f, beta, 0.5 - shift, constant, 0, false, false, 1, o.corrector};
}

class NewmarkFamily final : public Scheme {
public:
    NewmarkFamily(const System& system, const NewmarkMember& m)
        : s_(system),
          m_(m),
          stabilised_(m.corrector.index == 2 && system.nc > 0),
          q_(s_.nq()),
          v_(s_.nv),
          z_(s_.n() + (stabilised_ ? s_.nc : 0)),
          a_(z_.data()),
          lambda_(a_ + s_.nv),
          xdot_(lambda_ + s_.nc),
          y_(xdot_ + s_.nx),
          gap_(y_ + s_.ny),
          qdd_(s_.nv),
          x_(s_.nx),
          w_(s_.nx),
          r_(s_.n()),
          phi_(s_.nc),
          q_fixed_(s_.nv),
          v_fixed_(s_.nv),
          v_start_(s_.nv),
          qdd_fixed_(s_.nv),
          x_fixed_(s_.nx),
          w_fixed_(s_.nx),
          zero_(s_.nv),
          e_(stabilised_ ? s_.nv : 0),
          re_(s_.n()),
          iterate_(z_.size() + e_.size()),
          speed_(s_.nc),
          imbalance_(s_) {}

    NewmarkFamily(const NewmarkFamily&) = delete;
    NewmarkFamily& operator=(const NewmarkFamily&) = delete;

    int error_order() const override { return 3; }
    double carries() const override {
        return (1 - m_.gamma) / m_.gamma + m_.alpha_f / (1 - m_.alpha_f) - m_.alpha_m / (1 - m_.alpha_m);
    }
    // Where Newton's iteration fails the error says little of how far steps may reach.
    double greatest_growth(const State& st) const override { return st.memory[layout_.counters + CALM] > 0 ? 1 : 5; }
    void reject(Instance& i) override {
        if (rough_) counter(i.state, CALM) = calm_steps + 1;
    }
    std::size_t memory_size() const override { return layout_.size; }

    void start(Instance& i) override {
        h_ = 0;
        auto& m = i.state.memory;
        m.assign(layout_.size, 0.0);
        const Layout& at = layout_;
        std::copy(i.state.a.begin(), i.state.a.end(), m.begin() + at.qdd);
        std::copy(i.state.xdot.begin(), i.state.xdot.end(), m.begin() + at.w);
        for (int k = 0; k < s_.nv; ++k)
            m[at.per_weight + k] = 1 / std::max(floor_weight(i, k), std::fabs(i.state.q[k]));
        for (int k = 0; k < s_.nx; ++k)
            m[at.per_weight + s_.nv + k] = 1 / std::max(s_.nominal[k], std::fabs(i.state.x[k]));
        std::fill(z_.begin() + s_.n(), z_.end(), 0.0);
        remember(i);
        if (m_.printed_form) keep_force_balance(i);
    }

    bool move_along(Instance& i, const Jump& jump) override {
        State& st = i.state;
        const auto move = [](double* to, const double* by, int count) {
            for (int k = 0; k < count; ++k) to[k] += by[k];
        };
        move(st.memory.data() + layout_.qdd, jump.z, s_.nv);
        move(st.memory.data() + layout_.w, jump.z + s_.nv + s_.nc, s_.nx);
        for (int age = 0; age < counter(st, POINTS); ++age) move(slot(st, age) + 1, jump.z, s_.n());
        if (m_.printed_form) keep_force_balance(i);
        return true;
    }

    void check(const State& st) const override {
        const double* counters = st.memory.data() + layout_.counters;
        require_whole(counters[POINTS], 0, history_length);
        require_whole(counters[NEWEST], 0, history_length - 1);
        require_whole(counters[DEGREE], 0, highest_degree);
        require_whole(counters[CALM], 0, calm_steps + 1);
        require_whole(counters[HELD], 0, 1);
        if (counters[FACTOR_H] != 0) require_factor(st.factor);
    }

    void take_rows(Instance& i) override {
        State& st = i.state;
        for (int age = 0; age < history_length; ++age) {
            double* z = slot(st, age) + 1;
            std::copy(st.lambda.begin(), st.lambda.end(), z + s_.nv);
            std::fill(z + s_.n(), z + z_.size(), 0.0);
        }
        counter(st, FACTOR_H) = 0;
    }

    StepResult step(Instance& i, double h, Statistics& count) override {
        choose_formula(i.state, h);
        choose_velocities(i, h, count);
        predict(i, h);
        const bool kept = counter(i.state, FACTOR_H) != 0;
        StepResult result = correct(i, h, false, count);
        // before the step is blamed: the same with a new matrix, and damped
        rough_ = result.status != Status::done;
        if (rough_) blame(i, result);
        const int failed_at = result.worst_unknown;
        if (rough_ && (kept || result.status != Status::singular)) {
            counter(i.state, FACTOR_H) = 0;
            predict(i, h);
            result = correct(i, h, true, count);
        }
        if (rough_) result.failed_at = failed_at;
        h_ = h;
        if (result.status == Status::done) {
            result.error = std::max(result.error, state_error(i.state, h));
            result.turn = largest_turn();
        }
        if (result.status != Status::done || !(result.error <= 1)) blame(i, result);
        return result;
    }

    Gaps::End end() const override { return {q_.data(), v_.data(), x_.data()}; }

    void accept(Instance& i) override {
        State& st = i.state;
        const Layout& at = layout_;
        double* m = st.memory.data();
        counter(st, CALM) = rough_ ? calm_steps : std::max(0.0, counter(st, CALM) - 1);
        std::copy_n(m_.printed_form ? a_ : qdd_.data(), s_.nv, m + at.qdd);
        std::copy(w_.begin(), w_.end(), m + at.w);
        const auto grow = [](double& per_weight, double value) {  // the running maximum of eq. 34
            if (std::fabs(value) * per_weight > 1) per_weight = 1 / std::fabs(value);
        };
        for (int k = 0; k < s_.nv; ++k) grow(m[at.per_weight + k], q_[k]);
        for (int k = 0; k < s_.nx; ++k) grow(m[at.per_weight + s_.nv + k], x_[k]);
        st.t += h_;
        st.q.swap(q_), st.v.swap(v_), st.x.swap(x_);
        s_.settle_turned(st.q.data());
        std::copy(a_, lambda_, st.a.begin());
        std::copy(lambda_, xdot_, st.lambda.begin());
        std::copy(xdot_, y_, st.xdot.begin());
        std::copy(y_, y_ + s_.ny, st.y.begin());
        choose_degree(st);
        remember(i);
        if (m_.printed_form) keep_force_balance(i);
    }

private:
    static constexpr int history_length = 4, highest_degree = 3;
    static constexpr double crowded = 0.01;  // a past step below this fraction of the present one predicts nothing
    static constexpr double even = 1.35;     // steps whose sizes differ by less are treated as equal
    static constexpr int calm_steps = 4;     // without growth, once an iteration has failed or had to be damped
    static constexpr double stiff = 30;      // times the mass: a matrix that holds less hides little (T5.20)
    static constexpr double nearest = 0.25;  // of h: how near each other the times of a_n and a may be
    std::array<double, history_length> spacing_{};
    double weights_[history_length][history_length] = {};
    int highest_weights_ = -1;
    Point trial_;  // where the iterates lie; the same through a step

    const System& s_;
    const NewmarkMember m_;
    const bool stabilised_;
    const double alpha_f_ = m_.alpha_f;
    double alpha_m_ = 0, beta_ = 0, gamma_ = 0;  // of the step (T5.9)
    double apart_ = 1;                           // times of a_n and a, over h
    bool rough_ = false;                         // the iteration had to be damped
    bool uneven_ = false;                        // the step before had another size
    double h_ = 0;
    std::vector<double> q_, v_;
    std::vector<double> z_;                    // the unknowns: a, lambda, Xdot, Y; stabilised, G e/h also
    double *a_, *lambda_, *xdot_, *y_, *gap_;  // where they lie in z
    std::vector<double> qdd_, x_, w_, r_, phi_, q_fixed_, v_fixed_, v_start_, qdd_fixed_, x_fixed_, w_fixed_, zero_;
    std::vector<double> e_, re_, iterate_, speed_;  // of the stabilised form: e, its residual; z and e; G v + Phi_t
    Damping damping_;
    Imbalance imbalance_;
    Factor old_factor_;
    std::vector<double> old_held_;

    // how much faster a follows qdd than itself, da/dqdd
    double lead() const { return (1 - alpha_f_) / (1 - alpha_m_); }

    // ---- the scheme's memory within State
    struct Layout {
        int qdd, w, per_weight, balance, held, history, counters, size;
    };
    // a history slot: size of the step that led to it, then z
    // counters: points in history, newest slot, degree of the predictor, h of the factorisation (0 = none),
    //           iterations of the step after the last refactorisation, iterations lost since, steps that do not grow
    //           yet, whether that matrix holds coordinates (`held`) by far more than their mass, and what it has hidden
    enum Counter { POINTS, NEWEST, DEGREE, FACTOR_H, FRESH_ITERATIONS, EXCESS, CALM, HELD, HIDDEN, COUNTERS };
    int record() const { return 1 + static_cast<int>(z_.size()); }
    Layout make_layout() const {
        Layout l{};
        l.w = l.qdd + s_.nv;
        l.per_weight = l.w + s_.nx;
        l.balance = l.per_weight + s_.nv + s_.nx;
        l.held = l.balance + (m_.printed_form ? s_.nv : 0);
        l.history = l.held + s_.nv;
        l.counters = l.history + history_length * record();
        l.size = l.counters + COUNTERS;
        return l;
    }
    const Layout layout_ = make_layout();
    double& counter(State& st, Counter c) const { return st.memory[layout_.counters + c]; }

    double* held(State& st) const { return st.memory.data() + layout_.held; }

    double floor_weight(const Instance& i, int k) const { return m_.corrector.unit_weights != 0 ? 1.0 : i.unit(k); }

    // ---- history and predictor ([Negrut05] 3.5): polynomial through the last points, of the degree that predicted
    // best
    double* slot(State& st, int age) const {
        const int newest = static_cast<int>(counter(st, NEWEST));
        return st.memory.data() + layout_.history + (newest + history_length - age) % history_length * record();
    }

    void remember(Instance& i) {
        State& st = i.state;
        counter(st, NEWEST) = (static_cast<int>(counter(st, NEWEST)) + 1) % history_length;
        counter(st, POINTS) = std::min<double>(counter(st, POINTS) + 1, history_length);
        double* to = slot(st, 0);
        *to++ = h_;
        to = std::copy(st.a.begin(), st.a.end(), to);
        to = std::copy(st.lambda.begin(), st.lambda.end(), to);
        to = std::copy(st.xdot.begin(), st.xdot.end(), to);
        to = std::copy(st.y.begin(), st.y.end(), to);
        std::copy(z_.begin() + s_.n(), z_.end(), to);
    }

    // Lagrange weights of the polynomials through the newest degree + 1 points, at h after the newest. They depend on
    // step sizes only, so that steps of one size share them.
    void extrapolation(State& st, double h) {
        const std::array<double, history_length> spacing{h, slot(st, 0)[0], slot(st, 1)[0], slot(st, 2)[0]};
        int highest = 0;  // points crowded together would amplify their noise
        while (highest < highest_degree && highest + 1 < counter(st, POINTS) && spacing[highest + 1] > crowded * h)
            ++highest;
        if (spacing == spacing_ && highest == highest_weights_) return;
        spacing_ = spacing;
        highest_weights_ = highest;
        double age[history_length];  // time from point j to the end of the step
        age[0] = h;
        for (int j = 1; j < history_length; ++j) age[j] = age[j - 1] + spacing[j];
        for (int degree = 0; degree < history_length; ++degree)
            for (int j = 0; j < history_length; ++j) {
                double& weight = weights_[degree][j];
                weight = j <= degree && degree <= highest;  // slots that hold no point hold zeros
                for (int k = 0; k <= degree && weight != 0; ++k)
                    if (k != j) weight *= age[k] / (age[k] - age[j]);
            }
    }

    void predict(Instance& i, double h) {
        State& st = i.state;
        extrapolation(st, h);
        const double* weights = weights_[std::min(static_cast<int>(counter(st, DEGREE)), highest_weights_)];
        const double *p0 = slot(st, 0) + 1, *p1 = slot(st, 1) + 1, *p2 = slot(st, 2) + 1, *p3 = slot(st, 3) + 1;
        const double w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];
        for (std::size_t k = 0; k < z_.size(); ++k) z_[k] = w0 * p0[k] + w1 * p1[k] + w2 * p2[k] + w3 * p3[k];
        go_on_from(st, h);
        if (stabilised_) predict_correction(i, h);
    }

    // a_n is an acceleration at t_n + shift h_n, a one at t_n + h + shift h. The line through both gives the step its
    // formula, whatever the sizes of the steps are (T5.9). After a start a_n is one at t_n.
    void choose_formula(State& st, double h) {
        const double last = slot(st, 0)[0];
        uneven_ = last > even * h || h > even * last;
        apart_ = m_.printed_form ? 1 : std::max(1 + m_.shift() * (1 - last / h), nearest);
        alpha_m_ = m_.alpha_m / apart_;
        gamma_ = (0.5 + m_.excess - m_.shift() - 1 + apart_) / apart_;
        const bool overshoots = uneven_ && m_.shift() != 0 && !m_.printed_form;
        beta_ = overshoots ? gamma_ / 2 : m_.beta + (square(gamma_ + 0.5) - square(m_.gamma + 0.5)) / 4;
    }
    static double square(double x) { return x * x; }

    // Where steps of other sizes follow each other, what v has across the joints is scaled by their ratios, and may
    // grow without bound (T5.18): then steps begin on G v = -Phi_t. An old matrix does, as it is near that of t_n.
    void choose_velocities(Instance& i, double h, Statistics& count) {
        State& st = i.state;
        std::copy(st.v.begin(), st.v.end(), v_start_.begin());
        const double last = slot(st, 0)[0];
        if (!uneven_ || stabilised_ || s_.nc == 0 || h >= last) return;
        const double* qdd_n = st.memory.data() + layout_.qdd;
        const Point here =
            i.point(st.t, st.q.data(), st.v.data(), qdd_n, st.lambda.data(), st.x.data(), st.xdot.data(), st.y.data());
        if (counter(st, FACTOR_H) == 0 && !factorise_at(i, here, h, count)) return;
        s_.speeds(here, i.work, speed_.data());
        std::fill(re_.begin(), re_.end(), 0.0);
        for (int k = 0; k < s_.nc; ++k)
            if (s_.level[k] < 2) re_[s_.nv + k] = speed_[k];
        i.mask_rows(re_.data());
        i.solve(st.factor, re_.data());
        if (std::all_of(re_.begin(), re_.begin() + s_.nv, [](double x) { return std::isfinite(x); }))
            for (int k = 0; k < s_.nv; ++k) v_start_[k] -= (1 - square(h / last)) * re_[k];
    }

    // what eqs. 2a, 2b, T15.1 and T15.6 add from t_n
    void go_on_from(State& st, double h) {
        const double c1 = h * h / 2 * (1 - 2 * beta_), c2 = h * (1 - gamma_);
        const double *qdd = st.memory.data() + layout_.qdd, *w = st.memory.data() + layout_.w;
        const double alpha_f = m_.printed_form ? 0 : alpha_f_;
        for (int k = 0; k < s_.nv; ++k) {
            const double a = st.a[k];
            q_fixed_[k] = st.q[k] + h * v_start_[k] + c1 * a;
            v_fixed_[k] = v_start_[k] + c2 * a;
            qdd_fixed_[k] = alpha_m_ * a - alpha_f * qdd[k];
        }
        if (by_paper()) {
            for (int k = 0; k < s_.nx; ++k) x_fixed_[k] = st.x[k] + h * (1 - m_.rho) * st.xdot[k];
            std::fill(w_fixed_.begin(), w_fixed_.end(), 0.0);
            return;
        }
        for (int k = 0; k < s_.nx; ++k) {
            x_fixed_[k] = st.x[k] + c2 * w[k];
            w_fixed_[k] = alpha_f_ * st.xdot[k] - alpha_m_ * w[k];
        }
    }

    // The degree that would have predicted the accepted step best; one more where the best is the highest tried.
    void choose_degree(State& st) const {
        const int tried = highest_weights_;
        const double *per_weight = st.memory.data() + layout_.per_weight, *now = st.a.data();
        const double *p0 = slot(st, 0) + 1, *p1 = slot(st, 1) + 1, *p2 = slot(st, 2) + 1, *p3 = slot(st, 3) + 1;
        double miss[history_length] = {};
        const auto& w = weights_;
        for (int k = 0; k < s_.nv; ++k) {
            const double scale = per_weight[k];
            const double m0 = (now[k] - p0[k]) * scale;
            const double m1 = (now[k] - w[1][0] * p0[k] - w[1][1] * p1[k]) * scale;
            const double m2 = (now[k] - w[2][0] * p0[k] - w[2][1] * p1[k] - w[2][2] * p2[k]) * scale;
            const double m3 = (now[k] - w[3][0] * p0[k] - w[3][1] * p1[k] - w[3][2] * p2[k] - w[3][3] * p3[k]) * scale;
            miss[0] += m0 * m0, miss[1] += m1 * m1, miss[2] += m2 * m2, miss[3] += m3 * m3;
        }
        const int chosen = static_cast<int>(std::min_element(miss, miss + tried + 1) - miss);
        counter(st, DEGREE) = chosen == tried ? std::min(tried + 1, highest_degree) : chosen;
    }

    // ---- corrector ([Negrut05] 3.4)
    void place(const State& st, double h) {
        const double bq = beta_ * h * h, bv = gamma_ * h, mine = 1 - alpha_m_, one = 1 / (1 - alpha_f_);
        for (int k = 0; k < s_.nv; ++k) {
            q_[k] = q_fixed_[k] + bq * a_[k];
            v_[k] = v_fixed_[k] + bv * a_[k];
            qdd_[k] = (mine * a_[k] + qdd_fixed_[k]) * one;
        }
        if (stabilised_)
            for (int k = 0; k < s_.nv; ++k) q_[k] += bq * e_[k];
        s_.turn(st.q.data(), q_.data());
        const double of_rate = by_paper() ? 1 : 1 - alpha_f_, of_w = by_paper() ? 1 : 1 / mine;
        const double bx = by_paper() ? m_.rho * h : bv;
        for (int k = 0; k < s_.nx; ++k) {
            w_[k] = (of_rate * xdot_[k] + w_fixed_[k]) * of_w;
            x_[k] = x_fixed_[k] + bx * w_[k];
        }
    }

    bool by_paper() const { return m_.states_of_paper; }
    // dX/dXdot (T15.7), eq. 9b
    double per_rate(double h) const { return by_paper() ? m_.rho * h : gamma_ * lead() * h; }

    // Residual and a new factorisation; false where that is singular.
    bool factorise_at(Instance& i, const Point& p, double h, Statistics& count) {
        ++count.residuals;
        ++count.jacobians;
        const double cv = gamma_ * h, cx = per_rate(h);
        s_.residual_and_derivative(p, {1 / lead(), cv, beta_ * h * h, cx, cx / cv}, i.work, r_.data());
        Factor& factor = i.state.factor;
        counter(i.state, FACTOR_H) = 0;
        if (!i.factorise(factor, i.state.order)) return false;
        if (!factor.pivoting) counter(i.state, FACTOR_H) = h;  // a pivoting one is not kept
        counter(i.state, HELD) = imbalance_.mark(i, 1 / lead(), stiff, held(i.state));
        counter(i.state, HIDDEN) = 0;
        return true;
    }

    // Residual at the present iterate; with a new factorisation where asked. False where that is singular.
    bool evaluate(Instance& i, double h, bool first, bool renew, Statistics& count) {
        const double bq = beta_ * h * h;
        const Point& p = trial_;
        if (renew) {
            if (!factorise_at(i, p, h, count)) return false;
        } else {
            ++count.residuals;
            s_.residual(p, i.work, r_.data());
        }
        const double per_level[3] = {1 / bq, 1 / (gamma_ * h), lead()};  // eq. 13, and its like (T7.9)
        for (int k = 0; k < s_.nc; ++k) r_[s_.nv + k] *= per_level[static_cast<int>(s_.level[k])];
        if (stabilised_) take_velocities(i, h, first);
        i.mask_rows(r_.data());
        if (m_.printed_form) {
            const double* balance = i.state.memory.data() + layout_.balance;
            for (int k = 0; k < s_.nv; ++k) r_[k] += balance[k];
        }
        return true;
    }

    // ---- the stabilised form: positions move by beta h^2 (a + e), velocities by gamma h a (T15.8)

    // The constraints determine a by their velocities, which are closed but before the first correction; e by what that
    // leaves of their positions (T15.9).
    void take_velocities(Instance& i, double h, bool first) {
        std::fill(speed_.begin(), speed_.end(), 0.0);
        if (first) s_.speeds(trial_, i.work, speed_.data());
        std::fill(re_.begin(), re_.end(), 0.0);
        for (int k = 0; k < s_.nc; ++k) {
            if (s_.level[k] != 0) continue;
            double &row = r_[s_.nv + k], speed = speed_[k] / (gamma_ * h);
            re_[s_.nv + k] = row - speed;
            row = speed;
        }
        i.mask_rows(re_.data());
    }

    // e from the extrapolated G e, so that it lies in the range of Mhat^-1 G^T: what it has beside that would be
    // extrapolated from step to step with nothing to determine it.
    void predict_correction(Instance& i, double h) {
        std::fill(e_.begin(), e_.end(), 0.0);
        if (counter(i.state, FACTOR_H) == 0) return std::fill(gap_, gap_ + s_.nc, 0.0);
        std::fill(re_.begin(), re_.end(), 0.0);
        for (int k = 0; k < s_.nc; ++k) re_[s_.nv + k] = h * gap_[k];
        place(i.state, h);
        i.mask_rows(re_.data());
        i.solve(i.state.factor, re_.data());
        s_.increments(q_.data(), re_.data());
        std::copy_n(re_.begin(), s_.nv, e_.begin());
    }

    void solve_both(Instance& i, double h) {
        for (int k = 0; k < s_.nc; ++k) gap_[k] -= re_[s_.nv + k] / h;
        i.solve(i.state.factor, r_.data(), re_.data());
        s_.increments(q_.data(), re_.data());
        for (int k = 0; k < s_.nv; ++k) e_[k] -= re_[k];
    }

    // Velocities onto G v = -Phi_t, by the matrix at hand and at the same positions: e takes back what a gets.
    void close_velocities(Instance& i, double h) {
        place(i.state, h);
        s_.speeds(trial_, i.work, speed_.data());
        std::fill(re_.begin(), re_.end(), 0.0);
        for (int k = 0; k < s_.nc; ++k)
            if (s_.level[k] < 2) re_[s_.nv + k] = speed_[k] / (gamma_ * h);
        i.mask_rows(re_.data());
        i.solve(i.state.factor, re_.data());
        for (int k = 0; k < s_.n(); ++k) z_[k] -= re_[k];
        for (int k = 0; k < s_.nv; ++k) e_[k] += re_[k];
    }

    // Of one group of unknowns, as fractions of the tolerated local error: what the last correction changed, and what
    // the step as it stands would be estimated at; and the part of the coordinates in the last correction.
    struct Sizes {
        double correction, step, places;
    };
    // The coordinates, with the states where these follow the same recursion; the states by eq. 9a.
    static constexpr int most_groups = 2;
    int groups() const { return by_paper() && s_.nx > 0 ? 2 : 1; }

    // Solves for the correction and applies it.
    void improve(Instance& i, double h, Sizes (&sizes)[most_groups]) {
        if (stabilised_)
            solve_both(i, h);
        else
            i.solve(i.state.factor, r_.data());
        s_.increments(q_.data(), r_.data());
        const double *per_weight = i.state.memory.data() + layout_.per_weight, *a_n = i.state.a.data();
        for (int k = 0; k < s_.n(); ++k) z_[k] -= r_[k];
        double sum = 0, total = 0;
        for (int k = 0; k < s_.nv; ++k) {
            const double d = r_[k] * per_weight[k], x = (a_[k] - a_n[k]) * per_weight[k];
            sum += d * d;
            total += x * x;
        }
        total = std::max(0.0, total / square(apart_) + turning_error(h, a_n, per_weight));
        const double change = scale(h, s_.nv) * std::sqrt(sum);
        const double places = stabilised_ ? scale(h, s_.nv) * change_of_places(per_weight) : change;
        sizes[0] = {std::max(change, places), scale(h, s_.nv) * std::sqrt(total), places};
        if (s_.nx == 0) return;
        const double moved = norm_of_states(r_.data() + s_.nv + s_.nc, per_weight);
        if (by_paper())
            sizes[1] = {(m_.rho - 0.5) * h * moved, paper_error(i.state, h), places};  // eq. 46
        else
            sizes[0].correction = std::max(sizes[0].correction, per_rate(h) * moved);
    }

    // Norm of the last correction of a + e.
    double change_of_places(const double* per_weight) const {
        double sum = 0;
        for (int k = 0; k < s_.nv; ++k) sum += std::pow((r_[k] + re_[k]) * per_weight[k], 2);
        return std::sqrt(sum);
    }

    // Composite error of eq. 34 for the states, over the tolerance.
    double norm_of_states(const double* d, const double* per_weight) const {
        double sum = 0;
        for (int k = 0; k < s_.nx; ++k) sum += std::pow(d[k] * per_weight[s_.nv + k], 2);
        return std::sqrt(sum / s_.nx) / tolerance_;
    }

    // What the local error of orientations adds to the sum of squares: a rotation vector made of h v and h^2 a misses
    // h^3/12 omega x alpha (T7.10).
    double turning_error(double h, const double* a_n, const double* per_weight) const {
        double sum = 0;
        for (int b = 0; b < s_.spatial_bodies(); ++b) {
            const int k = 6 * b + 3;
            const Vec miss = (-h / (12 * m_.constant)) * cross(load(&v_[k]), load(a_ + k));
            const Vec change = (1 / apart_) * (load(a_ + k) - load(a_n + k));
            const double scale = per_weight[k] * per_weight[k];
            sum += scale * (2 * dot(change, miss) + dot(miss, miss));
        }
        return sum;
    }

    // How large a corrector error may stay. [Negrut05] wants a fraction c of the local error and puts the tolerance in
    // its place (eq. 39), because the step size control keeps them equal. Where something else keeps the step short
    // (fixed steps, communication points) that would let the corrector's error, which enters the velocity divided by h,
    // outgrow the local error by far: here it is a fraction of the smaller of both (T5.8).
    double allowed(double step_error) const {
        return std::max(m_.corrector.stop_ratio * std::min(1.0, step_error), rounding());
    }
    // A correction of this size is rounding of q, whatever the convergence.
    double rounding() const { return std::numeric_limits<double>::epsilon() / tolerance_; }

    // [Negrut05] eqs. 25 and 34: local error of the positions over the tolerance, for a change of acceleration of norm
    // 1
    double scale(double h, int count) const {
        return m_.constant * h * h / (tolerance_ * std::sqrt(std::max(1, count)));
    }

    // |Phi| after the last correction; rule (45) alone would leave it at a fraction of the tolerance.
    bool closed(Instance& i, StepResult& result, Statistics& count) {
        if (s_.nc == 0) return true;
        ++count.constraint_checks;
        s_.constraints(trial_, i.work, phi_.data());
        const Violation worst = i.worst(phi_.data());
        result.violation = worst.scaled;
        result.worst_row = worst.row;
        const double of_step = m_.corrector.stop_ratio * result.error * tolerance_;  // as in (T5.8)
        if (worst.scaled <= std::min(m_.corrector.constraint_tolerance, of_step)) return true;
        double largest = 0;
        for (double x : q_) largest = std::max(largest, std::fabs(x));
        double rounded = std::max(1.0, largest / i.length());
        for (double x : i.state.turns) rounded = std::max(rounded, std::fabs(x));  // of angles after many turns
        return worst.scaled <= 64 * std::numeric_limits<double>::epsilon() * rounded;
    }

    // Whether a correction is what rounding leaves. That of q reaches a with 1/(beta h^2), and states that follow
    // accelerations or reactions with 1/h: they may be a fraction c of the tolerance where q changes no more.
    bool noise(const Sizes& now) const {
        const double small = 16000 * rounding();
        return now.places <= small && now.correction <= std::max(small, m_.corrector.stop_ratio);
    }

    // How one group of unknowns converges within a step.
    struct Convergence {
        double size = 0;  // of the last correction
        bool reached = false;
    };
    enum class Verdict { reached, goes_on, wants_matrix, diverges };

    // Eqs. 45 and 46; `fresh` counts the iterations with a matrix of this step, 0 for an older one.
    Verdict judge(Convergence& group, const Sizes& now, int iteration, int fresh) const {
        const double enough = allowed(now.step), size = now.correction, before = group.size;
        group.size = size;
        if (iteration == 1) {
            group.reached = size <= enough;
            return group.reached ? Verdict::reached : Verdict::goes_on;
        }
        const double rate = size / before;                                                       // eq. 43
        group.reached = size <= rounding() || (rate < 1 && rate / (1 - rate) * size <= enough);  // eq. 45
        if (fresh > 0 && rate > 0.5 && noise(now)) group.reached = true;                         // no better
        if (group.reached) return Verdict::reached;
        if (rate >= 1 && fresh > 2) return Verdict::diverges;
        return rate > 0.5 && fresh == 0 ? Verdict::wants_matrix : Verdict::goes_on;
    }

    StepResult correct(Instance& i, double h, bool damped, Statistics& count) {
        State& st = i.state;
        StepResult result;
        const double kept = counter(st, FACTOR_H);
        bool derive = kept == 0 || h < 0.5 * kept || h > 2 * kept || counter(st, EXCESS) >= s_.refactor_cost();
        Convergence convergence[most_groups];
        bool converged = false, balanced = false;
        double open = 0;
        int derived_at = 0;
        trial_ = i.point(st.t + h, q_.data(), v_.data(), qdd_.data(), lambda_, x_.data(), xdot_, y_);
        damping_.start();
        const int limit = damped ? Damping::most_iterations : static_cast<int>(m_.corrector.max_iterations);
        for (int k = 1; k <= limit; ++k) {
            if (damped) damping_.leave(iterate());
            place(st, h);
            if (derive) derived_at = k;
            if (!evaluate(i, h, k == 1, derive, count)) return result.status = Status::singular, result;
            derive = st.factor.pivoting;
            const bool may_hide = derived_at == 0 && counter(st, HELD) != 0;
            if (may_hide) imbalance_.keep(r_.data());
            Sizes sizes[most_groups];
            improve(i, h, sizes);
            if (stabilised_) close_velocities(i, h);
            result.iterations = k;
            result.error = sizes[0].step;  // eqs. 25, 34 and 35
            ++count.iterations;
            if (damped && !converged) {
                if (!damping_.descends(sizes[0].correction, derived_at == k)) {
                    if (!go_back()) return result.status = Status::diverged, result;
                    continue;
                }
                derive = derive || (derived_at != k && sizes[0].correction > Damping::slow * convergence[0].size);
                damping_.take(iterate(), sizes[0].correction);
            }
            for (int g = 0; g < groups(); ++g)
                if (!std::isfinite(sizes[g].correction)) return result.status = Status::not_finite, result;
            if (converged) {
                ++count.extra_iterations;  // only for the sake of Phi
            } else {
                converged = true;
                for (int g = 0; g < groups(); ++g) {
                    if (convergence[g].reached) continue;
                    const Verdict verdict = judge(convergence[g], sizes[g], k, derived_at > 0 ? k - derived_at + 1 : 0);
                    if (verdict == Verdict::diverges && !damped) return result.status = Status::diverged, result;
                    derive = derive || verdict == Verdict::wants_matrix;
                    converged = converged && convergence[g].reached;
                }
            }
            if (converged && !settled()) {
                derive = derive || k > 1;
                continue;
            }
            if (!converged) continue;
            place(st, h);
            if (!balanced && may_hide && left_open(i, h, result.error, count)) {
                derived_at = k + 1, converged = false;
                for (Convergence& group : convergence) group = {};
                continue;
            }
            balanced = true;
            if (closed(i, result, count)) {
                return keep_count(st, k, derived_at), result;
            }
            derive = derive || (open > 0 && result.violation > 0.1 * open);  // closing too slowly
            open = result.violation;
        }
        result.status = converged ? Status::constraint : Status::slow;
        return result;
    }

    // Whether an old matrix has hidden corrections that add up to a part of the step's error; then there is a new one.
    // Else all is as it was.
    bool left_open(Instance& i, double h, double error, Statistics& count) {
        const double* per_weight = i.state.memory.data() + layout_.per_weight;
        const auto norm = [&](const std::vector<double>& a) {
            double sum = 0;
            for (int k = 0; k < s_.nv; ++k) sum += square(a[k] * per_weight[k]);
            return scale(h, s_.nv) * std::sqrt(sum);
        };
        const double limit = Imbalance::part * std::max(m_.corrector.stop_ratio, error);
        double before = counter(i.state, HIDDEN);
        const auto small = [&](double size) {
            if (before + size <= limit) counter(i.state, HIDDEN) = before + size;
            return before + size <= limit;
        };
        const double size = imbalance_.size(i, held(i.state), norm);
        if (small(size)) return false;
        evaluate(i, h, false, false, count);
        const double left = imbalance_.left(i, r_.data(), norm);
        before *= std::min(1.0, left / size);  // as much less than thought
        if (small(left)) return false;
        const double kept = counter(i.state, FACTOR_H);
        old_factor_ = i.state.factor;
        old_held_.assign(held(i.state), held(i.state) + s_.nv);
        iterate();
        Sizes hidden[most_groups] = {};
        if (evaluate(i, h, false, true, count)) improve(i, h, hidden);
        take_iterate();
        place(i.state, h);
        if (!small(hidden[0].correction)) return true;
        std::swap(i.state.factor, old_factor_);
        counter(i.state, FACTOR_H) = kept, counter(i.state, HELD) = 1;
        std::copy(old_held_.begin(), old_held_.end(), held(i.state));
        return false;
    }

    // All that iterations change, in one vector.
    const std::vector<double>& iterate() {
        std::copy(e_.begin(), e_.end(), std::copy(z_.begin(), z_.end(), iterate_.begin()));
        return iterate_;
    }
    bool go_back() {
        if (!damping_.halve(iterate_)) return false;
        take_iterate();
        return true;
    }
    void take_iterate() {
        std::copy_n(iterate_.begin(), z_.size(), z_.begin());
        std::copy(iterate_.begin() + static_cast<std::ptrdiff_t>(z_.size()), iterate_.end(), e_.begin());
    }

    // Whether the last correction left variables where they are. Those that move nothing count in no error: with one
    // iteration in every step they would run away from their equations, as the predictor takes their errors along.
    bool settled() const {
        constexpr double small = 1e-3;  // of the value
        const double* d = r_.data() + (y_ - z_.data());
        for (int k = 0; k < s_.ny; ++k)
            if (!(std::fabs(d[k]) <= small * std::max(1.0, std::fabs(y_[k])))) return false;
        return true;
    }

    // Two bodies that turn against each other by less than half a turn leave no doubt of the turns between them, and
    // T(theta) is regular up to a full turn.
    double largest_turn() const {
        constexpr double longest = 1.5;  // rad
        double square = 0;
        for (int b = 0; b < s_.spatial_bodies(); ++b) {
            const Vec theta = load(&q_[6 * b + 3]);
            square = std::max(square, dot(theta, theta));
        }
        return std::sqrt(square) / longest;
    }

    // Finds what a failed step fails at: a row that is not a number, else the coordinate that moved most.
    void blame(Instance& i, StepResult& result) const {
        const State& st = i.state;
        const auto odd = std::find_if(r_.begin(), r_.end(), [](double x) { return !std::isfinite(x); });
        if (result.status == Status::singular && odd != r_.end()) {
            result.status = Status::not_finite;
            result.worst_unknown = static_cast<int>(odd - r_.begin());
        }
        if (result.status == Status::not_finite) result.culprit = s_.not_finite(trial_, i.work);
        if (result.worst_unknown >= 0) return;
        const bool converged = result.status == Status::done;  // then r_ holds the last correction, which says nothing
        double largest = -1;
        for (int k = 0; k < s_.nv; ++k) {
            const double change = converged ? a_[k] - st.a[k] : r_[k];
            const double d = std::fabs(change * st.memory[layout_.per_weight + k]);
            if (!(d <= largest)) largest = d, result.worst_unknown = k;
            if (!std::isfinite(d)) break;
        }
    }

    // A new factorisation pays once the iterations lost to the old one have cost as much.
    void keep_count(State& st, int iterations, int derived_at) const {
        if (derived_at > 0) {
            const bool first = slot(st, 0)[0] == 0;  // which is predicted worst
            counter(st, FRESH_ITERATIONS) = first ? 1 : iterations - derived_at + 1;
            counter(st, EXCESS) = 0;
        } else {
            counter(st, EXCESS) += std::max(0.0, iterations - counter(st, FRESH_ITERATIONS));
        }
    }

    // ---- local error of X over the tolerance, such that the cube root rules the step size

    double state_error(State& st, double h) const {
        if (s_.nx == 0) return 0;
        if (by_paper()) return std::pow(paper_error(st, h), 1.5);  // eq. 38b has a square root
        const double *n = slot(st, 0) + 1 + s_.nv + s_.nc, *m = slot(st, 1) + 1 + s_.nv + s_.nc;
        const double *per_weight = st.memory.data() + layout_.per_weight, last = slot(st, 0)[0];
        const bool first = counter(st, POINTS) < 2;
        const double shift = m_.shift(), alpha_m = m_.alpha_m, excess = m_.excess * h;       // of first order
        const double steady = (1.0 / 12 - shift / 2 - shift * shift + shift * alpha_m) * h;  // (T15.6)
        double sum = 0;
        for (int k = 0; k < s_.nx; ++k) {
            const double change = xdot_[k] - n[k];
            // h^2 Xddd; in a first step, where nothing is known of it, what h Xdd is
            const double curved = first ? change : 2 * h * h * (change / h - (n[k] - m[k]) / last) / (h + last);
            const double error = steady * curved + excess * change;
            sum += std::pow(error * per_weight[s_.nv + k], 2);
        }
        return std::sqrt(sum / s_.nx) / tolerance_;
    }

    // eqs. 33 and 34
    double paper_error(const State& st, double h) const {
        const double* per_weight = st.memory.data() + layout_.per_weight;
        double sum = 0;
        for (int k = 0; k < s_.nx; ++k) sum += std::pow((xdot_[k] - st.xdot[k]) * per_weight[s_.nv + k], 2);
        return (m_.rho - 0.5) * h * std::sqrt(sum / s_.nx) / tolerance_;
    }

    // printed eq. 11a: -alpha/(1+alpha) (G^T lambda - Q)_n
    void keep_force_balance(Instance& i) {
        State& st = i.state;
        s_.residual(i.point(st.t, st.q.data(), st.v.data(), zero_.data(), st.lambda.data(), st.x.data(), st.xdot.data(),
                            st.y.data()),
                    i.work, r_.data());
        for (int k = 0; k < s_.nv; ++k) st.memory[layout_.balance + k] = alpha_f_ / (1 - alpha_f_) * r_[k];
    }
};

}  // namespace mbd
