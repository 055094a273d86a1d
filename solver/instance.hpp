// One simulation of a System: parameter values and what follows from them, inputs, the state, and what is reported.
//
// The consistent start and the reported quantities live here because every scheme and every host needs them:
// positions on Phi = 0, velocities projected onto G v = -Phi_t in the mass metric, accelerations and multipliers of the
// index-1 system. What is reported is never fed back into the scheme (it would make HHT first order).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "system.hpp"

namespace mbd {

// Numerics gave up; the message names the time and the joint. Becomes mbdfmu.StepFailed in Python.
struct StepFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Everything that a continuation depends on, as a value: copying and restoring it continues bit for bit.
struct State {
    std::uint32_t model = 0;  // System::identity
    double t = 0;
    double h = 0;                     // step size that the error control would take next, 0 before the first step
    double last_step = 0, drift = 0;  // size of the last step, time crossed since without one
    std::vector<double> q, v, a, lambda, x, xdot;
    double t_input = 0;  // u(t) = u + udot (t - t_input)
    std::vector<double> u, udot;
    std::vector<double> parameters;
    bool restart_pending = false;  // a discontinuity at t waits for its restart
    std::vector<double> memory;    // of the scheme
    Factor factor;                 // the factorisation it recycles
    Order order = Order::eager;    // for the next factorisation
};

struct StartOptions {
    bool correct = false;  // move an inconsistent start onto the constraints instead of refusing it
    using Values = std::vector<std::pair<int, double>>;
    Values q, v;  // given start values, which the correction may not move
};

struct Violation {
    int row = -1;       // constraint with the largest scaled violation
    double scaled = 0;  // divided by the model's length where the row is a length
    double value = 0;
};

class Instance {
public:
    explicit Instance(const System& system);

    const System& system;
    State state;
    Workspace work;
    std::vector<double> constants;

    // ---- reported at state.t by report()
    std::vector<double> v, a, lambda, xdot;
    double worst_velocity_violation = 0;

    void set_parameter(int index, double value);  // takes effect at the next start() or update()
    void update();                                // what follows from the parameters; throws ModelError
    void place_at_start();                        // positions, velocities, inputs as given, not yet consistent
    void start(const StartOptions& options);
    void restart();  // after a discontinuity: consistent v, a, lambda at t+
    void report();
    void signals(double* out);

    double length() const { return constants[system.length_at]; }
    const double* inputs_at(double t);
    Point point(double t, const double* q, const double* v, const double* a, const double* lambda, const double* x,
                const double* xdot);
    Point state_point();
    Violation worst_position(const double* phi) const { return worst(phi); }
    Violation position_violation();  // at the state
    std::string label(int unknown) const { return system.labels[unknown]; }

    // Factorises the matrix of the derivative stream in `work`: by the elimination program or, where a pivot is lost,
    // by pivoting (such a factor holds until the next factorisation only). False where the matrix is singular.
    bool factorise(Factor& factor, Order& order);
    void solve(const Factor& factor, double* x);
    long factorisations = 0, fallbacks = 0;

private:
    PivotingSolver pivoting_solver_;
    Factor factor1_;
    Order order1_ = Order::eager;  // of index-1 solves: what is reported leaves no trace in State
    bool starting_ = false;
    std::vector<double> parameter_registers_, phi_, unknowns_, rows_, velocity_rows_, gamma_, u_;
    double time_ = 0;

    std::vector<double> row_scale_;  // 1/length for rows in m, 1 for rows in rad
    Violation worst(const double* rows) const;
    void compute_constants();
    void evaluate_index1(const double* v);
    void project(const std::vector<double>& rows, std::vector<double>& to);
    void factorise_index1(const StartOptions::Values& kept);
    void correct_positions(const StartOptions& options);
    void correct_velocities(const StartOptions& options);
    void solve_accelerations();
    std::string repeated_rows() const;
    [[noreturn]] void refuse_singular();
};

}  // namespace mbd
