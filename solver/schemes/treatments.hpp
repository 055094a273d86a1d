// How schemes that integrate accelerations keep positions and velocities on the constraints (docs/theory.md, T12.6 on).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "../partition.hpp"
#include "scheme.hpp"

namespace mbd {

// Where an integration formula is: the parts of its vector, which a treatment may move.
struct Motion {
    double t;
    double *q, *v, *x;
    Index1::Place place() const { return {t, q, v, x}; }
};

inline void normalise(const System& system, double* q) {
    for (int b = 0; b < system.spatial_bodies(); ++b) {
        double* e = q + system.nv + 4 * b;
        const double scale = 1 / std::sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
        for (int k = 0; k < 4; ++k) e[k] *= scale;
    }
}

class Treatment {
public:
    virtual ~Treatment() = default;
    virtual bool leaves_gaps() const { return true; }
    virtual bool drifts() const { return true; }
    // Numbers in the scheme's memory; start() fills them.
    virtual std::size_t memory_size(const System&) const { return 0; }
    // `usual_step`: what steps are expected to be at least; 0 where nothing is known of it.
    virtual void start(Instance&, Index1&, const Motion&, double /*usual_step*/, double* /*memory*/) {}
    // Throws ModelError where numbers from outside cannot be such a memory.
    virtual void check(const State&, const double* /*memory*/) const {}
    // Before a step of size h from a motion, which stays as it is.
    virtual Status begin(Instance&, Index1&, const Motion&, double /*h*/, const double* /*memory*/) {
        return Status::done;
    }
    // Before accelerations are asked for, within a step and at its end. Status::done where that succeeded.
    virtual Status place(Instance&, Index1&, const Motion&) { return Status::done; }
    virtual Status arrive(Instance& i, Index1& solver, const Motion& m) { return place(i, solver, m); }
    // Where the state is shown between the ends of a step; nothing is known of a factorisation.
    // At a singular pose interpolated positions stay as they are, open by less than the tolerance.
    virtual void show(Instance& i, Index1& solver, const Motion& m, double h, const double* memory) {
        if (begin(i, solver, m, h, memory) == Status::done) place(i, solver, m);
    }
    // Whether dependent coordinates end where the others lead: then an error of the formula is one of the others.
    virtual bool leads() const { return false; }
    // Changes the dependent parts of an error of positions and of one of velocities (nv numbers each) to what follows
    // from their independent parts; G is that of the last evaluation.
    virtual void take_along(const Instance&, double* /*positions*/, double* /*velocities*/) {}
    // What is added to gamma, which Index1::look() has filled.
    virtual void stabilise(Instance&, Index1&, const Motion&) {}
    // The step has been taken.
    virtual void accept(double* /*memory*/, Statistics&) {}
};

// Baumgarte: G a = gamma - 2 alpha (G v + Phi_t) - beta^2 Phi (T12.6).
class Baumgarte : public Treatment {
public:
    // `limit`: where it is positive, alpha = beta = limit/h in place of the gains, h the largest step so far. Gains of
    // the step tried would grow as a step is cut, and what they make of a gap would be as large in a step of any size.
    Baumgarte(const System& system, double alpha, double beta, double limit)
        : given_alpha_(alpha), given_beta_(beta), limit_(limit), phi_(system.nc) {}

    bool drifts() const override { return false; }
    std::size_t memory_size(const System&) const override { return limit_ > 0 ? 1 : 0; }
    void start(Instance&, Index1&, const Motion&, double usual_step, double* memory) override {
        if (limit_ > 0) memory[0] = usual_step;
        choose(limit_ > 0 ? usual_step : 0);
    }
    Status begin(Instance&, Index1&, const Motion&, double h, const double* memory) override {
        tried_ = h;
        choose(limit_ > 0 ? std::max(h, memory[0]) : 0);
        return Status::done;
    }
    void accept(double* memory, Statistics&) override {
        if (limit_ > 0) memory[0] = std::max(memory[0], tried_);
    }
    void stabilise(Instance& i, Index1& solver, const Motion& m) override {
        const System& s = i.system;
        s.constraints(
            i.point(m.t, m.q, m.v, solver.a.data(), solver.lambda.data(), m.x, solver.xdot.data(), solver.y.data()),
            i.work, phi_.data());
        for (int k = 0; k < s.nc; ++k) {
            if (s.level[k] == 0) solver.gamma[k] -= 2 * alpha_ * solver.velocity[k] + beta_ * beta_ * phi_[k];
            if (s.level[k] == 1) solver.gamma[k] -= alpha_ * solver.velocity[k];
        }
    }

private:
    const double given_alpha_, given_beta_, limit_;
    double alpha_ = 0, beta_ = 0, tried_ = 0;
    std::vector<double> phi_;

    void choose(double step) {
        alpha_ = step > 0 ? limit_ / step : given_alpha_;
        beta_ = step > 0 ? alpha_ : given_beta_;
    }
};

// Newton's iteration for positions on Phi = 0 and velocities on G v = -Phi_t; who derives from it says what moves.
class Correction : public Treatment {
public:
    explicit Correction(const System& system) : phi_(system.nc) {}

    bool leaves_gaps() const override { return false; }
    bool drifts() const override { return false; }

protected:
    // A motion d with G d = -rows, by a matrix that may be that of a place nearby; `positions`: else of velocities.
    virtual const double* motion(Instance& i, Index1& solver, const double* rows, bool positions) = 0;
    // The matrix of this place; false where it is singular.
    virtual bool refresh(Instance& i, Index1& solver, const Motion& m) = 0;

    Status correct(Instance& i, Index1& solver, const Motion& m) {
        fresh_ = false;
        normalise(i.system, m.q);
        const Status closed = close(i, solver, m);
        return closed == Status::done ? match(i, solver, m) : closed;
    }
    // How far the joints are open, scaled.
    double open(Instance& i, Index1& solver, const Motion& m) {
        i.system.constraints(
            i.point(m.t, m.q, m.v, solver.a.data(), solver.lambda.data(), m.x, solver.xdot.data(), solver.y.data()),
            i.work, phi_.data());
        return i.worst(phi_.data()).scaled;
    }

private:
    static constexpr int most_iterations = 12;
    static constexpr double accepted = 1e-9;  // scaled, where rounding lets nothing come nearer
    std::vector<double> phi_;
    bool fresh_ = false;

    // Whether an iteration that has come from `before` to `now` is to go on; with a new matrix where it is slow.
    Status goes_on(Instance& i, Index1& solver, const Motion& m, double before, double now) {
        if (!std::isfinite(now)) return Status::not_finite;
        if (now > 0.1 * before && !fresh_) {
            fresh_ = true;
            if (!refresh(i, solver, m)) return Status::singular;
        }
        return Status::done;
    }

    Status close(Instance& i, Index1& solver, const Motion& m) {
        const System& s = i.system;
        double before = std::numeric_limits<double>::infinity();
        for (int k = 0; k < most_iterations; ++k) {
            const double gap = open(i, solver, m);
            if (gap <= i.rounding_of_gaps(m.q)) return Status::done;
            if (k > 2 && gap >= before && gap <= accepted) return Status::done;
            for (int r = 0; r < s.nc; ++r)
                if (s.level[r] != 0) phi_[r] = 0;
            if (const Status status = goes_on(i, solver, m, before, gap); status != Status::done) return status;
            before = gap;
            const double* d = motion(i, solver, phi_.data(), true);
            for (int c = 0; c < s.nv; ++c) m.q[c] += d[c];
            s.settle(m.q);
        }
        return Status::constraint;
    }

    // Rates are none beside the speed before: where nothing is left to move, that after is their rounding.
    Status match(Instance& i, Index1& solver, const Motion& m) {
        const System& s = i.system;
        double before = std::numeric_limits<double>::infinity();
        // What is smaller than this loses its digits when it is multiplied by rounding.
        double speed = std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
        for (int k = 0; k < most_iterations; ++k) {
            solver.look(i, m.place());
            for (int c = 0; c < s.nv; ++c) speed = std::max(speed, std::fabs(m.v[c]) / i.unit(c));
            for (int k : i.state.dropped) solver.velocity[k - s.nv] = 0;  // no motion of those kept changes them
            const double off = i.worst(solver.velocity.data()).scaled;
            if (off <= 16 * std::numeric_limits<double>::epsilon() * speed) return Status::done;
            if (k > 2 && off >= before && off <= accepted * speed) return Status::done;
            if (const Status status = goes_on(i, solver, m, before, off); status != Status::done) return status;
            before = off;
            const double* d = motion(i, solver, solver.velocity.data(), false);
            for (int c = 0; c < s.nv; ++c) m.v[c] += d[c];
        }
        return Status::constraint;
    }
};

// The least motion in the metric of the mass, at the end of every step (T12.7).
class Projection final : public Correction {
public:
    using Correction::Correction;

    Status arrive(Instance& i, Index1& solver, const Motion& m) override {
        if (i.system.nc == 0) return Status::done;
        order_ = i.state.order;
        if (!solver.projects() && !refresh(i, solver, m)) return Status::singular;
        return correct(i, solver, m);
    }
    void show(Instance& i, Index1& solver, const Motion& m, double, const double*) override {
        if (i.system.nc == 0) return;
        order_ = i.state.order;
        if (refresh(i, solver, m)) correct(i, solver, m);
    }

protected:
    const double* motion(Instance& i, Index1& solver, const double* rows, bool) override {
        return solver.least_motion(i, rows);
    }
    bool refresh(Instance& i, Index1& solver, const Motion& m) override {
        return solver.factorise(i, m.place(), order_);
    }

private:
    Order order_ = Order::eager;
};

// Generalized coordinate partitioning ([Haug89] 7.3.2): wherever accelerations are asked for, the dependent coordinates
// and velocities follow from the others (T12.8).
class Partitioned : public Correction {
public:
    explicit Partitioned(const System& system)
        : Correction(system), partition_(system), motion_(system.nv), rows_(system.nc) {}

    // memory: the choice, and how far it reached when chosen (`influence`, at least 1); 0 where there is none
    std::size_t memory_size(const System& system) const override { return system.nv + 1; }

    void start(Instance& i, Index1& solver, const Motion& m, double, double* memory) override {
        if (i.system.nc == 0) return;
        solver.evaluate(i, m.place());
        if (partition_.choose(i)) keep(memory);
    }
    void check(const State& state, const double* memory) const override {
        if (memory[motion_.size()] != 0 && !partition_.admits(memory, state)) foreign_memory();
    }
    Status begin(Instance& i, Index1& solver, const Motion& m, double, const double* memory) override {
        chosen_anew_ = false;
        if (i.system.nc == 0) return Status::done;
        solver.evaluate(i, m.place());
        if (stands(i, memory)) return Status::done;
        chosen_anew_ = true;
        return partition_.choose(i) ? Status::done : Status::singular;
    }
    Status place(Instance& i, Index1& solver, const Motion& m) override {
        return i.system.nc == 0 ? Status::done : correct(i, solver, m);
    }
    bool leads() const override { return !rows_.empty(); }
    void take_along(const Instance& i, double* positions, double* velocities) override {
        take_along(i, Partition::positions, positions);
        take_along(i, Partition::velocities, velocities);
    }
    void accept(double* memory, Statistics& count) override {
        if (!chosen_anew_) return;
        ++count.repartitions;
        keep(memory);
    }

protected:
    const double* motion(Instance& i, Index1&, const double* rows, bool positions) override {
        partition_.solve(positions ? Partition::positions : Partition::velocities, rows, motion_.data());
        for (int k = 0; k < i.system.nv; ++k) motion_[k] = -motion_[k];
        return motion_.data();
    }
    bool refresh(Instance& i, Index1& solver, const Motion& m) override {
        solver.evaluate(i, m.place());
        return partition_.factorise(i);
    }
    double condition() { return partition_.condition(); }  // where the step begins

private:
    static constexpr double worse = 3;  // than the choice was: then another is looked for
    Partition partition_;
    std::vector<double> motion_, rows_;
    bool chosen_anew_ = false;

    // H of (T14.8).
    void take_along(const Instance& i, Partition::Level level, double* change) {
        for (int k = 0; k < i.system.nv; ++k)
            if (partition_.depends(k, level)) change[k] = 0;
        std::fill(rows_.begin(), rows_.end(), 0.0);
        i.for_each_gradient_entry([&](int row, int col, double value) { rows_[row] += value * change[col]; });
        partition_.solve(level, rows_.data(), motion_.data());
        for (int k = 0; k < i.system.nv; ++k) change[k] -= motion_[k];
    }
    // Whether the choice in memory does here too.
    bool stands(Instance& i, const double* memory) {
        if (memory[motion_.size()] == 0) return false;
        partition_.take(memory, i);
        return partition_.factorise(i) && partition_.influence() <= worse * memory[motion_.size()];
    }
    void keep(double* memory) {
        partition_.keep(memory);
        memory[motion_.size()] = std::max(1.0, partition_.influence());
    }
};

// [Haug89] 7.3.4: gaps are fed back; what they leave beyond a limit is corrected by partitioning, and near singular
// positions, where feedback cannot be trusted, there is nothing but partitioning (T12.9).
class Hybrid final : public Partitioned {
public:
    Hybrid(const System& system, std::unique_ptr<Treatment> feedback, double most_open, double most_condition)
        : Partitioned(system),
          feedback_(std::move(feedback)),
          most_open_(most_open),
          most_condition_(most_condition),
          of_feedback_(Partitioned::memory_size(system)) {}

    bool leaves_gaps() const override { return true; }
    // memory: that of partitioning, that of the feedback
    std::size_t memory_size(const System& system) const override {
        return of_feedback_ + feedback_->memory_size(system);
    }
    void start(Instance& i, Index1& solver, const Motion& m, double usual_step, double* memory) override {
        feedback_->start(i, solver, m, usual_step, memory + of_feedback_);
        Partitioned::start(i, solver, m, usual_step, memory);
        partitioning_ = false;  // positions and velocities are those of a start
    }
    Status begin(Instance& i, Index1& solver, const Motion& m, double h, const double* memory) override {
        feedback_->begin(i, solver, m, h, memory + of_feedback_);
        corrected_ = false;
        const Status status = Partitioned::begin(i, solver, m, h, memory);
        partitioning_ = status == Status::done && condition() > most_condition_;
        return status;
    }
    Status place(Instance& i, Index1& solver, const Motion& m) override {
        return partitioning_ ? Partitioned::place(i, solver, m) : Status::done;
    }
    Status arrive(Instance& i, Index1& solver, const Motion& m) override {
        if (partitioning_ || i.system.nc == 0) return place(i, solver, m);
        corrected_ = open(i, solver, m) > most_open_;
        return corrected_ ? Partitioned::place(i, solver, m) : Status::done;
    }
    bool leads() const override { return partitioning_; }
    void stabilise(Instance& i, Index1& solver, const Motion& m) override {
        if (!partitioning_) feedback_->stabilise(i, solver, m);
    }
    void accept(double* memory, Statistics& count) override {
        count.corrected_steps += corrected_;
        count.partitioned_steps += partitioning_;
        feedback_->accept(memory + of_feedback_, count);
        Partitioned::accept(memory, count);
    }

private:
    std::unique_ptr<Treatment> feedback_;
    const double most_open_, most_condition_;
    const std::size_t of_feedback_;
    bool partitioning_ = false, corrected_ = false;
};

}  // namespace mbd
