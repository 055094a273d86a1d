// How schemes that integrate accelerations keep positions and velocities on the constraints (docs/theory.md, T12.6 on).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "scheme.hpp"

namespace mbd {

// Where an integration formula is: the parts of its vector, which a treatment may move.
struct Motion {
    double t;
    double *q, *v, *x;
    Index1::Place place() const { return {t, q, v, x}; }
};

class Treatment {
public:
    virtual ~Treatment() = default;
    virtual void begin(Instance&, double /*h*/) {}  // a step
    // Before accelerations are asked for, within a step and at its end. Status::done where that succeeded.
    virtual Status place(Instance&, Index1&, const Motion&) { return Status::done; }
    virtual Status arrive(Instance& i, Index1& solver, const Motion& m) { return place(i, solver, m); }
    // What is added to gamma, which Index1::look() has filled.
    virtual void stabilise(Instance&, Index1&, const Motion&) {}
};

// Baumgarte: G a = gamma - 2 alpha (G v + Phi_t) - beta^2 Phi (T12.6).
class Baumgarte : public Treatment {
public:
    // `limit`: with alpha = beta = fraction limit/h in place of the gains where it is positive.
    Baumgarte(const System& system, double alpha, double beta, double limit)
        : alpha_(alpha), beta_(beta), limit_(limit), phi_(system.nc) {}

    void begin(Instance&, double h) override {
        if (limit_ > 0) alpha_ = beta_ = limit_ / h;
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
    double alpha_, beta_, limit_;
    std::vector<double> phi_;
};

// The least motion in the mass metric, at the end of every step (T12.7).
class Projection final : public Treatment {
public:
    explicit Projection(const System& system) : phi_(system.nc) {}

    Status arrive(Instance& i, Index1& solver, const Motion& m) override {
        if (i.system.nc == 0) return Status::done;
        order_ = i.state.order;
        fresh_ = false;
        if (!solver.projects() && !refresh(i, solver, m)) return Status::singular;
        const Status closed = close(i, solver, m);
        return closed == Status::done ? match(i, solver, m) : closed;
    }

private:
    static constexpr int most_iterations = 12;
    std::vector<double> phi_;
    Order order_ = Order::eager;
    bool fresh_ = false;

    bool refresh(Instance& i, Index1& solver, const Motion& m) {
        fresh_ = true;
        return solver.factorise(i, m.place(), order_);
    }

    Status close(Instance& i, Index1& solver, const Motion& m) {
        const System& s = i.system;
        double before = std::numeric_limits<double>::infinity();
        for (int k = 0; k < most_iterations; ++k) {
            s.constraints(
                i.point(m.t, m.q, m.v, solver.a.data(), solver.lambda.data(), m.x, solver.xdot.data(), solver.y.data()),
                i.work, phi_.data());
            const double open = i.worst(phi_.data()).scaled;
            if (open <= i.rounding_of_gaps(m.q)) return Status::done;
            if (!(open <= 0.1 * before) && !fresh_ && !refresh(i, solver, m)) return Status::singular;
            if (!(open < before) && k > 2) return open <= accepted ? Status::done : Status::constraint;
            before = open;
            for (int r = 0; r < s.nc; ++r)
                if (s.level[r] != 0) phi_[r] = 0;
            const double* d = solver.least_motion(i, phi_.data());
            for (int c = 0; c < s.nv; ++c) m.q[c] += d[c];
            s.settle(m.q);
        }
        return before <= accepted ? Status::done : Status::constraint;
    }
    Status match(Instance& i, Index1& solver, const Motion& m) {
        const System& s = i.system;
        double before = std::numeric_limits<double>::infinity();
        for (int k = 0; k < most_iterations; ++k) {
            solver.look(i, m.place());
            double speed = 0;
            for (int c = 0; c < s.nv; ++c) speed = std::max(speed, std::fabs(m.v[c]) / i.unit(c));
            const double open = i.worst(solver.velocity.data()).scaled;
            if (open <= 16 * std::numeric_limits<double>::epsilon() * speed) return Status::done;
            if (!(open <= 0.1 * before) && !fresh_ && !refresh(i, solver, m)) return Status::singular;
            if (!(open < before) && k > 2)
                return open <= accepted * std::max(1.0, speed) ? Status::done : Status::constraint;
            before = open;
            const double* d = solver.least_motion(i, solver.velocity.data());
            for (int c = 0; c < s.nv; ++c) m.v[c] += d[c];
        }
        return Status::constraint;
    }
    static constexpr double accepted = 1e-9;  // scaled; what rounding leaves is far below
};

}  // namespace mbd
