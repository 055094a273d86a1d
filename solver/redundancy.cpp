// Rows that repeat others: found by a rank-revealing factorisation, left out of the motion, exchanged for rows kept as
// the mechanism turns (T7.15), and given their share of the reactions (the smallest in the least-squares sense) when
// these are reported (T7.13).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "instance.hpp"

namespace mbd {
namespace {

constexpr double dependent = 1e-6;  // of a row of size one: less is rounding of the numbers in a file
// How far rows left out may be open, of the model's length: what they were at the choice tells exact from rounded.
constexpr double least_misfit = 1e-11, least_limit = 1e-8, greatest_limit = 1e-5;
constexpr double margin = 4, growth = 1000;  // times that: before the choice is looked at again, and at most
constexpr double widening = 10;              // where that comes out the same
constexpr double nearly_dependent = 0.1;     // of a mechanism that could not get past its dead point
constexpr double mentioned = 1e-6;           // coefficients below this are rounding
constexpr double negligible = 1e-13;         // of the largest shift of a reaction
constexpr double largest_coefficient = 1.2;  // of a row left out in the rows kept, both of size one
constexpr int most_iterations = 20;
constexpr double clearly = 10;        // more open than the rows kept: no longer a combination of these
constexpr double closed = 1e-10;      // joints, of the model's length, where rows are to be told apart
constexpr double nearby = 0.01;       // rad or model's lengths: where that is looked at
constexpr double another_pose = 0.2;  // rad or model's lengths: rows have turned by about as much

}  // namespace

// Whether rows can repeat each other at all: not where joints and bodies form trees that hang on the ground.
bool Instance::has_loops() const {
    std::vector<int> parent(system.nodes.count() + 1);
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int k) {
        while (parent[k] != k) k = parent[k] = parent[parent[k]];
        return k;
    };
    std::vector<std::vector<int>> touched(system.nodes.count());  // what each joint holds
    for_each_gradient_entry([&](int row, int col, double) {
        auto& t = touched[system.nodes.of_unknown[system.nv + row]];
        const int body = system.nodes.of_unknown[col];
        if (std::find(t.begin(), t.end(), body) == t.end()) t.push_back(body);
    });
    for (auto& t : touched) {
        if (t.size() == 1) t.push_back(system.nodes.count());  // the ground
        for (std::size_t k = 1; k < t.size(); ++k) {
            const int a = root(t[0]), b = root(t[k]);
            if (a == b) return true;
            parent[a] = b;
        }
    }
    return false;
}

// Where no pivot of the elimination loses half of its digits, no row is near a combination of others: this costs one
// factorisation, the rank-revealing one below grows with the square of the number of loops and more.
bool Instance::surely_independent() {
    const Elimination& program = system.elimination(Order::patient);
    if (!program.exists()) return false;
    index1_.factor.values.resize(program.values());
    if (!state.inactive.empty()) mask();
    return program.factorise(work.singles, work.pairs, state.inactive, index1_.factor.values.data());
}

// Sizes of the rows of G, with translations in the model's length.
std::vector<double> Instance::row_sizes() const {
    std::vector<double> sizes(system.nc, 0.0);
    for_each_gradient_entry([&](int row, int col, double value) {
        if (const double scaled = value * unit(col); std::isfinite(scaled)) sizes[row] += scaled * scaled;
    });
    for (double& size : sizes) size = std::sqrt(size);
    return sizes;
}

// Rows in the order in which they are kept where they can be: those of positions, of velocities, of accelerations;
// among these the ones kept so far, and earlier ones.
std::vector<int> Instance::by_preference() const {
    std::vector<int> rows(system.nc);
    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(rows.begin(), rows.end(), [&](int a, int b) {
        return std::pair(system.level[a], is_left_out(a)) < std::pair(system.level[b], is_left_out(b));
    });
    return rows;
}

// The rows that repeat others at the last evaluate_index1(), and what they repeat.
std::vector<Redundancy> Instance::repeated_rows(double threshold, const std::vector<double>& sizes,
                                                const std::vector<int>& preferred) const {
    std::vector<Redundancy> found;
    // Eigen::SparseQR reads beyond an empty matrix
    if (static_cast<int>(state.inactive.size()) == system.nc) return found;
    std::vector<int> place(system.nc);
    for (int k = 0; k < system.nc; ++k) place[preferred[k]] = k;
    std::vector<Eigen::Triplet<double>> entries;  // rows of size one
    for_each_gradient_entry([&](int row, int col, double value) {
        const double scaled = value * unit(col) / sizes[row];
        if (std::isfinite(scaled)) entries.emplace_back(col, place[row], scaled);
    });
    Eigen::SparseMatrix<double> transposed(system.nv, system.nc);
    transposed.setFromTriplets(entries.begin(), entries.end());
    Eigen::SparseQR<Eigen::SparseMatrix<double>, Eigen::NaturalOrdering<int>> qr;  // earlier rows are kept
    qr.setPivotThreshold(threshold);
    qr.compute(transposed);
    if (qr.info() != Eigen::Success) return found;
    const int rank = static_cast<int>(qr.rank());
    if (rank == system.nc) return found;
    const Eigen::SparseMatrix<double> R = qr.matrixR();
    const auto& permutation = qr.colsPermutation().indices();
    const auto row_at = [&](int k) { return preferred[permutation[k]]; };
    for (int k = rank; k < system.nc; ++k) {
        Redundancy r{row_at(k), {}};
        if (!is_active(r.row)) continue;
        Eigen::VectorXd combination = Eigen::VectorXd(R.col(k)).head(rank);
        R.topLeftCorner(rank, rank).template triangularView<Eigen::Upper>().solveInPlace(combination);
        for (int j = 0; j < rank; ++j)
            if (std::fabs(combination[j]) > mentioned)
                r.repeats.emplace_back(row_at(j), combination[j] * sizes[r.row] / sizes[row_at(j)]);
        found.push_back(std::move(r));
    }
    return found;
}

Instance::ClosedPose::ClosedPose(Instance& instance) : instance_(instance) {
    if (!(instance.position_violation().scaled > closed)) return;
    const auto here = instance.state.q;
    if (instance.close_rows_kept()) instance.closed_pose_ = instance.state.q;
    instance.state.q = here;
}

bool Instance::choose_rows() {
    if (closed_pose_.empty()) return choose_rows_here();
    state.q.swap(closed_pose_);
    const bool changed = choose_rows_here();
    state.q.swap(closed_pose_);
    return changed;
}

bool Instance::choose_rows_here() {
    const auto before = state.dropped, preferred = by_preference();
    state.redundancies.clear();
    leave_out();
    if (system.nc > 0) {
        evaluate_index1();
        if (has_loops() && !surely_independent()) {
            const auto sizes = row_sizes();
            state.redundancies = repeated_rows(dependent, sizes, preferred);
            exchange(sizes);
            state.looked_at = state.q;
        }
    }
    leave_out();
    if (state.dropped == before) return false;
    state.misfit = 0;
    const double open = state.redundancies.empty() ? 0 : position_violation().scaled;
    state.misfit = std::max(margin * open, least_misfit);
    state.misfit_limit = std::clamp(growth * open, least_limit, greatest_limit);
    return true;
}

// ---------------------------------------------------------------- rows that turn dependent

// Rows left out in groups within which no two repeat the same row: one solution shows what all of a group are made of,
// and the loops of a mechanism are apart. A group for every unknown of a row left out, 0 for all others.
int Instance::group_rows(std::vector<int>& group) const {
    group.assign(system.nc, 0);
    std::vector<std::vector<int>> taken(system.nc);  // groups that repeat a row
    int count = 0;
    for (const auto& r : state.redundancies) {
        int& g = group[r.row] = 1;
        const auto meets = [&](const auto& repeated) {
            const auto& t = taken[repeated.first];
            return std::find(t.begin(), t.end(), g) != t.end();
        };
        while (std::any_of(r.repeats.begin(), r.repeats.end(), meets)) ++g;
        for (const auto& repeated : r.repeats) taken[repeated.first].push_back(g);
        count = std::max(count, g);
    }
    return count;
}

// Far enough from where the rows were last looked at.
bool Instance::has_turned() const {
    double moved = 0;
    for (int k = 0; k < system.nv; ++k) moved = std::max(moved, std::fabs(state.q[k] - state.looked_at[k]) / unit(k));
    for (int k = system.nv; k < system.nq(); ++k)  // quaternions have half of the angle
        moved = std::max(moved, 2 * std::fabs(state.q[k] - state.looked_at[k]));
    return moved > another_pose;
}

// unknowns_ := what the sum of rows left out, of size one, is made of (T7.13).
template <class Taken>
void Instance::decompose(const std::vector<double>& sizes, Taken&& taken) {
    std::fill(unknowns_.begin(), unknowns_.end(), 0.0);
    for (const auto& g : dropped_gradients_)
        if (const int row = g.row - system.nv; taken(row)) unknowns_[g.col] += g.value / sizes[row];
    solve(index1_.factor, unknowns_.data());
}

// Whether a row kept has a large coefficient in one left out (T7.15).
bool Instance::wears_out(const std::vector<double>& sizes) {
    std::vector<int> group;
    const int groups = group_rows(group);
    for (int g = 1; g <= groups; ++g) {
        decompose(sizes, [&](int row) { return group[row] == g; });
        for (int row = 0; row < system.nc; ++row)
            if (std::fabs(unknowns_[system.nv + row]) * sizes[row] > largest_coefficient) return true;
    }
    return false;
}

bool Instance::exchange_rows() { return !state.redundancies.empty() && has_turned() && exchange_rows_here(); }

bool Instance::exchange_rows_here() {
    state.looked_at = state.q;
    evaluate_index1();
    const auto sizes = row_sizes();
    Order order = state.order;
    if (!factorise(index1_.factor, order) || !wears_out(sizes)) return false;
    for (auto& r : state.redundancies) {
        decompose(sizes, [&](int row) { return row == r.row; });
        r.repeats.clear();
        for (int row = 0; row < system.nc; ++row)
            if (const double c = unknowns_[system.nv + row] * sizes[r.row];
                std::fabs(c) * sizes[row] > mentioned * sizes[r.row])
                r.repeats.emplace_back(row, c);
    }
    const bool changed = exchange(sizes);
    leave_out();
    return changed;
}

// The same at a pose that no step led to, where the rows kept may be singular: as many others are chosen there.
bool Instance::exchange_rows_anywhere() {
    if (state.redundancies.empty() || !has_turned()) return false;
    if (exchange_rows()) return true;
    Order order = state.order;
    if (factorise(index1_.factor, order)) return false;
    const State before = state;
    if (choose_rows() && state.redundancies.size() == before.redundancies.size()) return true;
    state = before;
    return false;
}

// Exchanges a row left out for the row kept that has the largest coefficient in it, until none is large: the rows
// kept span the largest volume nearby ([GuEisenstat96]). Multipliers follow, so that G^T lambda stays.
bool Instance::exchange(const std::vector<double>& sizes) {
    bool changed = false;
    for (;;) {
        Redundancy* in = nullptr;
        std::size_t place = 0;
        double largest = largest_coefficient;
        for (auto& r : state.redundancies)
            for (std::size_t k = 0; k < r.repeats.size(); ++k) {
                const auto [row, coefficient] = r.repeats[k];
                const double size = std::fabs(coefficient) * sizes[row] / sizes[r.row];
                if (size > largest && system.level[row] == system.level[r.row]) in = &r, place = k, largest = size;
            }
        if (in == nullptr) return changed;
        changed = true;
        exchange(*in, place);
    }
}

// What `in` leaves out is kept in the place of the row that it repeats at `place`.
void Instance::exchange(Redundancy& in, std::size_t place) {
    const auto [out, pivot] = in.repeats[place];
    const double force = state.lambda[out] / pivot;  // lambda_out g_out, in rows kept
    std::vector<double> made_of(system.nc, 0.0);     // g_out = (g_in - the other rows)/pivot
    for (const auto& [row, coefficient] : in.repeats) made_of[row] = -coefficient / pivot;
    made_of[out] = 0, made_of[in.row] = 1 / pivot;
    for (const auto& [row, coefficient] : in.repeats) state.lambda[row] -= force * coefficient;
    state.lambda[out] = 0, state.lambda[in.row] = force;
    for (auto& r : state.redundancies) {
        if (&r == &in) continue;
        std::vector<double> sum(system.nc, 0.0);
        for (const auto& [row, coefficient] : r.repeats) sum[row] = coefficient;
        const double through = sum[out];
        if (through == 0) continue;
        sum[out] = 0;
        for (int row = 0; row < system.nc; ++row) sum[row] += through * made_of[row];
        r.repeats.clear();
        for (int row = 0; row < system.nc; ++row)
            if (sum[row] != 0) r.repeats.emplace_back(row, sum[row]);
    }
    in.row = out;
    in.repeats.clear();
    for (int row = 0; row < system.nc; ++row)
        if (made_of[row] != 0) in.repeats.emplace_back(row, made_of[row]);
}

// ---------------------------------------------------------------- rows that fit no longer

// Where joints are open rows that repeat others seem not to: those kept are closed there, and near enough for that to
// be the branch on which the mechanism is.
bool Instance::choose_rows_ahead(double h) {
    const auto here = state.q;
    const double t = state.t;
    h = std::min(h, nearby / fastest(std::numeric_limits<double>::min(), state.v));
    for (int k = 0; k < system.nv; ++k) state.q[k] += h * state.v[k];
    system.settle(state.q.data());
    state.t += h;
    const bool changed = close_rows_kept() && choose_rows();
    state.q = here, state.t = t;
    return changed;
}

bool Instance::close_rows_kept() {
    const auto before = state.q;
    const double open = std::max(closed, position_violation().scaled);
    // rows left out close with them, but for what they hold alone
    if (newton_of_rows_kept() && position_violation().scaled <= 2 * open) return true;
    state.q = before;
    return false;
}

// Newton's iteration for the state's positions, each time by the least motion; false where that leads nowhere.
bool Instance::newton_of_rows_kept() {
    Order order = state.order;
    phi_.resize(system.nc);
    for (int iteration = 0; iteration < most_iterations; ++iteration) {
        system.constraints(state_point(), work, phi_.data());
        double open = 0;
        for (int k = 0; k < system.nc; ++k) {
            if (system.level[k] > 0 || is_left_out(k)) phi_[k] = 0;
            open = std::max(open, std::fabs(phi_[k]) * row_scale_[k]);
        }
        if (open <= closed) return true;
        evaluate_index1();
        if (!std::isfinite(open) || !factorise(index1_.factor, order)) return false;
        std::fill(unknowns_.begin(), unknowns_.end(), 0.0);
        for (int k = 0; k < system.nc; ++k) unknowns_[system.nv + k] = -phi_[k];
        solve(index1_.factor, unknowns_.data());
        for (int k = 0; k < system.nv; ++k) state.q[k] += unknowns_[k];
        system.settle(state.q.data());
    }
    return false;
}

bool Instance::allow_misfit(int row, double open) {
    if (row < 0 || !is_left_out(row) || !(open < state.misfit_limit)) return false;
    state.misfit = std::min(widening * open, state.misfit_limit);
    return true;
}

bool Instance::opens_alone() {
    phi_.resize(system.nc);
    system.constraints(state_point(), work, phi_.data());
    double open[2] = {};  // rows kept, rows left out
    for (int row = 0; row < system.nc; ++row)
        if (is_active(row)) {
            double& most = open[is_left_out(row)];
            most = std::max(most, std::fabs(phi_[row]) * row_scale_[row]);
        }
    if (!(open[1] > state.misfit && open[1] > clearly * open[0])) return false;
    state.misfit = 2 * open[1];  // until then there is nothing new to see
    return true;
}

bool Instance::is_left_out(int row) const {
    return std::binary_search(state.dropped.begin(), state.dropped.end(), system.nv + row);
}

std::string Instance::dead_point() { return nearly_repeated(nearly_dependent); }

std::string Instance::nearly_repeated(double threshold) {
    if (system.nc == 0) return {};
    v = state.v;
    evaluate_index1();
    std::string names;
    for (const auto& r : repeated_rows(threshold, row_sizes(), by_preference()))
        if (!is_left_out(r.row)) names += (names.empty() ? "" : ", ") + label(system.nv + r.row);
    return names;
}

// What belongs to the rows left out in the derivative stream.
void Instance::find_masked() {
    if (masked_ == state.dropped) return;
    masked_ = state.dropped;
    masked_singles_.clear(), masked_pairs_.clear();
    const auto is_dropped = [&](int k) { return std::binary_search(masked_.begin(), masked_.end(), k); };
    const auto& pattern = system.pattern;
    for (std::size_t e = 0; e < pattern.singles.size(); ++e)
        if (is_dropped(pattern.singles[e].row) || is_dropped(pattern.singles[e].col))
            masked_singles_.push_back(static_cast<int>(e));
    for (std::size_t e = 0; e < pattern.pairs.size(); ++e)
        if (is_dropped(pattern.pairs[e].row)) masked_pairs_.push_back(static_cast<int>(e));
}

// Takes the rows left out from the derivative stream; what they held goes to `dropped_gradients_`.
void Instance::mask() {
    find_masked();
    dropped_gradients_.clear();
    for (int e : masked_singles_) {
        const auto& p = system.pattern.singles[e];
        if (p.row >= system.nv && p.col < system.nv) dropped_gradients_.push_back({p.row, p.col, work.singles[e]});
        work.singles[e] = 0;
    }
    for (int e : masked_pairs_) {
        const auto& p = system.pattern.pairs[e];
        dropped_gradients_.push_back({p.row, p.col, work.pairs[e]});
        work.pairs[e] = 0;
    }
}

// lambda := the smallest one with the same G^T lambda. Every row left out gives a direction along which reactions can
// be shifted without any effect on the motion; torques count by the model's length. A loop's direction touches the rows
// of that loop only, so that many loops cost little.
void Instance::spread_reactions() {
    const auto repeated = repeating();
    const int count = static_cast<int>(repeated.size());
    largest_share_ = 0;
    if (count == 0) return;
    const auto weight = [&](int row) { return system.rotational[system.nv + row] ? 1 / length() : 1.0; };
    std::vector<Eigen::Triplet<double>> entries;
    for (int k = 0; k < count; ++k) {
        std::fill(unknowns_.begin(), unknowns_.end(), 0.0);
        for (const auto& g : dropped_gradients_)
            if (g.row == repeated[k]) unknowns_[g.col] += g.value;
        solve(index1_.factor,
              unknowns_.data());  // [M G^T; G 0][0; c] = [g; 0]: g is the combination c of the rows kept
        unknowns_[repeated[k]] = -1;
        double largest = 0;
        for (int row = 0; row < system.nc; ++row)
            largest = std::max(largest, std::fabs(unknowns_[system.nv + row]) * weight(row));
        largest_share_ = std::max(largest_share_, largest / weight(repeated[k] - system.nv));
        for (int row = 0; row < system.nc; ++row)
            if (const double shift = -unknowns_[system.nv + row] * weight(row); std::fabs(shift) > negligible * largest)
                entries.emplace_back(row, k, shift);
    }
    Eigen::SparseMatrix<double> shifts(system.nc, count);
    shifts.setFromTriplets(entries.begin(), entries.end());
    Eigen::VectorXd force(system.nc);
    for (int row = 0; row < system.nc; ++row) force[row] = lambda[row] * weight(row);
    Eigen::SparseQR<Eigen::SparseMatrix<double>, Eigen::COLAMDOrdering<int>> qr(shifts);
    force -= shifts * Eigen::VectorXd(qr.solve(force));
    for (int row = 0; row < system.nc; ++row) lambda[row] = force[row] / weight(row);
}

}  // namespace mbd
