// Consistent start: positions on Phi = 0, velocities on G v = -Phi_t, each moved as little as possible in the mass
// metric from what the user gave (T7.12), with held coordinates where they are and the joints' start values met.
#include <algorithm>
#include <cmath>

#include "instance.hpp"

namespace mbd {
namespace {

// A start is consistent as written when every joint closes to this fraction of the model's length.
constexpr double consistent = 1e-6;
constexpr double widest = 1e-3;         // and left open to this one, where that is asked for
constexpr double fitting_rates = 1e-5;  // of the largest rate: rows left out
constexpr double closed = 1e-13;        // what the correction aims for
constexpr double accepted = 1e-10;      // and what it must reach
constexpr double least_damping = 1e-9, greatest_damping = 1e3, rounding = 1e-16;
constexpr double longest_turn = 0.5, longest_move = 1.0;  // of one iteration: rad, model's lengths
constexpr int most_iterations = 200;
constexpr double nearly_repeating = 1e-3;  // of a row of size one

using Matrix = Eigen::SparseMatrix<double>;
using Vector = Eigen::VectorXd;

// min d^T M d with A d = -c, where M and the rows of A are scaled to size one: a damping that stands for weak springs
// in place of the rows keeps the matrix regular where rows repeat each other or cannot be met.
class SmallestMotion {
public:
    SmallestMotion(const Matrix& mass, const Matrix& rows, const std::vector<char>& held)
        : n_(static_cast<int>(mass.rows())), m_(static_cast<int>(rows.rows())), column_(n_), row_(m_) {
        const Vector diagonal = mass.diagonal();
        for (int k = 0; k < n_; ++k) column_[k] = held[k] ? 0 : diagonal[k] > 0 ? 1 / std::sqrt(diagonal[k]) : 1;
        Vector sizes = Vector::Zero(m_);
        for_each(rows, [&](int r, int c, double value) { sizes[r] += value * value * column_[c] * column_[c]; });
        for (int k = 0; k < m_; ++k) row_[k] = sizes[k] > 0 ? 1 / std::sqrt(sizes[k]) : 1;
        for_each(mass,
                 [&](int r, int c, double value) { entries_.emplace_back(r, c, value * column_[r] * column_[c]); });
        for (int k = 0; k < n_; ++k)
            if (held[k] || !(diagonal[k] > 0)) entries_.emplace_back(k, k, 1.0);
        for_each(rows, [&](int r, int c, double value) {
            entries_.emplace_back(n_ + r, c, value * row_[r] * column_[c]);
            entries_.emplace_back(c, n_ + r, value * row_[r] * column_[c]);
        });
    }

    // False where even the damped matrix is singular or not finite.
    bool factorise(double damping) {
        auto entries = entries_;
        for (int k = 0; k < m_; ++k) entries.emplace_back(n_ + k, n_ + k, -damping);
        Matrix K(n_ + m_, n_ + m_);
        K.setFromTriplets(entries.begin(), entries.end());
        lu_.compute(K);
        return lu_.info() == Eigen::Success;
    }

    Vector solve(const Vector& c) const {
        Vector right = Vector::Zero(n_ + m_);
        right.tail(m_) = -row_.cwiseProduct(c);
        return column_.cwiseProduct(Vector(lu_.solve(right)).head(n_));
    }

private:
    template <class F>
    static void for_each(const Matrix& A, F&& f) {
        for (int c = 0; c < A.outerSize(); ++c)
            for (Matrix::InnerIterator e(A, c); e; ++e) f(static_cast<int>(e.row()), c, e.value());
    }
    int n_, m_;
    Vector column_, row_;
    std::vector<Eigen::Triplet<double>> entries_;
    Eigen::SparseLU<Matrix> lu_;
};

}  // namespace

// What the start has to meet at one level, at the state as it stands.
struct Instance::Demands {
    Matrix rows;                      // by the coordinates (or velocities)
    Vector values;                    // to become zero
    std::vector<double> per_size;     // of every value: 1/length for lengths, 1 for angles
    std::vector<std::string> labels;  // of the values
    std::vector<const char*> units;

    std::string shown(int k) const { return number(values[k]) + " " + units[k]; }

    double square() const {
        double sum = 0;
        for (int k = 0; k < values.size(); ++k) sum += std::pow(values[k] * per_size[k], 2);
        return sum;
    }
    int worst() const {
        int worst = -1;
        double largest = -1;
        for (int k = 0; k < values.size(); ++k)
            if (const double size = std::fabs(values[k] * per_size[k]); !(size <= largest)) worst = k, largest = size;
        return worst;
    }
    double largest() const { return values.size() == 0 ? 0 : std::fabs(values[worst()] * per_size[worst()]); }
};

void Instance::start(const StartOptions& given) {
    update();
    place_at_start();
    let_time_run();
    wanted_.assign(system.conditions.size(), 1);
    take(given);
    StartOptions options = given;
    if (!given.inputs.empty() && !given.open) options.correct = given.correct || fits_as_written();
    for (const auto& [k, value] : given.inputs) state.u[k] = value;
    correct_positions(options);
    follow_turns();
    check_sides();
    start_rates(options);
}

// What is given in place of the model's own start.
void Instance::take(const StartOptions& options) {
    if (!std::isfinite(options.time)) throw ModelError("the time of the start must be a finite number");
    for (const auto& [k, value] : options.inputs)
        if (k < 0 || k >= system.nu || !std::isfinite(value))
            throw ModelError("an input at the start is not finite or not in the model");
    state.t = state.t_input = options.time;
    if (!options.positions.empty()) state.q = options.positions;
    for (const auto& [k, value] : options.q) state.q[k] = value;
    for (const auto& [k, value] : options.v) state.v[k] = value;
    v = state.v;
}

// Whether the start fits the joints, so that no user has to be told of it, but for what inputs open.
bool Instance::fits_as_written() {
    if (!(position_violation().scaled <= consistent)) return false;
    std::vector<double> opening(system.nc);
    system.speeds(state_point(), work, opening.data());
    for (int k = 0; k < system.nc; ++k)
        if (system.level[k] > 1) opening[k] = 0;
    return worst(opening.data()).scaled <= consistent * fastest(1, state.v);
}

void Instance::place(const std::vector<double>& q, const std::vector<double>& x, const std::vector<double>& turns) {
    state.q = q, state.x = x, state.turns = turns, state.ahead = State::never;
    follow_turns();
}

void Instance::pose(double t, const double* q, const double* rates, const double* x) {
    state.t = t, state.ahead = State::never;
    state.q.assign(q, q + system.nq());
    state.v.assign(rates, rates + system.nv);
    state.x.assign(x, x + system.nx);
    let_time_run();
    follow_turns();
}

void Instance::set_in_motion(const StartOptions& options) {
    const Violation open = position_violation();
    if (!(open.scaled <= consistent))
        throw ModelError("the positions do not fit the joints: " + label(system.nv + open.row) + " is off by " +
                         number(open.value) + "; they belong to other parameters, find them anew");
    let_time_run();
    state.restart_pending = false;
    const double* given = constants.data() + system.start_at + system.nq();
    state.v.assign(given, given + system.nv);
    for (const auto& [k, value] : options.v) state.v[k] = value;
    v = state.v;
    start_rates(options);
}

// Rows, velocities and accelerations, once the positions are what they are.
void Instance::start_rates(const StartOptions& options) {
    choose_rows();
    correct_velocities(options);
    v = state.v;
    check_rates_left_out();
    solve_accelerations();
    spread_reactions();
    adopt();
}

Instance::Demands Instance::demands(bool velocities) {
    const int nv = system.nv, nc = system.nc;
    Demands d;
    std::vector<Eigen::Triplet<double>> entries;
    std::vector<int> place(nc, -1);
    std::vector<double> values(nc), unused(nc);
    if (velocities)
        system.rates(state_point(), work, values.data(), unused.data());
    else
        system.constraints(state_point(), work, values.data());
    std::vector<double> kept;
    const auto add = [&](double value, bool rotational, const std::string& label) {
        kept.push_back(value);
        d.per_size.push_back(rotational ? 1 : 1 / length());
        d.labels.push_back(label);
        d.units.push_back(rotational ? (velocities ? "rad/s" : "rad") : velocities ? "m/s" : "m");
        return static_cast<int>(kept.size()) - 1;
    };
    for (int k = 0; k < nc; ++k)
        if (system.level[k] <= (velocities ? 1 : 0) && !is_left_out(k))
            place[k] = add(values[k], system.rotational[nv + k], label(nv + k));
    evaluate_index1();
    for_each_gradient_entry([&](int row, int col, double value) {
        if (place[row] >= 0) entries.emplace_back(place[row], col, value);
    });

    std::vector<double> conditions(system.conditions.size()), derivatives;
    system.initial_conditions(state_point(), work, conditions.data(), derivatives);
    std::vector<int> condition_place(conditions.size(), -1);
    for (std::size_t k = 0; k < conditions.size(); ++k) {
        const auto& c = system.conditions[k];
        if (c.velocity == velocities && wanted_[k]) condition_place[k] = add(conditions[k], c.rotational, c.label);
    }
    for (std::size_t e = 0; e < derivatives.size(); ++e) {
        const auto& [condition, col] = system.condition_entries[e];
        if (condition_place[condition] >= 0) entries.emplace_back(condition_place[condition], col, derivatives[e]);
    }
    d.values = Eigen::Map<Vector>(kept.data(), static_cast<Eigen::Index>(kept.size()));
    d.rows.resize(d.values.size(), nv);
    d.rows.setFromTriplets(entries.begin(), entries.end());
    return d;
}

Eigen::SparseMatrix<double> Instance::mass_matrix() const {  // at the last evaluate_index1()
    std::vector<Eigen::Triplet<double>> entries;
    for (std::size_t e = 0; e < work.singles.size(); ++e)
        if (const auto& p = system.pattern.singles[e];  // a spring without direction is no mass
            p.row < system.nv && p.col < system.nv && std::isfinite(work.singles[e]))
            entries.emplace_back(p.row, p.col, work.singles[e]);
    Matrix M(system.nv, system.nv);
    M.setFromTriplets(entries.begin(), entries.end());
    return M;
}

// Gauss-Newton steps along the smallest motion, damped (Levenberg, Marquardt) where a full one would open the joints
// further. Returns what stays open.
Instance::Demands Instance::close_positions(const std::vector<char>& held) {
    const std::vector<double> given = state.q, turns = state.turns;
    double damping = least_damping;
    Demands now = demands(false);
    for (int iteration = 0; iteration < most_iterations && now.largest() > closed; ++iteration) {
        SmallestMotion motion(mass_matrix(), now.rows, held);
        if (!motion.factorise(damping)) break;
        Vector d = motion.solve(now.values);
        if (!d.allFinite()) break;
        double excess = 1;
        for (int k = 0; k < system.nv; ++k)
            excess =
                std::max(excess, std::fabs(d[k]) / (unit(k) * (system.rotational[k] ? longest_turn : longest_move)));
        const std::vector<double> before = state.q;
        for (int k = 0; k < system.nv; ++k) state.q[k] += d[k] / excess;
        system.settle(state.q.data());
        Demands next = demands(false);
        const bool better = next.square() < now.square();  // false for what is not a number
        if (better) {
            damping = std::max(least_damping, damping / 10);
            follow_turns();  // an iteration moves by less than half a turn
            now = std::move(next);
            continue;
        }
        state.q = before;
        if (now.largest() <= accepted) break;  // rounding reached
        demands(false);                        // the stream again at the point kept
        if ((damping *= 10) > greatest_damping) break;
    }
    if (!(now.largest() <= consistent)) state.q = given, state.turns = turns;
    return now;
}

std::vector<char> Instance::held_coordinates(const StartOptions::Values& kept) const {
    std::vector<char> held = system.held;
    for (const auto& [k, value] : kept) held[k] = 1;
    return held;
}

// Start values that are guesses give way: all are tried together, then one after the other.
template <class Try>
bool Instance::met_with_guesses(bool velocities, Try&& met) {
    if (met()) return true;
    std::vector<std::size_t> guesses;
    for (std::size_t k = 0; k < wanted_.size(); ++k)
        if (system.conditions[k].velocity == velocities && !system.conditions[k].required) guesses.push_back(k);
    for (auto k : guesses) wanted_[k] = 0;
    if (guesses.empty() || !met()) return false;
    for (auto k : guesses) {
        const auto q = state.q, v = state.v;
        wanted_[k] = 1;
        if (met()) continue;
        wanted_[k] = 0;
        state.q = q, state.v = v;
    }
    return met();
}

std::vector<std::string> Instance::given_up() const {
    std::vector<std::string> labels;
    for (std::size_t k = 0; k < wanted_.size(); ++k)
        if (!wanted_[k]) labels.push_back(system.conditions[k].label);
    return labels;
}

void Instance::correct_positions(const StartOptions& options) {
    const Demands given = demands(false);
    const Violation joint = position_violation();
    if (options.open && joint.scaled <= widest && system.conditions.empty()) return;
    if (!(joint.scaled <= consistent) && !options.correct && system.conditions.empty())
        throw ModelError("the start positions do not fit the joints: " + label(system.nv + joint.row) + " is off by " +
                         number(joint.value) + (system.rotational[system.nv + joint.row] ? " rad" : " m") +
                         "; correct the positions, or ask for assembly (assemble=True, --assemble)");
    if (given.values.size() == 0) return;
    const std::vector<char> held = held_coordinates(options.q);
    if (met_with_guesses(false, [&] { return close_positions(held).largest() <= accepted; })) return;
    const Demands open = close_positions(held);
    if (close_what_does_not_repeat(open, held)) return;
    if (!options.q.empty() && close_positions(held_coordinates({})).largest() <= accepted) refuse_kept(options.q);
    const int worst = open.worst();
    const std::string repeated = nearly_repeated(nearly_repeating);
    if (!repeated.empty())
        throw StepFailed("assembly failed: joints that hold the same do not fit each other; worst: " +
                         open.labels[worst] + ", off by " + open.shown(worst) + "; correct places and directions in " +
                         repeated + ", or replace it by a joint that holds less");
    throw StepFailed("assembly failed: the joints cannot be closed from the given start; worst: " + open.labels[worst] +
                     ", off by " + open.shown(worst) + "; give start positions nearer to a closed configuration" +
                     held_hint() + required_hint());
}

// Rows that repeat others only but for the rounding of a model file can never all be closed: the others can.
bool Instance::close_what_does_not_repeat(const Demands& open, const std::vector<char>& held) {
    if (!(open.largest() <= consistent)) return false;
    const std::vector<double> given = state.q;
    if (choose_rows() && close_positions(held).largest() <= accepted) return true;
    state.q = given;
    state.redundancies.clear();
    leave_out();
    state.misfit = 0;
    return false;
}

void Instance::refuse_kept(const StartOptions::Values& kept) const {
    std::string names;
    for (const auto& [k, value] : kept) names += (names.empty() ? "" : ", ") + label(k);
    throw ModelError("the start values given for " + names +
                     " cannot all be kept: the joints leave fewer motions free; give fewer");
}

std::string Instance::held_hint() const {
    const bool any = std::find(system.held.begin(), system.held.end(), 1) != system.held.end();
    return any ? ", or hold fewer bodies" : "";
}

std::string Instance::required_hint() const {
    const auto required = [](const auto& condition) { return condition.required; };
    const bool any = std::any_of(system.conditions.begin(), system.conditions.end(), required);
    return any ? ", or make a start value of a joint a guess (\"priority\": \"guess\")" : "";
}

bool Instance::close_velocities(const std::vector<char>& held, double speed) {
    Demands now = demands(true);
    const double limit = accepted * std::max(speed, now.largest());
    SmallestMotion motion(mass_matrix(), now.rows, held);
    for (double damping = least_damping; damping > rounding; damping /= 100) {  // a weak one finds a long lever
        if (!motion.factorise(damping)) return false;
        for (int pass = 0; pass < 3; ++pass) {  // the later ones take out what the damping left
            const Vector d = motion.solve(now.values);
            for (int k = 0; k < system.nv; ++k) state.v[k] += d[k];
            v = state.v;
            now = demands(true);
        }
        if (now.largest() <= limit) return true;
    }
    return false;
}

void Instance::correct_velocities(const StartOptions& options) {
    const Demands given = demands(true);
    if (given.values.size() == 0) return;
    const double speed = fastest(1, state.v);
    const int worst = given.worst();
    if (!(given.largest() <= consistent * speed) && !options.correct && system.conditions.empty())
        throw ModelError("the start velocities do not fit the joints: " + given.labels[worst] + " opens with " +
                         given.shown(worst) +
                         "; correct the velocities, or ask for assembly (assemble=True, --assemble)");
    const std::vector<double> before = state.v;
    const auto met = [&](const std::vector<char>& held) {
        state.v = v = before;
        return close_velocities(held, speed);
    };
    const std::vector<char> held = held_coordinates(options.v);
    if (met_with_guesses(true, [&] { return met(held); })) return;
    if (!options.v.empty() && met(held_coordinates({}))) refuse_kept(options.v);
    throw StepFailed("assembly failed: no velocities fit the joints; worst: " + given.labels[worst] + " opens with " +
                     given.shown(worst) + "; change the start velocities" + held_hint() + required_hint());
}

// Two motions that drive the same may fit each other at the start and part from there.
void Instance::check_rates_left_out() {
    if (state.redundancies.empty()) return;
    const double size = fastest(1, v);
    system.rates(state_point(), work, index1_.velocity.data(), index1_.gamma.data());
    for (int k : repeating())
        if (const int row = k - system.nv;
            !(std::fabs(index1_.velocity[row]) * row_scale_[row] <= fitting_rates * size))
            throw ModelError(label(k) + " repeats what other joints or motions hold, but opens with " +
                             number(index1_.velocity[row]) + (system.rotational[k] ? " rad/s" : " m/s") +
                             "; leave one of them out, or let them agree");
}

// Angles count their turns from the value nearest to the last one.
void Instance::follow_turns() {
    if (system.turns == 0) return;
    system.monitor(state_point(), work, monitor_.data());
    std::copy_n(monitor_.begin(), system.turns, state.turns.begin());
}

void Instance::check_sides() {
    if (system.sides == 0) return;
    system.monitor(state_point(), work, monitor_.data());
    for (int k = 0; k < system.sides; ++k)
        if (!(monitor_[system.turns + k] > 0))
            throw ModelError(system.side_labels[k] +
                             " point in opposite directions at the start; turn the frame of one end about, or give "
                             "start positions nearer to the wanted configuration");
}

}  // namespace mbd
