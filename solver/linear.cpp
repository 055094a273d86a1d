#include "linear.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace mbd {
namespace {

// A pivot this much smaller than what was added and subtracted to make it has lost half of its digits. Units cancel in
// that ratio; a comparison with the rest of its row would weigh kilograms against metres.
constexpr double pivot_threshold = 1e-8;

// Arithmetic of both kinds of numbers; std::complex would look for infinities in every product.
double product(double a, double b) { return a * b; }
Complex product(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
double reciprocal(double a) { return 1 / a; }
Complex reciprocal(Complex a) {
    const double square = a.real() * a.real() + a.imag() * a.imag();
    return {a.real() / square, -a.imag() / square};
}
double magnitude(double a) { return std::fabs(a); }
double magnitude(Complex a) { return std::fabs(a.real()) + std::fabs(a.imag()); }

template <class F>
void for_each_entry(const Pattern& pattern, F&& f) {
    for (const auto& p : pattern.singles) f(p.row, p.col);
    for (const auto& p : pattern.pairs) {
        f(p.row, p.col);
        f(p.col, p.row);
    }
}

// The quotient graph of the elimination: nodes, their sizes and their present neighbours.
struct Graph {
    std::vector<std::set<int>> neighbours;
    std::vector<int> size;

    Graph(const Pattern& pattern, int n, const Nodes& nodes) : neighbours(nodes.count()), size(nodes.count()) {
        for (int k = 0; k < n; ++k) ++size[nodes.of_unknown[k]];
        for_each_entry(pattern, [&](int r, int c) {
            const int a = nodes.of_unknown[r], b = nodes.of_unknown[c];
            if (a != b) neighbours[a].insert(b), neighbours[b].insert(a);
        });
    }
    int degree(int node) const {
        int d = 0;
        for (int b : neighbours[node]) d += size[b];
        return d;
    }
    void eliminate(int node) {
        for (int a : neighbours[node]) {
            neighbours[a].erase(node);
            for (int b : neighbours[node])
                if (b != a) neighbours[a].insert(b);
        }
        neighbours[node].clear();
    }
};

// When a node without mass may be eliminated. A joint's rows: when all their bodies are gone, or (eager) when one is
// whose free motions are not yet used up by other rows. A coordinate without mass: when everything around it is gone.
class Eligibility {
public:
    Eligibility(const Graph& graph, const Nodes& nodes, Order order)
        : nodes_(nodes),
          order_(order),
          followers_(nodes.count()),
          waiting_(nodes.count()),
          left_(graph.size),
          ready_(nodes.count()) {
        for (int node = 0; node < nodes.count(); ++node) {
            if (!nodes.has_mass[node])
                for (int b : graph.neighbours[node]) {
                    const bool first = nodes.has_mass[b] || (nodes.is_row[b] && !nodes.is_row[node]);
                    if (!first) continue;
                    ++waiting_[node];
                    followers_[b].push_back(node);
                }
            ready_[node] = waiting_[node] == 0;  // with nothing to wait for, the pivot check will judge it
        }
    }
    bool ready(int node) const { return ready_[node]; }

    // Returns the nodes that may follow now.
    std::vector<int> eliminated(int node, const Graph& graph) {
        std::vector<int> released;
        const auto release = [&](int follower) {
            left_[node] -= graph.size[follower];
            ready_[follower] = true;
            released.push_back(follower);
        };
        for (int f : followers_[node])  // the last they waited for: rows lean on it whether there is room or not
            if (--waiting_[f] == 0 && !ready_[f]) release(f);
        for (int f : followers_[node])
            if (order_ == Order::eager && !ready_[f] && nodes_.is_row[f] && graph.size[f] <= left_[node]) release(f);
        return released;
    }

private:
    const Nodes& nodes_;
    Order order_;
    std::vector<std::vector<int>> followers_;  // nodes that wait for each node
    std::vector<int> waiting_, left_;
    std::vector<char> ready_;
};

}  // namespace

// Minimum degree over whole bodies and joints; ties go to the node farthest from the start of the model, so that chains
// are eliminated from their tips.
std::vector<int> elimination_order(const Pattern& pattern, int n, const Nodes& nodes, Order order, double budget) {
    Graph graph(pattern, n, nodes);
    Eligibility eligibility(graph, nodes, order);
    using Entry = std::pair<int, int>;  // degree, -node
    std::set<Entry> queue;
    std::vector<int> key(nodes.count(), -1);
    const auto update = [&](int node) {
        if (key[node] >= 0) queue.erase({key[node], -node});
        key[node] = graph.degree(node);
        queue.insert({key[node], -node});
    };
    for (int node = 0; node < nodes.count(); ++node)
        if (eligibility.ready(node)) update(node);

    std::vector<int> sequence;
    while (!queue.empty()) {
        const int degree = queue.begin()->first, size = graph.size[-queue.begin()->second];
        for (int k = 0; k < size; ++k) budget -= static_cast<double>(degree + k) * (degree + k);
        if (budget < 0) return {};
        const int node = -queue.begin()->second;
        queue.erase(queue.begin());
        key[node] = -1;
        const std::vector<int> touched(graph.neighbours[node].begin(), graph.neighbours[node].end());
        graph.eliminate(node);
        sequence.push_back(node);
        const auto released = eligibility.eliminated(node, graph);
        for (int t : touched)
            if (key[t] >= 0) update(t);
        for (int r : released) update(r);
    }

    std::vector<int> position(nodes.count()), unknowns(n);
    for (int k = 0; k < nodes.count(); ++k) position[sequence[k]] = k;
    for (int k = 0; k < n; ++k) unknowns[k] = k;
    std::stable_sort(unknowns.begin(), unknowns.end(),
                     [&](int a, int b) { return position[nodes.of_unknown[a]] < position[nodes.of_unknown[b]]; });
    return unknowns;
}

Elimination::Elimination(const Pattern& pattern, int n, const Nodes& nodes, Order order, double budget) {
    const auto sequence = elimination_order(pattern, n, nodes, order, budget);
    if (sequence.empty()) return;
    n_ = n;
    unknown_.assign(sequence.begin(), sequence.end());
    position_.resize(n);
    for (int k = 0; k < n; ++k) position_[sequence[k]] = k;
    const auto& position = position_;

    // structure of U (and of L, transposed) by symbolic elimination
    std::vector<std::vector<int>> upper(n);
    for_each_entry(pattern, [&](int r, int c) {
        const int a = position[r], b = position[c];
        if (a != b) upper[std::min(a, b)].push_back(std::max(a, b));
    });
    begin_.push_back(0);
    for (int k = 0; k < n; ++k) {
        auto& row = upper[k];
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        if (!row.empty()) {  // the next pivot of the row inherits the rest: its other pivots get it from there
            auto& next = upper[row.front()];
            next.insert(next.end(), row.begin() + 1, row.end());
        }
        column_.insert(column_.end(), row.begin(), row.end());
        begin_.push_back(static_cast<std::int32_t>(column_.size()));
    }

    // places: diagonal, then U by rows, then L by columns
    const auto fill = static_cast<std::int32_t>(column_.size());
    place_count_ = n + 2 * column_.size();
    const auto place = [&](int r, int c) -> std::int32_t {
        if (r == c) return r;
        const int k = std::min(r, c), other = std::max(r, c);
        const auto first = column_.begin() + begin_[k], last = column_.begin() + begin_[k + 1];
        const auto at = static_cast<std::int32_t>(std::lower_bound(first, last, other) - column_.begin());
        return n + at + (r < c ? 0 : fill);
    };
    for (int k = 0; k < n; ++k)
        for (int a = begin_[k]; a < begin_[k + 1]; ++a)
            for (int b = begin_[k]; b < begin_[k + 1]; ++b) update_.push_back(place(column_[a], column_[b]));
    for (int k = 0; k < n; ++k)
        for (int a = begin_[k]; a < begin_[k + 1]; ++a) forward_.push_back({column_[a], k});
    std::vector<std::vector<std::int32_t>> of_column(
        n);  // by columns, so that successive steps do not wait for each other
    for (int a = 0; a < fill; ++a) of_column[column_[a]].push_back(a);
    for (int c = n - 1; c >= 0; --c)
        for (auto a : of_column[c]) {
            backward_.push_back({forward_[a].from, c});
            backward_value_.push_back(a);
        }
    for (std::size_t e = 0; e < pattern.singles.size(); ++e)
        if (pattern.singles[e].row == pattern.singles[e].col) diagonal_singles_.push_back(static_cast<std::int32_t>(e));
    for (const auto& p : pattern.singles) single_place_.push_back(place(position[p.row], position[p.col]));
    for (const auto& p : pattern.pairs) {
        pair_place_.push_back(place(position[p.row], position[p.col]));
        transposed_place_.push_back(place(position[p.col], position[p.row]));
    }
}

template <class Scalar>
bool Elimination::factorise(const std::vector<Scalar>& singles, const std::vector<double>& pairs,
                            const std::vector<int>& fixed, Scalar* factor) const {
    std::fill(factor, factor + place_count_, Scalar(0));
    for (std::size_t e = 0; e < singles.size(); ++e) factor[single_place_[e]] += singles[e];
    for (std::size_t e = 0; e < pairs.size(); ++e) {
        factor[pair_place_[e]] += pairs[e];
        factor[transposed_place_[e]] += pairs[e];
    }
    Scalar* const U = factor + n_;
    Scalar* const L = U + column_.size();
    Scalar* const added = factor + place_count_;  // sum of the sizes of all that went into each pivot
    std::fill(added, added + n_, Scalar(0));
    for (auto e : diagonal_singles_) added[single_place_[e]] += magnitude(singles[e]);
    for (int k : fixed) factor[position_[k]] = added[position_[k]] = 1;
    const std::int32_t *to = update_.data(), *column = column_.data();
    bool sound = true;
    for (int k = 0; k < n_; ++k) {
        const int first = begin_[k], m = begin_[k + 1] - first;
        Scalar* u = U + first;
        Scalar* l = L + first;
        const Scalar pivot = factor[k];
        sound = sound && magnitude(pivot) > pivot_threshold * magnitude(added[k]);  // false for 0 and NaN too
        const Scalar inverse = reciprocal(pivot);
        factor[k] = inverse;
        for (int a = 0; a < m; ++a, to += m) {
            const Scalar f = l[a] = product(l[a], inverse);
            added[column[first + a]] += magnitude(product(f, u[a]));
            for (int b = 0; b < m; ++b) factor[to[b]] -= product(f, u[b]);
        }
        for (int b = 0; b < m; ++b) u[b] = product(u[b], inverse);  // A = L D U with unit triangles
    }
    return sound;
}

template <class Scalar>
void Elimination::solve(const Scalar* factor, Scalar* x, Scalar* work) const {
    solve_all<1, Scalar>(factor, {x}, work);
}

void Elimination::solve(const double* factor, double* x1, double* x2, double* work) const {
    solve_all<2, double>(factor, {x1, x2}, work);
}

template <int N, class Scalar>
void Elimination::solve_all(const Scalar* factor, Scalar* const (&x)[N], Scalar* y) const {
    const Scalar* U = factor + n_;
    const Scalar* L = U + column_.size();
    const std::size_t steps = column_.size();
    const Step* step = forward_.data();
    for (int k = 0; k < n_; ++k)
        for (int j = 0; j < N; ++j) y[N * k + j] = x[j][unknown_[k]];
    for (std::size_t e = 0; e < steps; ++e)
        for (int j = 0; j < N; ++j) y[N * step[e].to + j] -= product(L[e], y[N * step[e].from + j]);
    for (int k = 0; k < n_; ++k)
        for (int j = 0; j < N; ++j) y[N * k + j] = product(y[N * k + j], factor[k]);
    step = backward_.data();
    const std::int32_t* value = backward_value_.data();
    for (std::size_t e = 0; e < steps; ++e)
        for (int j = 0; j < N; ++j) y[N * step[e].to + j] -= product(U[value[e]], y[N * step[e].from + j]);
    for (int k = 0; k < n_; ++k)
        for (int j = 0; j < N; ++j) x[j][unknown_[k]] = y[N * k + j];
}

template <class Scalar>
Eigen::SparseMatrix<Scalar> assemble(const Pattern& pattern, const std::vector<Scalar>& singles,
                                     const std::vector<double>& pairs, int n) {
    std::vector<Eigen::Triplet<Scalar>> entries;
    for (std::size_t e = 0; e < singles.size(); ++e)
        entries.emplace_back(pattern.singles[e].row, pattern.singles[e].col, singles[e]);
    for (std::size_t e = 0; e < pairs.size(); ++e) {
        entries.emplace_back(pattern.pairs[e].row, pattern.pairs[e].col, pairs[e]);
        entries.emplace_back(pattern.pairs[e].col, pattern.pairs[e].row, pairs[e]);
    }
    Eigen::SparseMatrix<Scalar> A(n, n);
    A.setFromTriplets(entries.begin(), entries.end());
    return A;
}

template <class Scalar>
bool PivotingSolver<Scalar>::factorise(const Pattern& pattern, const std::vector<Scalar>& singles,
                                       const std::vector<double>& pairs, const std::vector<int>& fixed, int n) {
    auto A = assemble(pattern, singles, pairs, n);
    for (int k : fixed) A.coeffRef(k, k) = 1;
    for (int k = 0; k < A.nonZeros(); ++k)
        if (!std::isfinite(magnitude(A.valuePtr()[k]))) return false;
    equilibrate(A);
    matrix_ = A;
    if (n > dense_limit) {
        sparse_.compute(A);
        if (sparse_.info() != Eigen::Success) return false;
    } else {
        dense_.compute(Dense(A));
        if (n > 0 && dense_.matrixLU().diagonal().cwiseAbs().minCoeff() == 0) return false;
    }
    // Masses and couplings are of size 1 now, so that the size of a solution measures the distance from singularity.
    Vector probe(n);
    for (int k = 0; k < n; ++k) probe[k] = k % 2 ? 1 : -1;
    const Vector x = n > dense_limit ? Vector(sparse_.solve(probe)) : Vector(dense_.solve(probe));
    return n == 0 || (x.allFinite() && x.cwiseAbs().maxCoeff() < largest_inverse);
}

// Rows and columns with a diagonal (masses) are scaled by its root, the others (constraints) by what couples them to
// these: units cancel, and a light body weighs as much as a heavy one.
template <class Scalar>
void PivotingSolver<Scalar>::equilibrate(Sparse& A) {
    const auto n = static_cast<int>(A.rows());
    const Eigen::VectorXd diagonal = A.diagonal().cwiseAbs();
    scale_ = Eigen::VectorXd::Ones(n);
    for (int k = 0; k < n; ++k)
        if (diagonal[k] > 0) scale_[k] = 1 / std::sqrt(diagonal[k]);
    Eigen::VectorXd coupling = Eigen::VectorXd::Zero(n);
    for (int c = 0; c < n; ++c)
        for (typename Sparse::InnerIterator e(A, c); e; ++e)
            if (diagonal[e.row()] == 0 && (diagonal[c] > 0 || coupling[e.row()] == 0))
                coupling[e.row()] = std::max(coupling[e.row()], std::abs(e.value()) * scale_[c]);
    for (int k = 0; k < n; ++k)
        if (coupling[k] > 0) scale_[k] = 1 / coupling[k];
    A = scale_.asDiagonal() * A * scale_.asDiagonal();
}

// Refined once: where a light body hangs between heavy ones, what joints hold is far larger than what moves the body,
// and its rounding must not reach accelerations.
template <class Scalar>
void PivotingSolver<Scalar>::solve(Scalar* x, int n) const {
    Eigen::Map<Vector> map(x, n);
    const auto solved = [&](const Vector& b) {
        return n > dense_limit ? Vector(sparse_.solve(b)) : Vector(dense_.solve(b));
    };
    const Vector b = scale_.cwiseProduct(map);
    Vector found = solved(b);
    found += solved(b - matrix_ * found);
    map = scale_.cwiseProduct(found);
}

template bool Elimination::factorise(const std::vector<double>&, const std::vector<double>&, const std::vector<int>&,
                                     double*) const;
template bool Elimination::factorise(const std::vector<Complex>&, const std::vector<double>&, const std::vector<int>&,
                                     Complex*) const;
template void Elimination::solve(const double*, double*, double*) const;
template void Elimination::solve(const Complex*, Complex*, Complex*) const;
template Eigen::SparseMatrix<double> assemble(const Pattern&, const std::vector<double>&, const std::vector<double>&,
                                              int);
template class PivotingSolver<double>;
template class PivotingSolver<Complex>;

}  // namespace mbd
