// The system of index 1 at a point (T5.16): accelerations, multipliers, rates of states and unknowns, solved jointly,
//
//   [M G^T; G 0] [a; lambda] = [Q; gamma],   d(Xdot, X, ..) = 0,   Y = f(..),
//
// by Newton's iteration where that is not linear; and projections with the same matrix. What is reported, the start,
// and all schemes that integrate accelerations use it. It allocates in its constructor only.
#pragma once
#include <vector>

#include "system.hpp"

namespace mbd {

class Instance;

class Index1 {
public:
    explicit Index1(const System& system);

    struct Place {
        double t;
        const double *q, *v, *x;
    };
    enum class Outcome { done, singular, not_finite, unsolved };

    // G v + Phi_t and gamma.
    void look(Instance& instance, const Place& at);
    // For gamma as it stands: after look(), and with what a scheme adds to it. `order` is that of the factorisation.
    Outcome solve(Instance& instance, const Place& at, Order& order);
    // G and M at a place, into the instance's workspace.
    void evaluate(Instance& instance, const Place& at, double xv = 0);
    // [M G^T; G 0] at a place, to project with; false where it is singular.
    bool factorise(Instance& instance, const Place& at, Order& order);
    // The least motion d (in the mass metric) with G d = -rows, by the last factorisation; `rows` holds nc numbers.
    const double* least_motion(Instance& instance, const double* rows);
    // Whether solve() leaves a factorisation that projects: rows at velocity level may hold rates of states.
    bool projects() const { return !rows_hold_states_; }

    std::vector<double> a, lambda, xdot, y;  // found; where the system is not linear, sought from here
    std::vector<double> velocity, gamma;     // of every constraint row
    std::vector<double> rows;                // the residual at the last evaluation
    int odd_unknown = -1;                    // after not_finite: the first one that is not finite
    Factor factor;

private:
    const System& s_;
    std::vector<double> change_;
    bool rows_hold_states_ = false;

    bool add(const double* change);
    void find_odd();
    bool settled(const double* change) const;
};

}  // namespace mbd
