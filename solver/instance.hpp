// One simulation of a System: parameter values and what follows from them, inputs, the state, and what is reported.
//
// The consistent start and the reported quantities live here because every scheme and every host needs them:
// positions on Phi = 0, velocities projected onto G v = -Phi_t in the mass metric, accelerations and multipliers of the
// index-1 system. What is reported is never fed back into the scheme (it would make HHT first order).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "index1.hpp"
#include "system.hpp"

namespace mbd {

// Numerics gave up; the message names the time and the joint. Becomes mbdfmu.StepFailed in Python.
struct StepFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A constraint row that is a combination of others.
struct Redundancy {
    int row;
    std::vector<std::pair<int, double>> repeats;  // row, coefficient
};

// What lies this near counts as one time.
inline double instant(double t) { return 4 * std::numeric_limits<double>::epsilon() * std::max(std::fabs(t), 1e-3); }

// Everything that a continuation depends on, as a value: copying and restoring it continues bit for bit, in another
// Instance and in another process too (solver/bytes.hpp).
struct State {
    static constexpr double never = std::numeric_limits<double>::lowest();  // before all times
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    std::uint32_t model = 0;  // System::identity
    double t = 0;
    double h = 0;  // step size that the error control would take next, 0 before the first step
    // End of the last step where the state shown lies within it; what goes on from there is in `memory`.
    double ahead = never;
    double last_step = 0, drift = 0;  // size of the last step, time crossed since without one
    std::vector<double> q, v, a, lambda, x, xdot, y;
    double passed = never;  // right after the last break that has been passed: the model sees no time before that
    double t_input = 0;     // u(t) = u + udot (t - t_input)
    std::vector<double> u, udot;
    std::vector<double> parameters;
    std::vector<double> turns;             // angles that count turns, at the last accepted step
    std::vector<Redundancy> redundancies;  // rows that repeat others and are left out
    std::vector<int> inactive;             // unknowns of rows that are switched off, sorted
    std::vector<int> dropped;              // unknowns of the rows left out for either reason, sorted
    std::vector<double> hold;              // of every row: what its value is held at
    std::vector<char> sides;               // of every indicator: whether it was positive
    std::vector<double> sizes;             // and how large it has been
    std::vector<double> seen, slopes;      // its last value, and its slope over the last step, unknown after a start
    long events = 0;                       // that have occurred
    long burst = 0;                        // of these, since `burst_began`, while time hardly advances
    double burst_began = 0;
    std::vector<double> looked_at;        // positions at which rows that repeat others were last looked at
    double chosen_at = never;             // time of the last try with other rows
    double misfit = 0, misfit_limit = 0;  // how far these may be open, scaled: for now, and at most
    bool inputs_vary = false;             // they have been changed during the motion
    bool restart_pending = false;         // a discontinuity at t waits for its restart
    // Where inputs have been changed at t: v, a, lambda, Xdot, Y as they were before; else empty.
    std::vector<double> before;
    std::vector<double> memory;    // of the scheme
    Factor factor;                 // the factorisation it recycles
    ComplexFactor complex_factor;  // and the second one of schemes with several stages
    Order order = Order::eager;    // for the next factorisation
};

struct StartOptions {
    bool correct = false;  // move an inconsistent start onto the constraints instead of refusing it
    using Values = std::vector<std::pair<int, double>>;  // number, value
    Values q, v;                                         // given start values, which the correction may not move
    std::vector<double> positions;                       // to begin from instead of those of the model, where not empty
    bool open = false;                                   // positions stay as given although the joints are open
    double time = 0;                                     // at which the motion begins, s
    // Inputs in place of those of the model. What they open in a start that fits the model's own is closed.
    Values inputs;
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
    std::vector<double> v, a, lambda, xdot, y;
    double worst_velocity_violation = 0;

    void set_parameter(int index, double value);  // takes effect at the next start() or update()
    void update();                                // what follows from the parameters; throws ModelError
    void compute_constants();                     // the same, unchecked
    // Stands where another instance of the system does, with what that reports; its scheme's memory stays behind, and
    // reactions are 0 in rows left out: share_reactions().
    void follow(const Instance& other);
    void place_at_start();  // positions, velocities, inputs as given, not yet consistent
    void start(const StartOptions& options);
    void restart();       // after a discontinuity: consistent v, a, lambda at t+
    void adopt_report();  // the same where that has been reported
    // What a scheme goes on with of what has been reported: v, a, lambda, Xdot, Y.
    void side(std::vector<double>& to) const;
    // Accelerations at the state as it stands: nothing is projected, gaps of joints are fed back by `gain` 1/s
    // (T20.11).
    void accelerate(double gain, bool with_reactions);
    void adopt();  // what has been reported (but velocities) into the state, which goes on from there
    // Changes a tunable parameter from now on; refuses (ModelError) what would open a joint.
    void change_parameter(int index, double value);
    void stand_still();  // v = 0 and time held (what it drives stands), reported
    void let_time_run() { time_[1] = 1; }
    void place(const std::vector<double>& q, const std::vector<double>& x, const std::vector<double>& turns);
    // a point of a motion that is known: report() then says what accelerates it
    void pose(double t, const double* q, const double* rates, const double* x);
    void set_in_motion(const StartOptions& options);  // velocities of the start at the state's positions; time runs
    std::vector<std::string> given_up() const;        // start values that are guesses and were not admitted
    const std::vector<std::string>& set_by_motions() const { return set_by_motions_; }  // at the start, in words
    void look_from_state();  // what is reported := what the scheme has
    // Leaves out the constraint rows that repeat others at the state; true where the choice changed.
    bool choose_rows();
    // While this lives rows are chosen, and switched on, where those kept when it was made are closed: where joints are
    // open, rows that repeat others seem not to, and would not fit them when they close. The state stays as it is.
    class ClosedPose {
    public:
        explicit ClosedPose(Instance& instance);
        ~ClosedPose() { instance_.closed_pose_.clear(); }
        ClosedPose(const ClosedPose&) = delete;
        ClosedPose& operator=(const ClosedPose&) = delete;

    private:
        Instance& instance_;
    };
    bool choose_rows_ahead(double h);  // as they will be at the end of a step: the state may be singular
    // Exchanges rows kept, before they turn dependent, for rows left out; multipliers follow. True where that was so.
    bool exchange_rows();
    bool exchange_rows_anywhere();
    // Closes the rows kept by the least motion of the state's positions; false where that leads nowhere.
    bool close_rows_kept();
    // Lets the row left out be open further, as far as rounded numbers may make it; false beyond that.
    bool allow_misfit(int row, double open);
    // Whether rows left out are open, and by more than those kept: they may repeat them no longer.
    bool opens_alone();
    void follow_turns();  // after every accepted step
    // Rows that nearly repeat others at the state but did not at the start, by name; empty where there are none.
    std::string dead_point();
    bool is_left_out(int row) const;
    // ---- rows on and off (switches.cpp)
    bool is_active(int row) const;
    // The first joint in force whose axes point the same way at the state, and in opposite directions at q; none is -1.
    int reversed_at(const double* q);
    void switch_row(int row, bool on);
    bool indicators_are_reported() const;              // whether any of them depends on what is reported
    bool rests(const Switches::Indicator& one) const;  // a contact
    double largest_reaction() const;                   // that is reported
    bool is_reported(const Switches::Indicator& one) const { return one.reported || rests(one); }
    void indicators(double* out);                   // of events, at the state and what is reported there
    void set_states(int indicator);                 // what it makes of them, by the state and what is reported there
    void collide(const std::vector<int>& hitting);  // indicators of impacts: new velocities, contacts at rest hold
    void report();
    void signals(double* out);
    // Why a signal is not finite: when, and of which operands.
    // the expression or element that is not finite at the state
    std::string odd_expression(const std::string& otherwise);
    std::string why_not_finite(int signal);
    // Gives rows that repeat others their share of the reactions, at the last evaluation of index 1 with derivatives.
    void share_reactions();

    double length() const { return constants[system.length_at]; }
    const double* inputs_at(double t);
    Point point(double t, const double* q, const double* v, const double* a, const double* lambda, const double* x,
                const double* xdot, const double* y);
    Point state_point();
    Violation worst(const double* rows) const;
    Violation position_violation();  // at the state
    // how far joints seem open (scaled) at positions that are as exact as numbers can be
    double rounding_of_gaps(const double* q) const;
    // what counts as much as a radian: 1, or the model's length
    double unit(int unknown) const { return system.rotational[unknown] ? 1 : length(); }
    std::string label(int unknown) const { return system.labels[unknown]; }

    // Factorises the matrix of the derivative stream in `work`: by the elimination program or, where a pivot is lost,
    // by pivoting (such a factor holds until the next factorisation only). False where the matrix is singular.
    bool factorise(Factor& factor, Order& order);
    bool factorise(ComplexFactor& factor, Order& order);  // of work.complex_singles and work.pairs
    void solve(const Factor& factor, double* x);
    void solve(const Factor& factor, double* x1, double* x2);  // at hardly more cost than one
    void solve(const ComplexFactor& factor, Complex* x);
    // Rows left out hold lambda = 0.
    void mask_rows(double* r) const {
        for (int k : state.dropped) r[k] = 0;
    }
    long factorisations = 0, fallbacks = 0;

    // G at the last evaluation with derivatives, without rows that are off: f(constraint, coordinate, value)
    template <class F>
    void for_each_gradient_entry(F&& f) const {
        const int nv = system.nv, nc = system.nc;
        const auto visit = [&](const Pattern::Place& p, double value) {
            if (p.row >= nv && p.row < nv + nc && p.col < nv && is_active(p.row - nv)) f(p.row - nv, p.col, value);
        };
        for (std::size_t e = 0; e < work.singles.size(); ++e) visit(system.pattern.singles[e], work.singles[e]);
        for (std::size_t e = 0; e < work.pairs.size(); ++e) visit(system.pattern.pairs[e], work.pairs[e]);
    }

    // what rows at velocity level hold of the rates of states: f(constraint, state, value)
    template <class F>
    void for_each_entry_by_state(F&& f) const {
        const int nv = system.nv, first = nv + system.nc;
        for (std::size_t e = 0; e < work.singles.size(); ++e)
            if (const auto& p = system.pattern.singles[e];
                p.row >= nv && p.row < first && p.col >= first && p.col < first + system.nx)
                f(p.row - nv, p.col - first, work.singles[e]);
    }

private:
    struct Demands;
    struct Guess;
    struct Reach {
        double moved, turned;
    };
    struct Entry {
        int row, col;
        double value;
    };
    PivotingSolver<double> pivoting_solver_;
    PivotingSolver<Complex> complex_pivoting_solver_;
    Index1 index1_;
    std::vector<double> parameter_registers_, phi_, unknowns_, rows_, u_, monitor_;
    std::vector<double> closed_pose_;                          // empty where the state is as closed
    std::vector<int> masked_, masked_singles_, masked_pairs_;  // what belongs to the rows left out
    std::vector<Entry> dropped_gradients_;
    std::vector<double> indicators_, settings_;
    double time_[2] = {0, 1};  // the time and its own rate: 0 where it is held
    struct Contact;

    std::vector<double> independent_;  // lambda with 0 in the rows left out: the scheme goes on with that
    std::vector<char> wanted_;         // start conditions that are not given up
    std::vector<std::string> set_by_motions_;
    std::vector<double> row_scale_;  // 1/length for rows in m, 1 for rows in rad

    // ---- index 1 (instance.cpp)
    void evaluate_index1(double xv = 0);
    void project_velocities();
    void factorise_index1();
    void solve_accelerations(double gain = 0);
    void feed_back(double gain);
    template <class F>
    void with_other_rows_where_singular(F&& evaluate);
    [[noreturn]] void refuse(Index1::Outcome outcome);
    void report_here();
    void check_left_out();
    // the largest of the coordinates' rates, each over its unit, and of `least`
    double fastest(double least, const std::vector<double>& rates) const;
    [[noreturn]] void refuse_singular();
    std::string undetermined() const;
    // ---- closing the joints (assembly.cpp)
    Demands demands(bool velocities);
    Eigen::SparseMatrix<double> mass_matrix() const;
    Reach reach(const Eigen::VectorXd& d) const;
    void move(const Eigen::VectorXd& d);
    Demands close_positions(const std::vector<char>& held);
    std::pair<double, Eigen::VectorXd> way_from(const Guess& guess) const;
    bool steps_nearer(const Guess& guess, Eigen::VectorXd step, double limit, const std::vector<char>& held);
    void approach(const Guess& guess, const std::vector<char>& held);
    const double* sides_at(const double* q);
    std::vector<int> reversed_sides();
    std::vector<std::pair<int, std::vector<double>>> turned_about(int side, const std::vector<char>& held);
    bool flip(const Guess& guess, const std::vector<char>& held);
    bool close_velocities(const std::vector<char>& held, double speed);
    // ---- the start (start.cpp)
    template <class Try>
    bool met_with_guesses(bool velocities, Try&& met);
    void take(const StartOptions& options);
    void hold_turns();
    bool fits_as_written();
    std::vector<char> held_coordinates(const StartOptions::Values& kept) const;
    void correct_positions(const StartOptions& options);
    void close_joints(const StartOptions& options, const std::vector<char>& held);
    void refuse_not_finite(const Demands& given);
    void tell_motions(const Demands& given, double limit, const std::string& what);
    bool close_what_does_not_repeat(const Demands& open, const std::vector<char>& held);
    void correct_velocities(const StartOptions& options);
    void start_rates(const StartOptions& options);
    void check_sides();
    void check_rates_left_out();
    [[noreturn]] void refuse_kept(const StartOptions::Values& kept) const;
    std::string held_hint() const;
    std::string required_hint() const;

    // ---- rows on and off (switches.cpp)
    void leave_out();
    std::vector<int> repeating() const;  // unknowns of rows left out because they repeat others
    std::vector<Contact> contacts(const std::vector<int>& hitting);
    void exchange_impulses(const std::vector<Contact>& contacts);
    void push_only(std::vector<Contact>& contacts);
    Contact* at_odds(std::vector<Contact>& contacts);
    Contact* opposed(std::vector<Contact>& contacts, int row) const;
    Contact* pulled(std::vector<Contact>& contacts) const;

    // ---- rows that repeat others (redundancy.cpp)
    bool has_loops() const;
    bool surely_independent();
    std::vector<double> row_sizes() const;
    std::vector<int> by_preference() const;
    std::vector<Redundancy> repeated_rows(double threshold, const std::vector<double>& sizes,
                                          const std::vector<int>& preferred) const;
    bool newton_of_rows_kept();
    bool choose_rows_here();
    bool has_turned() const;
    int group_rows(std::vector<int>& group) const;
    template <class Taken>
    void decompose(const std::vector<double>& sizes, Taken&& taken);
    bool wears_out(const std::vector<double>& sizes);
    bool exchange_rows_here();
    bool exchange(const std::vector<double>& sizes);
    void exchange(Redundancy& in, std::size_t place);
    std::string nearly_repeated(double threshold);
    template <class Scalar>
    bool factorise_as(const std::vector<Scalar>& singles, FactorOf<Scalar>& factor, Order& order,
                      PivotingSolver<Scalar>& pivoting_solver);
    void find_masked();
    void mask();
    double largest_share_ = 0;  // of a row kept in one left out, at the last spread_reactions()
    void spread_reactions();
};

}  // namespace mbd
