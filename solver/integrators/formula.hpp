// A formula for ordinary differential equations y' = f(t, y), as schemes use it: from one step to the next, with an
// estimate of the local error. It must not know what y means.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

namespace mbd {

// The equations as a formula sees them.
class Ode {
public:
    // f at (t, y) within a step; may move y onto what it has to lie on. False where there is no value.
    virtual bool slope(double t, double* y, double* f) = 0;
    // The same where the step ends: y is final afterwards.
    virtual bool arrive(double t, double* y, double* f) = 0;
    // The size of an error of y, over the tolerance.
    virtual double norm(const double* error) const = 0;
    virtual double tolerance() const { return 1; }

protected:
    ~Ode() = default;
};

class Formula {
public:
    explicit Formula(int n) : end(n), end_slope(n), error(n) {}
    virtual ~Formula() = default;
    Formula(const Formula&) = delete;
    Formula& operator=(const Formula&) = delete;

    // The estimated local error is O(h^error_order), with what `memory` holds.
    virtual int error_order(const double* memory) const = 0;
    // Numbers kept from step to step; they are the caller's, so that a saved state continues bit for bit.
    virtual std::size_t memory_size() const = 0;
    virtual void start(const double* slope, double* memory) const = 0;
    // The slope where the last step has ended jumps to this one; those before it move along.
    virtual void move_along(const double* slope, double* memory) const = 0;
    // Whether numbers from outside can be such a memory: what it counts by lies in it.
    virtual bool admits(const double* /*memory*/) const { return true; }
    // Tries a step from (t, y): fills end, end_slope and error; false where the equations have no value on the way.
    virtual bool step(Ode& ode, double t, double h, const double* y, const double* memory) = 0;
    // Remembers the step tried last.
    virtual void accept(double h, double* memory) = 0;
    // The step tried last was too long.
    virtual void reject(double* /*memory*/) const {}
    // What the error (over the tolerance) of the accepted step would be with the order of the next.
    virtual double next_error(double error) const { return error; }
    // Whether steps should stay equal for now, because the formula is still being started.
    virtual bool starting(const double*) const { return false; }
    // How step sizes follow errors: what is aimed at, what a step may grow by, at least and at most, and what it
    // shrinks to at most.
    struct Control {
        double safety = 0.9, least_growth = 1.1, greatest_growth = 5, least_cut = 1;
    };
    virtual Control control(const double* /*memory*/) const { return {}; }

    // ---- y within the last step
    virtual bool continuous() const { return false; }
    virtual std::size_t dense_size() const { return 0; }  // numbers in `dense`
    // Fills `dense` after step(), from the same t and y; may ask for more slopes, false where there are none.
    virtual bool prepare(Ode&, double /*t*/, double /*h*/, const double* /*y*/, double* /*dense*/) { return true; }
    // y at `part` (0 to 1) of the last accepted step, of size h.
    virtual void show(double /*part*/, double /*h*/, const double* /*end*/, const double* /*memory*/,
                      const double* /*dense*/, double* /*y*/) const {}

    std::vector<double> end, end_slope, error;

protected:
    // Where an end was corrected by the slope at a predicted one, a share of what another correction would move it by
    // counts as an error too (T12.10). In smooth motion that is of the next order; at a stiff contact nothing else
    // tells that the slope at the end is another.
    void count_correction(double weight, const double* predicted_slope) {
        constexpr double share = 0.25;
        for (int c = 0; c < size(); ++c) {
            const double left = share * weight * (end_slope[c] - predicted_slope[c]);
            if (std::fabs(left) > std::fabs(error[c])) error[c] = left;
        }
    }
    static bool whole(double x, int least, int most) { return x >= least && x <= most && x == std::floor(x); }
    int size() const { return static_cast<int>(end.size()); }
};

}  // namespace mbd
