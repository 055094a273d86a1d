// Schemes that integrate the accelerations of the index-1 system: an integration formula, and a treatment that keeps
// the constraints (docs/theory.md, chapter 12).
//
// The vector y of the formula holds q, v and X. Orientations are quaternions, e' = e o (0, omega)/2, normalised
// wherever steps end; what HHT knows as the rotation theta of a step stays zero. So the history of a
// formula is one of global coordinates.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "../integrators/formula.hpp"
#include "treatments.hpp"

namespace mbd {

class Explicit final : public Scheme, private Ode {
public:
    Explicit(const System& system, std::unique_ptr<Formula> formula, std::unique_ptr<Treatment> treatment)
        : s_(system),
          formula_(std::move(formula)),
          treatment_(std::move(treatment)),
          index1_(system),
          y_(size(system)),
          phi_(system.nc),
          led_(2 * system.nv) {}

    static int size(const System& s) { return s.nq() + s.nv + s.nx; }

    int error_order() const override { return error_order_; }
    double least_growth() const override { return control_.least_growth; }
    double greatest_growth(const State&) const override { return control_.greatest_growth; }
    double least_cut() const override { return control_.least_cut; }
    double safety() const override { return control_.safety; }
    double first_step(double tolerance) const override { return 0.1 * std::pow(tolerance, 1.0 / error_order_); }
    double next_error(double error) const override { return formula_->next_error(error); }
    std::size_t memory_size() const override { return end_at() + (continuous() ? end_size() : 0); }

    void start(Instance& i) override {
        State& st = i.state;
        st.memory.assign(memory_size(), 0.0);
        for (int k = 0; k < s_.nv; ++k) st.memory[k] = std::max(i.unit(k), std::fabs(st.q[k]));
        for (int k = 0; k < s_.nx; ++k) st.memory[s_.nv + k] = std::max(s_.nominal[k], std::fabs(st.x[k]));
        observe(i);
        std::vector<double> slope(y_.size());
        enter(i);
        gather(st);
        const Motion here = motion(st.t, y_.data());
        treatment_->start(i, index1_, here, usual_step(st), st.memory.data() + weights());
        if (!Explicit::slope(st.t, y_.data(), slope.data())) refuse(i);
        formula_->start(slope.data(), st.memory.data() + history());
        look_ahead(st);
    }

    // The first slope is evaluated anew. In fixed steps nothing estimates what a history that moves along misses.
    bool move_along(Instance& i, const Jump&) override {
        State& st = i.state;
        std::vector<double> slope(y_.size());
        double *treated = st.memory.data() + weights(), *known = st.memory.data() + history();
        enter(i);
        gather(st);
        const Motion here = motion(st.t, y_.data());
        if (treatment_->begin(i, index1_, here, usual_step(st), treated) != Status::done) return false;
        if (!Explicit::slope(st.t, y_.data(), slope.data())) return false;
        st.a = index1_.a, st.lambda = index1_.lambda, st.xdot = index1_.xdot, st.y = index1_.y;
        if (fixed_steps)
            formula_->start(slope.data(), known);
        else
            formula_->move_along(slope.data(), known);
        observe(i);
        look_ahead(st);
        return true;
    }

    void check(const State& st) const override {
        treatment_->check(st, st.memory.data() + weights());
        if (!formula_->admits(st.memory.data() + history())) foreign_memory();
    }
    void resume(const State& st) override { look_ahead(st); }

    bool leaves_gaps() const override { return treatment_->leaves_gaps(); }
    bool drifts() const override { return treatment_->drifts(); }

    StepResult step(Instance& i, double h, Statistics& count) override {
        enter(i);
        tried_ = false;
        count_ = &count;
        gather(i.state);
        const double* memory = i.state.memory.data() + history();
        result_ = StepResult{};
        const Motion here = motion(i.state.t, y_.data());
        if (!stands(treatment_->begin(i, index1_, here, h, i.state.memory.data() + weights()), here)) return result_;
        look_ahead(i.state);
        h_ = h;
        tried_ = true;
        pace_ = pace_within(i, pace_, h, i.state.a.data());
        if (pace_ > slowest / h) most_ = quickened * pace_;
        wild_ = 0;
        if (!formula_->step(*this, i.state.t, h, y_.data(), memory)) {
            if (result_.status == Status::not_finite) find_culprit(i);
            return result_;
        }
        result_.error = std::max(norm(formula_->error.data()), std::pow(wild_, error_order_));
        if (!std::isfinite(result_.error)) result_.status = Status::not_finite;
        if (formula_->starting(memory)) result_.error = std::max(result_.error, steady);
        if (result_.error > 1) result_.worst_unknown = worst_component();
        result_.turn = s_.turns > 0 ? largest_turn() : 0;
        examine(motion(i.state.t + h, formula_->end.data()));
        return result_;
    }

    void accept(Instance& i) override {
        State& st = i.state;
        formula_->accept(h_, st.memory.data() + history());
        treatment_->accept(st.memory.data() + weights(), *count_);
        st.t += h_;
        scatter(formula_->end.data(), st);
        st.order = order_;
        st.a = index1_.a, st.lambda = index1_.lambda, st.xdot = index1_.xdot, st.y = index1_.y;
        observe(i);
        look_ahead(st);
    }

    void reject(Instance& i) override {
        if (tried_) formula_->reject(i.state.memory.data() + history());
        look_ahead(i.state);
    }

    Gaps::End end() const override {
        const double* q = formula_->end.data();
        return {q, q + s_.nq(), q + s_.nq() + s_.nv};
    }

    // ---- the state within a step
    bool continuous() const override { return formula_->continuous(); }

    bool keep(Instance& i, Statistics& count) override {
        double* to = i.state.memory.data() + end_at();
        *to++ = i.state.t, *to++ = h_;
        for (const auto* part : {&formula_->end, &index1_.a, &index1_.lambda, &index1_.xdot, &index1_.y})
            to = std::copy(part->begin(), part->end(), to);
        count_ = &count;
        const bool known = formula_->prepare(*this, i.state.t, h_, y_.data(), to);
        const double* from = i.state.memory.data() + end_at() + 2 + y_.size();
        for (auto* part : {&index1_.a, &index1_.lambda, &index1_.xdot, &index1_.y}) from = take(*part, from);
        return known;
    }
    void show(Instance& i, double t) override {
        State& st = i.state;
        const double *from = st.memory.data() + end_at(), begin = from[0], h = from[1], *end = from + 2;
        const double* dense = from + 2 + y_.size() + s_.n();
        formula_->show((t - begin) / h, h, end, st.memory.data() + history(), dense, y_.data());
        enter(i);
        const Motion m = motion(t, y_.data());
        normalise(s_, m.q);
        treatment_->show(i, index1_, m, h, st.memory.data() + weights());
        scatter(y_.data(), st);
    }
    void go_on(Instance& i) override {
        State& st = i.state;
        const double* from = scatter(st.memory.data() + end_at() + 2, st);
        for (auto* part : {&st.a, &st.lambda, &st.xdot, &st.y}) from = take(*part, from);
    }

private:
    static constexpr double steady = 0.5;   // an error at which the step size stays as it is
    static constexpr double quickened = 4;  // by a step that is not accepted yet, the pace counts as no more

    const System& s_;
    std::unique_ptr<Formula> formula_;
    std::unique_ptr<Treatment> treatment_;
    Index1 index1_;
    std::vector<double> y_, phi_;
    mutable std::vector<double> led_;
    double h_ = 0, pace_ = 0, most_ = 0, wild_ = 0;
    bool tried_ = false;  // the formula itself, by the last step
    int error_order_ = 1;
    Formula::Control control_;
    Instance* instance_ = nullptr;  // during a step
    Statistics* count_ = nullptr;
    StepResult result_;
    Order order_ = Order::eager;

    // ---- memory: largest |q| and |X| so far, the pace of the motion; then the treatment's, then the
    // formula's; then, for the state
    // within a step, when that began, its size, y, a, lambda, Xdot, Y at its end, and what the formula knows of it
    std::size_t weights() const { return s_.nv + s_.nx + 1; }
    std::size_t history() const { return weights() + treatment_->memory_size(s_); }
    std::size_t end_at() const { return history() + formula_->memory_size(); }
    std::size_t end_size() const { return 2 + y_.size() + s_.n() + formula_->dense_size(); }

    void look_ahead(const State& st) {
        const double* memory = st.memory.data() + history();
        error_order_ = formula_->error_order(memory);
        control_ = formula_->control(memory);
    }

    // The last step, or the one that error control begins with.
    double usual_step(const State& st) const {
        const double last = std::max(st.h, st.last_step);
        if (last > 0 || fixed_steps || !(pace_ > 0)) return last;
        const int order = std::max(3, formula_->error_order(st.memory.data() + history()));
        return 0.1 * std::pow(tolerance_, 1.0 / order) / pace_;
    }

    // Running maxima ([Negrut05] eq. 34), and the pace 1/s at which units of length and angle are travelled (T12.2).
    void observe(Instance& i) {
        State& st = i.state;
        for (int k = 0; k < s_.nv; ++k) st.memory[k] = std::max(st.memory[k], std::fabs(st.q[k]));
        for (int k = 0; k < s_.nx; ++k) st.memory[s_.nv + k] = std::max(st.memory[s_.nv + k], std::fabs(st.x[k]));
        st.memory[s_.nv + s_.nx] = pace_ = pace(i, st.memory[s_.nv + s_.nx], st.v.data());
    }

    void enter(Instance& i) {
        instance_ = &i;
        order_ = i.state.order;
        pace_ = i.state.memory[s_.nv + s_.nx];
        most_ = std::numeric_limits<double>::infinity();
        index1_.a = i.state.a, index1_.lambda = i.state.lambda, index1_.xdot = i.state.xdot, index1_.y = i.state.y;
    }
    void gather(const State& st) {
        auto to = std::copy(st.q.begin(), st.q.end(), y_.begin());
        to = std::copy(st.v.begin(), st.v.end(), to);
        std::copy(st.x.begin(), st.x.end(), to);
    }
    static const double* scatter(const double* y, State& st) {
        y = take(st.q, y), y = take(st.v, y);
        return take(st.x, y);
    }
    static const double* take(std::vector<double>& to, const double* from) {
        std::copy_n(from, to.size(), to.begin());
        return from + to.size();
    }
    Motion motion(double t, double* y) const { return {t, y, y + s_.nq(), y + s_.nq() + s_.nv}; }

    // ---- the equations, as the formula sees them
    bool slope(double t, double* y, double* f) override {
        const Motion m = motion(t, y);
        return stands(treatment_->place(*instance_, index1_, m), m) && accelerations(m, f);
    }
    bool arrive(double t, double* y, double* f) override {
        const Motion m = motion(t, y);
        normalise(s_, m.q);
        return stands(treatment_->arrive(*instance_, index1_, m), m) && accelerations(m, f);
    }
    bool stands(Status status, const Motion& m) {
        result_.status = status;
        if (status == Status::constraint) examine(m);  // which joint it is
        return status == Status::done;
    }
    bool accelerations(const Motion& m, double* f) {
        Instance& i = *instance_;
        index1_.look(i, m.place());
        treatment_->stabilise(i, index1_, m);
        if (count_ != nullptr) ++count_->residuals;
        const Index1::Outcome outcome = index1_.solve(i, m.place(), order_);
        if (outcome != Index1::Outcome::done) return failed(outcome);
        const double found = pace_within(i, pace(i, pace_, m.v), h_, index1_.a.data());
        wild_ = std::max(wild_, found / most_);
        pace_ = std::min(found, most_);  // from rest, only the step itself shows it
        rates(m, f);
        return true;
    }
    bool failed(Index1::Outcome outcome) {
        result_.status = outcome == Index1::Outcome::singular     ? Status::singular
                         : outcome == Index1::Outcome::not_finite ? Status::not_finite
                                                                  : Status::slow;
        const auto& r = index1_.rows;
        const auto odd = std::find_if(r.begin(), r.end(), [](double x) { return !std::isfinite(x); });
        if (odd != r.end())
            result_.status = Status::not_finite, result_.worst_unknown = static_cast<int>(odd - r.begin());
        if (index1_.odd_unknown >= 0) result_.worst_unknown = index1_.odd_unknown;
        return false;
    }
    void rates(const Motion& m, double* f) const {
        double* end = std::copy_n(m.v, s_.nv, f);
        for (int b = 0; b < s_.spatial_bodies(); ++b, end += 4) {
            std::fill_n(f + 6 * b + 3, 3, 0.0);
            turning(m.q + s_.nv + 4 * b, load(m.v + 6 * b + 3), end);
        }
        end = std::copy(index1_.a.begin(), index1_.a.end(), end);
        std::copy(index1_.xdot.begin(), index1_.xdot.end(), end);
    }

    // ---- errors
    // Root mean square over positions (orientations as angles), over velocities, over states; the largest counts.
    double tolerance() const override { return tolerance_; }
    // Where dependent coordinates follow from others, an error across the joints is not made, but that along them may
    // be larger than the formula says: it is that of the others, magnified by H. The larger of both counts (T12.8,
    // T14.8).
    double norm(const double* error) const override {
        const Instance& i = *instance_;
        double places = 0, states = 0;
        for (int k = s_.nv; k < s_.nq(); ++k) places += 4 * error[k] * error[k];
        double motion = std::max(places + sum_of_places(error), sum_of_speeds(error + s_.nq()));
        if (treatment_->leads()) {
            lead(error);
            motion = std::max({motion, sum_of_places(led_.data()), sum_of_speeds(&led_[s_.nv])});
        }
        const double *x = error + s_.nq() + s_.nv, *weight = i.state.memory.data() + s_.nv;
        for (int k = 0; k < s_.nx; ++k) states += std::pow(x[k] / weight[k], 2);
        return std::max(std::sqrt(motion / std::max(1, s_.nv)), std::sqrt(states / std::max(1, s_.nx))) / tolerance_;
    }
    double sum_of_places(const double* error) const {
        const double* weight = instance_->state.memory.data();
        double sum = 0;
        for (int k = 0; k < s_.nv; ++k) sum += std::pow(error[k] / weight[k], 2);
        return sum;
    }
    double sum_of_speeds(const double* error) const {
        const double pace = std::max(pace_, slowest / h_);
        double sum = 0;
        for (int k = 0; k < s_.nv; ++k) sum += std::pow(error[k] / (instance_->unit(k) * pace), 2);
        return sum;
    }
    // led_ := the error of positions, with turns of spatial bodies, and of velocities, dependent ones as others lead.
    void lead(const double* error) const {
        std::copy_n(error, s_.nv, led_.begin());
        std::copy_n(error + s_.nq(), s_.nv, led_.begin() + s_.nv);
        for (int b = 0; b < s_.spatial_bodies(); ++b) {
            const int at = s_.nv + 4 * b;
            const double *e = &formula_->end[at], *d = error + at;
            const Vec u = load(e + 1), du = load(d + 1);
            const Vec turn = 2 * (e[0] * du - d[0] * u - cross(u, du));
            led_[6 * b + 3] = turn.x, led_[6 * b + 4] = turn.y, led_[6 * b + 5] = turn.z;
        }
        treatment_->take_along(*instance_, led_.data(), &led_[s_.nv]);
    }
    int worst_component() const {
        const Instance& i = *instance_;
        const double *error = formula_->error.data() + s_.nq(), *x = error + s_.nv;
        const double pace = std::max(pace_, slowest / h_);
        int worst = -1;
        double largest = -1;
        const auto see = [&](int unknown, double size) {
            if (!(size <= largest)) largest = size, worst = unknown;
        };
        for (int k = 0; k < s_.nv; ++k) see(k, std::fabs(error[k]) / (i.unit(k) * pace));
        for (int k = 0; k < s_.nx; ++k) see(s_.nv + s_.nc + k, std::fabs(x[k]) / i.state.memory[s_.nv + k]);
        return worst;
    }
    // How far the joints are open at the end; direct integration leaves them so, up to what is a mechanism.
    void examine(const Motion& m) {
        if (s_.nc == 0) return;
        s_.constraints(point(m), instance_->work, phi_.data());
        const Violation worst = instance_->worst(phi_.data());
        result_.violation = worst.scaled, result_.worst_row = worst.row;
        if (!(worst.scaled <= widest_gap) && result_.status == Status::done) result_.status = Status::constraint;
    }
    Point point(const Motion& m) {
        return instance_->point(m.t, m.q, m.v, index1_.a.data(), index1_.lambda.data(), m.x, index1_.xdot.data(),
                                index1_.y.data());
    }
    void find_culprit(Instance& i) {
        result_.culprit = s_.not_finite(point(motion(i.state.t + h_, formula_->end.data())), i.work);
    }
    [[noreturn]] void refuse(Instance& i) {
        throw StepFailed("the equations of motion have no value at t = " + number(i.state.t) + " s");
    }
    // Two bodies that turn against each other by less than half a turn leave no doubt of the turns between them.
    double largest_turn() const {
        constexpr double longest = 1.5;  // rad
        double least = 1;
        for (int b = 0; b < s_.spatial_bodies(); ++b) {
            const double *e = &y_[s_.nv + 4 * b], *g = &formula_->end[s_.nv + 4 * b];
            least = std::min(least, std::fabs(e[0] * g[0] + e[1] * g[1] + e[2] * g[2] + e[3] * g[3]));
        }
        return 2 * std::acos(std::min(1.0, least)) / longest;
    }
};

}  // namespace mbd
