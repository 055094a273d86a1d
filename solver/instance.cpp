#include "instance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace mbd {
namespace {
constexpr double asked_alike = 1e-6;  // of the largest rate
constexpr double worn = 10;           // coefficient in a row left out: what rows kept leave open is magnified so far
constexpr double fits = 1e-6;         // of the model's length: what a change of a parameter may open

// Rows left out, and their multipliers, are those of now again when this ends.
class ChoiceKept {
public:
    explicit ChoiceKept(State& s)
        : s_(s), kept_(s.dropped, s.redundancies, s.lambda, s.looked_at, s.misfit, s.misfit_limit) {}
    ChoiceKept(const ChoiceKept&) = delete;
    ChoiceKept& operator=(const ChoiceKept&) = delete;
    ~ChoiceKept() {
        std::tie(s_.dropped, s_.redundancies, s_.lambda, s_.looked_at, s_.misfit, s_.misfit_limit) = std::move(kept_);
    }

private:
    State& s_;
    std::tuple<std::vector<int>, std::vector<Redundancy>, std::vector<double>, std::vector<double>, double, double>
        kept_;
};

}  // namespace

Instance::Instance(const System& s)
    : system(s),
      work(s.workspace()),
      constants(s.n_constants),
      v(s.nv),
      a(s.nv),
      lambda(s.nc),
      xdot(s.nx),
      y(s.ny),
      index1_(s),
      unknowns_(s.n()),
      rows_(s.n()),
      u_(s.nu),
      monitor_(s.turns + s.sides) {
    independent_.assign(s.nc, 0.0);
    state.parameters = s.parameter_defaults;
    compute_constants();
    place_at_start();
}

void Instance::set_parameter(int index, double value) {
    if (index < 0 || index >= system.np)
        throw ModelError("parameter number " + std::to_string(index) + " is not in the model");
    if (!std::isfinite(value)) throw ModelError("a parameter must be a finite number");
    state.parameters[index] = value;
}

void Instance::change_parameter(int index, double value) {
    const double before = index >= 0 && index < system.np ? state.parameters[index] : 0;
    const auto take = [&](double x) {
        set_parameter(index, x);
        update();
    };
    try {
        take(value);
        const Violation open = position_violation();
        if (open.scaled > fits)
            throw ModelError("the change would open " + label(system.nv + open.row) + " by " + number(open.value, 6) +
                             "; what fixes the geometry of joints can be set at the start only");
    } catch (const ModelError&) {
        take(before);
        throw;
    }
    state.restart_pending = true;
}

const double* Instance::inputs_at(double t) {
    for (int k = 0; k < system.nu; ++k) u_[k] = state.u[k] + state.udot[k] * (t - state.t_input);
    return u_.data();
}

Point Instance::point(double t, const double* q, const double* vel, const double* acc, const double* lam,
                      const double* x, const double* xd, const double* algebraic) {
    time_[0] = std::max(t, state.passed);
    Point p;
    p.at = {time_, inputs_at(t),     state.udot.data(), state.parameters.data(), q,         vel,    acc, lam, x,
            xd,    constants.data(), nullptr,           state.turns.data(),      algebraic, nullptr};
    if (system.switches.any() || !system.periodic.empty()) p.hold = state.hold.data();
    return p;
}

Point Instance::state_point() {
    return point(state.t, state.q.data(), v.data(), a.data(), lambda.data(), state.x.data(), xdot.data(), y.data());
}

Violation Instance::worst(const double* rows) const {
    Violation w;
    for (int k = 0; k < system.nc; ++k) {
        double scaled = std::fabs(rows[k]) * row_scale_[k];
        // What a row left out holds others hold, but for what rounded numbers in a model file make of it.
        if ((scaled <= state.misfit && is_left_out(k)) || !is_active(k)) scaled = 0;
        if (scaled <= w.scaled && w.row >= 0) continue;
        w = {k, scaled, rows[k]};
        if (!(scaled <= w.scaled)) break;  // not a number: nothing is worse
    }
    return w;
}

double Instance::rounding_of_gaps(const double* q) const {
    double rounded = 1;
    for (int k = 0; k < system.nq(); ++k) rounded = std::max(rounded, std::fabs(q[k]) / length());
    for (double x : state.turns) rounded = std::max(rounded, std::fabs(x));  // of angles after many turns
    return 64 * std::numeric_limits<double>::epsilon() * rounded;
}

// ---------------------------------------------------------------- linear solves

template <class Scalar>
bool Instance::factorise_as(const std::vector<Scalar>& singles, FactorOf<Scalar>& factor, Order& order,
                            PivotingSolver<Scalar>& pivoting_solver) {
    ++factorisations;
    const auto attempt = [&](Order attempted) {
        const Elimination& program = system.elimination(attempted);
        if (!program.exists()) return false;
        factor.values.resize(program.values());
        factor.order = attempted;
        factor.pivoting = false;
        return program.factorise(singles, work.pairs, state.dropped, factor.values.data());
    };
    if (attempt(order)) return true;
    if (order == Order::eager && attempt(Order::patient)) {  // the safer order does for this model
        order = Order::patient;
        return true;
    }
    ++fallbacks;
    factor.pivoting = true;
    return pivoting_solver.factorise(system.pattern, singles, work.pairs, state.dropped, system.n());
}

bool Instance::factorise(Factor& factor, Order& order) {
    if (!state.dropped.empty()) mask();
    return factorise_as(work.singles, factor, order, pivoting_solver_);
}

bool Instance::factorise(ComplexFactor& factor, Order& order) {
    if (!state.dropped.empty()) {
        find_masked();
        for (int e : masked_singles_) work.complex_singles[e] = 0;
        for (int e : masked_pairs_) work.pairs[e] = 0;
    }
    return factorise_as(work.complex_singles, factor, order, complex_pivoting_solver_);
}

void Instance::solve(const Factor& factor, double* x) {
    if (factor.pivoting)
        pivoting_solver_.solve(x, system.n());
    else
        system.elimination(factor.order).solve(factor.values.data(), x, work.solve_work.data());
}

void Instance::solve(const Factor& factor, double* x1, double* x2) {
    if (factor.pivoting) {
        pivoting_solver_.solve(x1, system.n());
        pivoting_solver_.solve(x2, system.n());
    } else {
        system.elimination(factor.order).solve(factor.values.data(), x1, x2, work.solve_work.data());
    }
}

void Instance::solve(const ComplexFactor& factor, Complex* x) {
    if (factor.pivoting)
        complex_pivoting_solver_.solve(x, system.n());
    else
        system.elimination(factor.order).solve(factor.values.data(), x, work.complex_solve_work.data());
}

// ---------------------------------------------------------------- consistent start

void Instance::compute_constants() {
    system.constants(state.parameters.data(), constants.data(), parameter_registers_);
    row_scale_.resize(system.nc);
    for (int k = 0; k < system.nc; ++k) row_scale_[k] = 1 / unit(system.nv + k);
}

void Instance::update() {
    compute_constants();
    for (std::size_t k = 0; k < constants.size(); ++k) {
        if (std::isfinite(constants[k])) continue;
        system.check_bounds(constants.data());  // which may be the cause
        throw ModelError(system.constant_names[k] + " is not a finite number for these parameters: " +
                         system.culprit_of_constant(parameter_registers_, static_cast<int>(k)) +
                         "; check divisions and roots");
    }
    system.check_masses(constants.data());
    system.check_bounds(constants.data());
    system.check_orientations(constants.data());
    if (!(length() > 0)) throw ModelError("the model's length scale must be positive, found " + number(length()));
}

void Instance::place_at_start() {
    const double* s = constants.data() + system.start_at;
    const auto take = [&](std::vector<double>& to, int count) { to.assign(s, s + count), s += count; };
    take(state.q, system.nq());
    take(state.v, system.nv);
    take(state.x, system.nx);
    take(state.u, system.nu);
    take(state.turns, system.turns);
    take(state.y, system.ny);
    state.udot.assign(system.nu, 0.0);
    state.a.assign(system.nv, 0.0);
    state.lambda.assign(system.nc, 0.0);
    state.xdot.assign(system.nx, 0.0);
    state.t = state.t_input = state.h = state.last_step = state.drift = 0;
    state.ahead = state.passed = state.chosen_at = State::never;
    state.restart_pending = state.inputs_vary = false;
    state.before.clear();
    state.memory.clear();
    state.inactive.clear();
    for (int row : system.switches.inactive) state.inactive.push_back(system.nv + row);
    state.hold.assign(system.nc, 0.0);
    state.sides.assign(system.switches.indicators.size(), 0);
    state.sizes.assign(system.switches.indicators.size(), 0.0);
    state.seen.assign(system.switches.indicators.size(), 0.0);
    state.slopes.assign(system.switches.indicators.size(), State::unknown);
    state.events = state.burst = 0;
    state.redundancies.clear();
    leave_out();
    state.misfit = 0;
    state.looked_at.clear();
    state.order = system.preferred_order();
    state.model = system.identity;
    look_from_state();
}

void Instance::look_from_state() { v = state.v, a = state.a, lambda = state.lambda, xdot = state.xdot, y = state.y; }

void Instance::restart() {
    report();
    adopt_report();
}

void Instance::adopt_report() {
    state.v = v;
    adopt();
    state.ahead = State::never;
}

void Instance::stand_still() {
    time_[1] = 0;
    state.v.assign(system.nv, 0.0);
    state.udot.assign(system.nu, 0.0);
    report();
}

// The matrix [M G^T; G 0] at the state's positions, and the residual for the present v, a, lambda, xdot.
void Instance::evaluate_index1(double xv) {
    system.residual_and_derivative(state_point(), {1, 0, 0, 0, xv}, work, rows_.data());
}

// What is reported leaves no trace in State, and depends on nothing else: the order is the scheme's, and only for now.
void Instance::factorise_index1() {
    Order order = state.order;
    if (!factorise(index1_.factor, order)) refuse_singular();
}

// Moves v by the smallest amount (in the mass metric) that takes its rows to zero.
void Instance::project_velocities() {
    std::fill(unknowns_.begin(), unknowns_.end(), 0.0);
    for (int k = 0; k < system.nc; ++k) unknowns_[system.nv + k] = -index1_.velocity[k];
    mask_rows(unknowns_.data());
    solve(index1_.factor, unknowns_.data());
    for (int k = 0; k < system.nv; ++k) v[k] += unknowns_[k];
}

Violation Instance::position_violation() {
    phi_.resize(system.nc);
    system.constraints(state_point(), work, phi_.data());
    return worst(phi_.data());
}

// Accelerations, multipliers, rates and unknowns at the state with the reported velocities.
void Instance::solve_accelerations(double gain) {
    index1_.a = a, index1_.lambda = lambda, index1_.xdot = xdot, index1_.y = y;
    const Index1::Place here{state.t, state.q.data(), v.data(), state.x.data()};
    index1_.look(*this, here);
    if (gain > 0) feed_back(gain);
    Order order = state.order;
    const Index1::Outcome outcome = index1_.solve(*this, here, order);
    a = index1_.a, lambda = index1_.lambda, xdot = index1_.xdot, y = index1_.y;
    if (outcome != Index1::Outcome::done) refuse(outcome);
    independent_ = lambda;
}

// Critically damped: gaps die away as exp(-gain t) does (T20.11).
void Instance::feed_back(double gain) {
    phi_.resize(system.nc);
    system.constraints(state_point(), work, phi_.data());
    for (int k = 0; k < system.nc; ++k) {
        if (system.level[k] == 0) index1_.gamma[k] -= gain * (2 * index1_.velocity[k] + gain * phi_[k]);
        if (system.level[k] == 1) index1_.gamma[k] -= gain * index1_.velocity[k];
    }
}

void Instance::accelerate(double gain, bool with_reactions) {
    with_other_rows_where_singular([&] {
        v = state.v, lambda = state.lambda, xdot = state.xdot, y = state.y;
        solve_accelerations(gain);
        if (with_reactions) spread_reactions();
    });
}

void Instance::adopt() { state.a = a, state.lambda = independent_, state.xdot = xdot, state.y = y; }

void Instance::side(std::vector<double>& to) const {
    to.clear();
    for (const auto* part : {&v, &a, &independent_, &xdot, &y}) to.insert(to.end(), part->begin(), part->end());
}

void Instance::refuse(Index1::Outcome outcome) {
    rows_ = index1_.rows;
    if (outcome == Index1::Outcome::singular) refuse_singular();
    if (outcome == Index1::Outcome::not_finite)
        throw StepFailed("accelerations at t = " + number(state.t) + " s are not finite; " +
                         odd_expression("check the forces that act on " + label(index1_.odd_unknown)));
    throw StepFailed("accelerations and reactions at t = " + number(state.t) +
                     " s have no solution near the last one: forces or variables depend too strongly on " +
                     "reactions, accelerations or themselves");
}

// At a singular position, where rows that were independent repeat each other, others are left out for the report.
template <class F>
void Instance::with_other_rows_where_singular(F&& evaluate) {
    try {
        evaluate();
    } catch (const StepFailed&) {
        const ChoiceKept as_before(state);
        if (!choose_rows()) throw;
        evaluate();
    }
}

void Instance::report() {
    with_other_rows_where_singular([&] {
        report_here();
        if (!(largest_share_ > worn)) return;
        const ChoiceKept as_before(state);
        if (exchange_rows_here()) report_here();
    });
    check_left_out();
}

// A row left out is met by the others, unless two of them ask for different rates: then the motion is nobody's.
void Instance::check_left_out() {
    const auto above = [&](int k) { return system.level[k - system.nv] > 0; };
    const auto repeated = repeating();
    if (std::none_of(repeated.begin(), repeated.end(), above)) return;
    const double size = fastest(fastest(1, v), a);
    system.residual(state_point(), work, rows_.data());
    for (int k : repeated)
        if (above(k) && !(std::fabs(rows_[k]) * row_scale_[k - system.nv] <= asked_alike * size))
            throw StepFailed(
                label(k) + " at t = " + number(state.t) +
                " s repeats what others hold, at a dead point or all the time, but asks for another rate, by " +
                number(rows_[k]) + "; drive the mechanism elsewhere, or leave one of them out");
}

double Instance::fastest(double least, const std::vector<double>& rates) const {
    for (int k = 0; k < system.nv; ++k) least = std::max(least, std::fabs(rates[k]) / unit(k));
    return least;
}

void Instance::report_here() {
    look_from_state();
    if (system.nc > 0) {
        system.rates(state_point(), work, index1_.velocity.data(), index1_.gamma.data());
        worst_velocity_violation = std::max(worst_velocity_violation, worst(index1_.velocity.data()).scaled);
        evaluate_index1();
        factorise_index1();
        project_velocities();
    }
    solve_accelerations();
    spread_reactions();
}

void Instance::share_reactions() {
    factorise_index1();
    spread_reactions();
}

void Instance::follow(const Instance& other) {
    const State& from = other.state;
    state.t = state.t_input = from.t, state.passed = from.passed;
    for (int k = 0; k < system.nu; ++k) state.u[k] = from.u[k] + from.udot[k] * (from.t - from.t_input);
    state.udot = from.udot, state.parameters = from.parameters;
    state.q = from.q, state.v = from.v, state.x = from.x, state.turns = from.turns, state.hold = from.hold;
    state.redundancies = from.redundancies, state.inactive = from.inactive, state.dropped = from.dropped;
    state.order = from.order;
    v = other.v, a = other.a, xdot = other.xdot, y = other.y;
    lambda = independent_ = other.independent_;
    constants = other.constants, row_scale_ = other.row_scale_;
    time_[1] = other.time_[1];
    work.outside = other.work.outside;
}

void Instance::signals(double* out) { system.signals(state_point(), work, out); }

std::string Instance::why_not_finite(int signal) {
    return "not finite at t = " + number(state.t) + " s: " + system.culprit_of_signal(state_point(), work, signal);
}

std::string Instance::odd_expression(const std::string& otherwise) {
    const std::string found = system.not_finite(state_point(), work);
    return found.empty() ? otherwise : found;
}

// Says why the index-1 matrix is singular.
void Instance::refuse_singular() {
    const std::string at = " at t = " + number(state.t) + " s";
    for (int k = 0; k < system.n(); ++k)
        if (!std::isfinite(rows_[k]))
            throw StepFailed("a value in the equation of " + label(k) + " is not finite" + at + "; " +
                             odd_expression("look for a spring or rod whose ends coincide, a division by zero or a "
                                            "root of a negative number"));
    for (std::size_t e = 0; e < work.singles.size(); ++e)
        if (!std::isfinite(work.singles[e]))
            throw StepFailed("a derivative in the equation of " + label(system.pattern.singles[e].row) +
                             " is not finite" + at + "; " + odd_expression("look for roots and powers of zero"));
    std::vector<char> heavy(system.nv, 0);
    for (std::size_t e = 0; e < work.singles.size(); ++e)
        if (const auto& p = system.pattern.singles[e]; p.row < system.nv && p.col < system.nv && work.singles[e] != 0)
            heavy[p.row] = 1;
    for (int k = 0; k < system.nv; ++k)
        if (!heavy[k])
            throw ModelError(label(k) +
                             " has no mass and nothing fixes its acceleration; give it an entry in \"mass\"");
    if (const std::string loose = undetermined(); !loose.empty())
        throw StepFailed("the equations of states and variables do not determine " + loose + at +
                         "; their derivative by what they are solved for is singular, correct the equations");
    if (!system.linear())
        throw StepFailed("the equations of motion are singular" + at +
                         "; a force that depends on reactions or accelerations cancels what it acts on (as friction "
                         "that jams does)");
    throw StepFailed("the equations of motion are singular" + at + "; the mass matrix cannot be inverted");
}

// The rates of states and the unknowns that their own equations leave open at the last evaluate_index1(); empty where
// they are not to blame.
std::string Instance::undetermined() const {
    const int first = system.nv + system.nc, count = system.nx + system.ny;
    if (count == 0 || count > 2000) return "";
    Eigen::MatrixXd block = Eigen::MatrixXd::Zero(count, count);
    for (std::size_t e = 0; e < work.singles.size(); ++e)
        if (const auto& p = system.pattern.singles[e]; p.row >= first && p.col >= first)
            block(p.row - first, p.col - first) += work.singles[e];
    for (int k = 0; k < count; ++k)
        if (const double size = block.row(k).cwiseAbs().maxCoeff(); size > 0) block.row(k) /= size;
    const Eigen::FullPivLU<Eigen::MatrixXd> lu(block);
    if (lu.isInvertible()) return "";
    const Eigen::VectorXd loose = lu.kernel().col(0);
    std::string names;
    int named = 0;
    for (int k = 0; k < count && named < 5; ++k)
        if (std::fabs(loose[k]) > 0.1 * loose.cwiseAbs().maxCoeff())
            names += (named++ ? ", " : "") + std::string(k < system.nx ? "the rate of " : "") + label(first + k);
    return names;
}

}  // namespace mbd
