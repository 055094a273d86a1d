// Rows that repeat others: found by a rank-revealing factorisation, left out of the motion, and given their share of
// the reactions (the smallest in the least-squares sense) when these are reported (T7.13).
#include <algorithm>
#include <cmath>
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

// G with translations in the model's length and rows of size one, transposed.
Eigen::SparseMatrix<double> Instance::unit_gradient(std::vector<double>& sizes) const {
    std::vector<Eigen::Triplet<double>> entries;
    sizes.assign(system.nc, 0.0);
    for_each_gradient_entry([&](int row, int col, double value) {
        const double scaled = value * unit(col);
        if (!std::isfinite(scaled)) return;
        entries.emplace_back(col, row, scaled);
        sizes[row] += scaled * scaled;
    });
    for (double& size : sizes) size = std::sqrt(size);
    std::vector<Eigen::Triplet<double>> unit;
    for (const auto& e : entries)
        if (sizes[e.col()] > 0) unit.emplace_back(e.row(), e.col(), e.value() / sizes[e.col()]);
    Eigen::SparseMatrix<double> transposed(system.nv, system.nc);
    transposed.setFromTriplets(unit.begin(), unit.end());
    return transposed;
}

// The rows that repeat others at the last evaluate_index1(), and what they repeat.
std::vector<Redundancy> Instance::repeated_rows(double threshold) const {
    std::vector<Redundancy> found;
    // Eigen::SparseQR reads beyond an empty matrix
    if (static_cast<int>(state.inactive.size()) == system.nc) return found;
    std::vector<double> sizes;
    const auto transposed = unit_gradient(sizes);
    Eigen::SparseQR<Eigen::SparseMatrix<double>, Eigen::NaturalOrdering<int>> qr;  // earlier rows are kept
    qr.setPivotThreshold(threshold);
    qr.compute(transposed);
    if (qr.info() != Eigen::Success) return found;
    const int rank = static_cast<int>(qr.rank());
    if (rank == system.nc) return found;
    const Eigen::SparseMatrix<double> R = qr.matrixR();
    const auto& order = qr.colsPermutation().indices();
    for (int k = rank; k < system.nc; ++k) {
        Redundancy r{order[k], {}};
        if (!is_active(r.row)) continue;
        Eigen::VectorXd combination = Eigen::VectorXd(R.col(k)).head(rank);
        R.topLeftCorner(rank, rank).template triangularView<Eigen::Upper>().solveInPlace(combination);
        for (int j = 0; j < rank; ++j)
            if (std::fabs(combination[j]) > mentioned)
                r.repeats.emplace_back(order[j], combination[j] * sizes[order[k]] / sizes[order[j]]);
        found.push_back(std::move(r));
    }
    return found;
}

bool Instance::choose_rows() {
    const auto before = state.dropped;
    state.redundancies.clear();
    leave_out();
    if (system.nc > 0) {
        evaluate_index1();
        if (has_loops() && !surely_independent()) state.redundancies = repeated_rows(dependent);
    }
    leave_out();
    if (state.dropped == before) return false;
    state.misfit = 0;
    const double open = state.redundancies.empty() ? 0 : position_violation().scaled;
    state.misfit = std::max(margin * open, least_misfit);
    state.misfit_limit = std::clamp(growth * open, least_limit, greatest_limit);
    return true;
}

bool Instance::choose_rows_ahead(double h) {
    const auto here = state.q;
    for (int k = 0; k < system.nv; ++k) state.q[k] += h * state.v[k];
    system.settle(state.q.data());
    const bool changed = choose_rows();
    state.q = here;
    return changed;
}

bool Instance::allow_misfit(int row, double open) {
    if (row < 0 || !is_left_out(row) || !(open < state.misfit_limit)) return false;
    state.misfit = std::min(widening * open, state.misfit_limit);
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
    for (const auto& r : repeated_rows(threshold))
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
