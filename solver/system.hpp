// The compiled model: tables, programs and structure, const after construction and shared by threads.
//
// Unknowns and rows share one numbering: coordinates 0..nv-1 (equations of motion), constraints nv..nv+nc-1,
// differential states nv+nc.., algebraic unknowns (V and F that are not eliminated) after these.  With G = Phi_q:
//
//       [ M a + G^T lambda - Q ]                    [ ca M + cv .. + cq ..   G^T   .. ]
//   r = [ Phi                  ]     derivative =   [ G                      0     0  ]
//       [ d(Xdot, X, ..)       ]                    [ ..                     ..    .. ]
//       [ Y - f(..)            ]
//
// ca, cv, cq, cx say how a, v, q and X follow the unknowns (a, lambda, Xdot, Y) of the running scheme. Constraint rows
// stand at the level of positions, velocities or accelerations; they are divided by cq, cv or ca, so that each holds
// its G itself ([Negrut05] eq. 12 has cq = beta h^2, cv = gamma h; index 1 has 1, 0, 0). xv says what X counts in rows
// at velocity level then: cx/cv in a step, 1 where index 1 solves for accelerations, 0 where it projects velocities.
//
// A spatial body has six velocities and six coordinates; the last three of these are the rotation theta made since the
// last accepted step (zero between steps), which turns the quaternion kept behind the coordinates: q[nv + 4b ..]. Its
// unknown is the rotation after theta, so that G and the derivatives by q need no T(theta); `increments` takes a
// solution back to the change of theta (T7.8).
#pragma once
#include <string>
#include <vector>

#include "blob.hpp"
#include "bushing.hpp"
#include "elements.hpp"
#include "linear.hpp"
#include "rates.hpp"
#include "switches.hpp"
#include "tape.hpp"

namespace mbd {

// How the unknowns of a scheme move a, v, q and X.
struct Coefficients {
    double ca, cv, cq, cx, xv;
};

// The derivative stream as a polynomial of s, where a moves with the unknown, v and X with s and q with s^2:
// Coefficients {1, s, s^2, s, 1} give singles[0] + s singles[1] + s^2 singles[2]; the pairs do not depend on s.
struct PowerStream {
    double* singles[3];
    double* pairs;
};

// The functions outside the core that a model calls.
struct Outside {
    void* context = nullptr;
    // Values and, where wanted, their derivatives by the inputs (row by row); false where the function failed.
    bool (*call)(void* context, int function, double t, const double* inputs, const double* parameters, double* values,
                 double* derivatives) = nullptr;
};

// Numbers that one thread needs to evaluate a System; sized once.
struct Workspace {
    Outside outside;
    std::vector<double> outside_values, outside_inputs;
    std::vector<double> turned_by;  // the positions to which `cs` and `rotations` belong
    std::vector<double> registers, cs, rotations, inverse_tangents, singles, pairs, solve_work, unused_rows;
    std::vector<RateEntry> rate_entries;
    std::vector<double> partials, adjoints, still;             // of the program behind these; zero velocities
    std::vector<int> rate_places;                              // of every column, those of the row at hand
    std::vector<Complex> complex_singles, complex_solve_work;  // of schemes with several stages
};

class System {
public:
    System(const unsigned char* data, std::size_t size);

    std::uint32_t identity = 0;  // checksum of the blob: states of one model fit no other
    int nv = 0, nc = 0, nx = 0, ny = 0, nu = 0, np = 0, n_constants = 0;
    int turns = 0;  // angles that count turns
    int sides = 0;  // values that must be positive at the start
    bool forces_see_accelerations = false;
    bool slopes_of_inputs_count = false;  // in residuals or in rates of constraints
    int n() const { return nv + nc + nx + ny; }
    int nq() const { return nv + 4 * spatial_; }
    // of model exchange: coordinates without rotations theta, quaternions, velocities, X
    int continuous_states() const { return 2 * nv + spatial_ + nx; }
    void check_orientations(const double* c) const;
    void check_bounds(const double* c) const;
    // forces and torques on bodies -> the accelerations that they would give these if they were free
    void divide_by_masses(const double* c, double* forces) const;
    void check_masses(const double* c) const;  // throws ModelError where a body's mass or inertia is impossible

    // ---- what an Instance fills in
    std::vector<double> parameter_defaults;
    int start_at = 0;   // constants q0[nq] v0[nv] x0[nx] u0[nu] turns0[turns] y0[ny]
    int length_at = 0;  // constant: length scale of the model, m
    void constants(const double* parameters, double* c, std::vector<double>& registers) const;
    // The operation, with its operands, that makes a constant not finite.
    std::string culprit_of_constant(const std::vector<double>& registers, int k) const;

    // ---- evaluation at `point` (spaces TIME .. CONSTANT set)
    Workspace workspace() const;
    void residual(const Point& point, Workspace& w, double* r) const;
    void residual_and_derivative(const Point& point, const Coefficients& z, Workspace& w, double* r) const;
    // The same for all s at once; the rotations theta of `point` must be zero.
    void residual_and_powers(const Point& point, const PowerStream& stream, Workspace& w, double* r) const;
    void constraints(const Point& point, Workspace& w, double* phi) const;
    // velocity = G v + Phi_t and gamma, where G a = gamma on the acceleration level
    void rates(const Point& point, Workspace& w, double* velocity, double* gamma) const;
    // the first of them alone
    void speeds(const Point& point, Workspace& w, double* velocity) const;
    void residual_and_speeds(const Point& point, Workspace& w, double* r, double* velocity) const;
    // How Phi' = G v + Phi_t and Phi'' = G a - gamma change with q, v and X at the point's a (T14.1): one entry of
    // `w.rate_entries` for every place of `rate_pattern`. At a = 0 the last two are -gamma_q and -gamma_v.
    void rate_derivatives(const Point& point, Workspace& w) const;
    // angles with their turns, then what must be positive at the start
    void monitor(const Point& point, Workspace& w, double* out) const;
    void initial_conditions(const Point& point, Workspace& w, double* values, std::vector<double>& derivatives) const;
    void signals(const Point& point, Workspace& w, double* out) const;
    void indicators(const Point& point, Workspace& w, double* out) const;
    // When something may jump in time: the first time, the period (0: once) and by how much they may be wrong, of each
    // of these. They depend on constants, and on X that events alone change.
    void breaks(const Point& point, Workspace& w, double* out) const;
    int break_count() const { return breaks_.outputs() / 3; }
    // of all gaps: values, then rates, then how fast the bodies move against each other; no more than `count` of these
    void look_at_gaps(const Point& point, Workspace& w, std::size_t count, double* out) const;
    // what every setting of Switches would make of its state; then the operation that made value k not finite
    void settings(const Point& point, Workspace& w, double* out) const;
    std::string culprit_of_setting(const Workspace& w, int k) const;
    // The operation, with its operands, that makes a signal not finite at `point`.
    std::string culprit_of_signal(const Point& point, Workspace& w, int signal) const;
    // The user's expression that is not finite at `point`, and the operation in it, or the element; empty where all
    // are.
    std::string not_finite(const Point& point, Workspace& w) const;
    // Where the user's expressions may jump: how often, on which side of each they are at `point`, and in which one.
    std::size_t jumps() const { return jumps_.size(); }
    std::string odd_element(const Point& prepared, Workspace& w) const;
    void look_at_jumps(const Point& point, Workspace& w, double* out) const;
    std::string jump_label(std::size_t jump) const;
    int signal_count() const { return static_cast<int>(addresses_.size()); }

    // ---- orientations
    // q's quaternions := those of `from`, turned by the thetas of q
    void turn(const double* from, double* q) const;
    // turns q's own quaternions; theta = 0 again
    void settle(double* q) const;
    // theta = 0 again where turn() has been applied
    void settle_turned(double* q) const;
    // rotations after theta -> changes of theta
    void increments(const double* q, double* unknowns) const;
    // the motion d that leads from one place to another (both with theta = 0), rotations by at most half a turn
    void differences(const double* from, const double* to, double* d) const;
    // slopes by the thetas of d -> slopes by rotations after them
    void slopes_by_turns(const double* d, double* slopes) const;
    int spatial_bodies() const { return spatial_; }

    // ---- functions outside the core
    struct Function {
        int inputs, parameters, values;
        int first;  // of its values in space OUTSIDE; the derivatives follow
    };
    std::vector<Function> functions;

    // ---- structure
    Pattern pattern;
    std::vector<Pattern::Place> rate_pattern;  // constraint rows; columns of coordinates, and of X at velocity level
    std::vector<char> level;                   // of every constraint row: 0 position, 1 velocity, 2 acceleration
    // conditions that joints' start values put on the start: label, row or velocity, must hold or is a guess
    struct Condition {
        std::string label;
        bool velocity, required, rotational;
    };
    std::vector<Condition> conditions;
    std::vector<Pattern::Place> condition_entries;  // condition, coordinate
    std::vector<char> held;                         // coordinates that assembly may not move
    std::vector<int> periodic;                      // constraint rows in which full turns more are the same
    std::vector<char> drives;  // constraint rows of motions, which set what they drive at the start
    Nodes nodes;
    Switches switches;
    struct Gap {
        std::string name;
        int extent;      // constant: of what lies behind it, m; negative where that has no end
        bool rigid;      // an impact, which occurs while the gap is closing
        bool last_push;  // negative where the gap before this one, which is opening, pushes once more (T9.13)
    };
    std::vector<Gap> gaps;
    const Elimination& elimination(Order order) const { return order == Order::eager ? eager_ : patient_; }
    // The order with fewer operations; patient where they are equal, because its pivots depend less on each other.
    Order preferred_order() const {
        return !patient_.exists() || eager_.operations() < patient_.operations() ? Order::eager : Order::patient;
    }
    // what a new factorisation costs, in units of one residual and solve (from counts of operations, never from a
    // clock)
    double refactor_cost() const { return refactor_cost_; }
    // whether index 1 is linear in what it solves for: a, lambda, Xdot, Y
    bool linear() const { return linear_; }

    // ---- scales and names of unknowns (coordinates, then constraints, then X, then Y)
    std::vector<double> nominal;  // of X: the size from which on errors count in proportion
    std::vector<char> rotational;
    std::vector<std::string> labels;
    struct Bound {
        int constant;
        bool positive;  // the least itself is not allowed
        double least, most;
    };
    std::vector<Bound> bounds;
    std::vector<std::string> constant_names;  // what an error calls them
    std::vector<std::string> side_labels;
    std::vector<int> side_rows;  // a row that goes with each, where a motion can come to its other branch; else -1
    bool branches_meet = false;
    bool forces_have_kinks = false;

private:
    struct Entry {
        int row, col, kind, level;  // level: of a constraint row, else 3
    };
    enum Kind { BY_A, BY_V, BY_Q, BY_X, PLAIN, KINDS };

    int bodies_ = 0, spatial_ = 0, body_at_ = 0, gravity_at_ = 0;
    bool linear_ = true;
    double refactor_cost_ = 1;
    std::vector<Element> coincident_, angle_, inline_, translational_, rotational_springs_, bushings_;  // planar
    std::vector<Element> coincident3_, perpendicular_, in_plane_, bushings3_;                           // spatial
    Tape breaks_, parameters_, residual_, derivative_, derivative1_, constraints_, rates_, monitor_, conditions_,
        signals_, indicators_, gaps_, settings_, written_, efforts_, function_inputs_;
    int outside_ = 0;  // numbers in space OUTSIDE
    std::vector<std::string> written_labels_, element_labels_, effort_labels_;
    std::vector<std::int32_t> jumps_;  // instructions of `written_`
    std::vector<std::int32_t> residual_rows_, constraint_rows_, rate_rows_;
    std::vector<Entry> entries_;
    struct Triple {
        int entry, body;
    };
    struct RateRow {  // of the program of rates: what the speed of a row depends on, and its Phi'' or gamma
        std::vector<std::int32_t> speed, second;
        bool whole;       // second is Phi'' itself
        std::size_t end;  // of its places in rate_pattern
    };
    std::vector<RateRow> rates_of_program_;
    std::size_t first_of_program_ = 0;     // of their places
    std::vector<Triple> tangent_entries_;  // three entries by the rates of a body's rotation
    std::vector<std::pair<int, int>> addresses_;
    Elimination eager_, patient_;

    template <class F>
    void each_table(F&& f) const;
    template <class F>
    void each_joint_table(F&& f) const;
    template <bool Derivatives>
    void evaluate(const Point& prepared, const Coefficients& z, Workspace& w, double* r) const;
    template <bool Derivatives>
    Evaluation run_kernels(const Point& prepared, const Coefficients& z, Workspace& w, double* r, double* singles,
                           double* pairs) const;
    // fills the workspace's angles and rotations; the point with the rotations in it
    Point prepared(const Point& point, Workspace& w) const;
    void call_outside(const Point& point, Workspace& w, bool derivatives) const;
    void read_functions(const Blob& blob);
    static void kind_factors(const Coefficients& z, double (&factor)[4][KINDS]);
    void planar_bodies(const Point& point, bool derivatives, Evaluation& e) const;
    std::string body_of(int coordinate) const {
        return labels[coordinate].substr(0, labels[coordinate].rfind('\'') + 1);
    }
    void rates_of_joints(const Point& point, Workspace& w, double* velocity, double* gamma) const;
    void speeds_of(const Point& prepared, Workspace& w, double* velocity) const;
    void take_holds(const Point& point, double* phi) const;
    struct SlopeKinds {
        double RateEntry::*by_q, RateEntry::*by_v;
    };
    void differentiate_rates(const Point& point, Workspace& w) const;
    template <class F>
    void each_rate_row(Workspace& w, F&& f) const;
    void add_slopes(const Point& point, const std::vector<std::int32_t>& order, double count, SlopeKinds kinds,
                    Workspace& w) const;
    // f(column, weight) for every coordinate or state that a number loaded moves with
    template <class F>
    void each_cause(const Point& point, int space, int index, F&& f) const;
    Spaces spaces() const;
    void read_counts(const Blob& blob);
    void read_elements(const Blob& blob);
    void read_programs(const Blob& blob);
    void read_names(const Blob& blob);
    void read_conditions(const Blob& blob);
    void read_switches(const Blob& blob);
    void read_gaps(const Blob& blob);
    void read_rate_pattern(const Blob& blob);
    void build_pattern();
    void leave_out_rates();
};

}  // namespace mbd
