// Consistent start: positions on Phi = 0, velocities on G v = -Phi_t, each moved as little as possible in the mass
// metric from what the user gave (T7.12), with held coordinates where they are and the joints' start values met.
#include <algorithm>
#include <cmath>

#include "assembly.hpp"

namespace mbd {
namespace {

constexpr double widest = 1e-3;         // of the model's length: what joints may stay open by, where that is asked for
constexpr double fitting_rates = 1e-5;  // of the largest rate: rows left out
constexpr double nearly_repeating = 1e-3;  // of a row of size one

}  // namespace

void Instance::start(const StartOptions& given) {
    update();
    place_at_start();
    let_time_run();
    wanted_.assign(system.conditions.size(), 1);
    set_by_motions_.clear();
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
    hold_turns();
}

// Bodies may start full turns apart; they stay so.
void Instance::hold_turns() {
    constexpr double turn = 6.283185307179586;
    if (system.periodic.empty()) return;
    for (int row : system.periodic) state.hold[row] = 0;
    phi_.resize(system.nc);
    system.constraints(state_point(), work, phi_.data());
    for (int row : system.periodic)
        if (is_active(row) && std::isfinite(phi_[row])) state.hold[row] = turn * std::nearbyint(phi_[row] / turn);
}

// Whether the start fits the joints, so that no user has to be told of it, but for what inputs open and motions set.
bool Instance::fits_as_written() {
    const Demands positions = demands(false), velocities = demands(true);
    return positions.size(positions.worst(true)) <= consistent &&
           velocities.size(velocities.worst(true)) <= consistent * fastest(1, state.v);
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
    set_by_motions_.clear();
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

void Instance::refuse_not_finite(const Demands& given) {
    for (int k = 0; k < given.values.size(); ++k)
        if (!std::isfinite(given.values[k]))
            throw StepFailed(given.labels[k] + " is not finite at t = " + number(state.t) + " s; " +
                             odd_expression("look for a division by zero or a root of a negative number in it"));
}

void Instance::correct_positions(const StartOptions& options) {
    const Demands given = demands(false);
    refuse_not_finite(given);
    const int joint = given.worst(true);
    if (options.open && given.largest() <= widest && system.conditions.empty()) return;
    if (!(given.size(joint) <= consistent) && !options.correct && system.conditions.empty())
        throw ModelError(
            "the start positions do not fit the joints: " + given.labels[joint] + " is off by " + given.shown(joint) +
            "; correct the positions, or ask for assembly (assemble=True, --assemble, solver.assemble of an FMU)");
    if (given.values.size() == 0) return;
    tell_motions(given, consistent, "position");
    const std::vector<char> held = held_coordinates(options.q);
    const Guess guess{state.q, state.turns, mass_matrix()};
    close_joints(options, held);
    if (state.q != guess.q) approach(guess, held);
    if (options.correct || !system.conditions.empty())
        while (flip(guess, held)) continue;
}

// Motions set what they drive; a reader of the results has to know by how much. Where joints have start values nothing
// counts as written.
void Instance::tell_motions(const Demands& given, double limit, const std::string& what) {
    if (!system.conditions.empty()) return;
    for (int k = 0; k < given.values.size(); ++k)
        if (given.drives[k] && !(given.size(k) <= limit))
            set_by_motions_.push_back(given.labels[k] + " sets the " + what + " that its joint starts with, " +
                                      number(-given.values[k]) + " " + given.units[k] + " from the one written");
}

void Instance::close_joints(const StartOptions& options, const std::vector<char>& held) {
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

void Instance::correct_velocities(const StartOptions& options) {
    const Demands given = demands(true);
    refuse_not_finite(given);
    if (given.values.size() == 0) return;
    const double speed = fastest(1, state.v);
    const bool posed_anew = !set_by_motions_.empty();  // the velocities belong to another pose
    tell_motions(given, consistent * speed, "velocity");
    const int joint = given.worst(true), worst = given.worst();
    if (!(given.size(joint) <= consistent * speed) && !options.correct && !posed_anew && system.conditions.empty())
        throw ModelError(
            "the start velocities do not fit the joints: " + given.labels[worst] + " opens with " + given.shown(worst) +
            "; correct the velocities, or ask for assembly (assemble=True, --assemble, solver.assemble of an FMU)");
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
    for (int k : reversed_sides())
        throw ModelError(system.side_labels[k] +
                         " point in opposite directions at the start; turn the frame of one end about, or give "
                         "start positions nearer to the wanted configuration");
}

}  // namespace mbd
