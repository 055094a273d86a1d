#include "partition.hpp"

#include <algorithm>
#include <cmath>

namespace mbd {
namespace {

constexpr int dense_limit = 100;        // rows; larger blocks are sparse
constexpr double repeated = 1e-9;       // a pivot below this, of a row of size one, is rounding
constexpr double nearly_largest = 0.1;  // of the largest pivot: in large models the row with fewest entries is taken
constexpr double negligible = 1e-14;    // entries that elimination leaves by rounding

}  // namespace

// The elimination that chooses: rows of size one, reduced by all pivots so far.
class Partition::Search {
public:
    explicit Search(const Partition& p) : rows_(p.size_.size()), largest_(rows_.size()) {
        for (std::size_t k = 0; k < p.entries_.size(); ++k)
            if (const Entry& e = p.entries_[k]; p.size_[e.row] > 0 && p.values_[k] != 0)
                rows_[e.row].push_back({e.col, p.values_[k] / p.size_[e.row]});
        for (std::size_t r = 0; r < rows_.size(); ++r) merge(rows_[r]), measure(static_cast<int>(r));
    }

    // Takes pivots in `rows` until none is left; found(coordinate). False where one has nothing left to hold.
    template <class F>
    bool eliminate(std::vector<int> rows, std::vector<int> others, F&& found) {
        const double threshold = rows.size() > dense_limit ? nearly_largest : 1;
        while (!rows.empty()) {
            const auto at = pivot(rows, threshold);
            const int row = *at;
            if (!(largest_[row] > repeated)) return false;
            rows.erase(at);
            const int column = place_of_largest(row);
            for (auto* rest : {&rows, &others})
                for (int r : *rest) subtract(row, column, r);
            found(column);
        }
        return true;
    }

private:
    struct Value {
        int col;
        double value;
    };
    using Row = std::vector<Value>;
    std::vector<Row> rows_;
    std::vector<double> largest_;
    Row sum_;

    static void merge(Row& row) {
        std::stable_sort(row.begin(), row.end(), [](const Value& a, const Value& b) { return a.col < b.col; });
        std::size_t kept = 0;
        for (std::size_t k = 0; k < row.size(); ++k)
            if (kept > 0 && row[kept - 1].col == row[k].col)
                row[kept - 1].value += row[k].value;
            else
                row[kept++] = row[k];
        row.resize(kept);
    }
    void measure(int r) {
        largest_[r] = 0;
        for (const Value& v : rows_[r]) largest_[r] = std::max(largest_[r], std::fabs(v.value));
    }
    // Among the rows whose largest entry is near the largest of all: the one with fewest entries.
    std::vector<int>::iterator pivot(std::vector<int>& rows, double threshold) const {
        double most = 0;
        for (int r : rows) most = std::max(most, largest_[r]);
        auto best = rows.end();
        for (auto at = rows.begin(); at != rows.end(); ++at)
            if (largest_[*at] >= threshold * most && (best == rows.end() || rows_[*at].size() < rows_[*best].size()))
                best = at;
        return best;
    }
    int place_of_largest(int r) const {
        const auto larger = [](const Value& a, const Value& b) { return std::fabs(a.value) < std::fabs(b.value); };
        return std::max_element(rows_[r].begin(), rows_[r].end(), larger)->col;
    }
    static double at(const Row& row, int column) {
        const auto before = [](const Value& v, int c) { return v.col < c; };
        const auto found = std::lower_bound(row.begin(), row.end(), column, before);
        return found != row.end() && found->col == column ? found->value : 0;
    }
    void subtract(int pivot, int column, int r) {
        const double above = at(rows_[r], column);
        if (above == 0) return;
        const double factor = above / at(rows_[pivot], column);
        sum_.clear();
        auto a = rows_[r].begin(), b = rows_[pivot].begin();
        while (a != rows_[r].end() || b != rows_[pivot].end()) {
            const bool left = b == rows_[pivot].end() || (a != rows_[r].end() && a->col <= b->col);
            const bool right = a == rows_[r].end() || (b != rows_[pivot].end() && b->col <= a->col);
            const int col = left ? a->col : b->col;
            const double value = (left ? a++->value : 0) - (right ? factor * b++->value : 0);
            if (col != column && std::fabs(value) > negligible) sum_.push_back({col, value});
        }
        rows_[r].swap(sum_);
        measure(r);
    }
};

// ---------------------------------------------------------------- factors

void Partition::Block::prepare(const std::vector<Entry>& entries, int nc, int nv) {
    const int m = static_cast<int>(rows.size());
    std::vector<int> column_at(nv, -1);
    row_at.assign(nc, -1);
    for (int k = 0; k < m; ++k) row_at[rows[k]] = k, column_at[columns[k]] = k;
    const auto inside = [&](const Entry& e) { return row_at[e.row] >= 0 && column_at[e.col] >= 0; };
    destinations.assign(entries.size(), -1);
    right.resize(m);
    dense = m <= dense_limit;
    if (dense) {
        matrix.resize(m, m);
        for (std::size_t k = 0; k < entries.size(); ++k)
            if (const Entry& e = entries[k]; inside(e)) destinations[k] = row_at[e.row] + column_at[e.col] * m;
        return;
    }
    std::vector<Eigen::Triplet<double>> places;
    for (const Entry& e : entries)
        if (inside(e)) places.emplace_back(row_at[e.row], column_at[e.col], 1.0);
    sparse.resize(m, m);
    sparse.setFromTriplets(places.begin(), places.end());
    for (std::size_t k = 0; k < entries.size(); ++k)
        if (const Entry& e = entries[k]; inside(e))
            destinations[k] = &sparse.coeffRef(row_at[e.row], column_at[e.col]) - sparse.valuePtr();
    sparse_lu.analyzePattern(sparse);
}

void Partition::Block::solve() {
    if (dense)
        solution = lu.solve(right);
    else
        solution = sparse_lu.solve(right);
    right.swap(solution);
}

void Partition::Block::solve_transposed() {
    if (dense)
        solution = lu.transpose().solve(right);
    else
        solution = sparse_lu.transpose().solve(right);
    right.swap(solution);
}

// ---------------------------------------------------------------- the choice

Partition::Partition(const System& system)
    : s_(system), first_level_(system.nv, independent), unit_(system.nv), size_(system.nc), moved_(system.nv) {
    const auto note = [&](const std::vector<Pattern::Place>& places, const std::vector<double> Workspace::* stream) {
        for (std::size_t k = 0; k < places.size(); ++k)
            if (const auto& p = places[k]; p.row >= s_.nv && p.row < s_.nv + s_.nc && p.col < s_.nv)
                entries_.push_back({p.row - s_.nv, p.col, stream, k});
    };
    note(s_.pattern.singles, &Workspace::singles);
    note(s_.pattern.pairs, &Workspace::pairs);
    values_.resize(entries_.size());
}

bool Partition::in_force(const Instance& i, int row) const { return !i.is_left_out(row) && i.is_active(row); }

// The entries of G for coordinates in their units, and the sizes of rows; false where a number is not finite.
bool Partition::scale(const Instance& i) {
    for (int k = 0; k < s_.nv; ++k) unit_[k] = i.unit(k);
    std::fill(size_.begin(), size_.end(), 0.0);
    for (std::size_t k = 0; k < entries_.size(); ++k) {
        const Entry& e = entries_[k];
        values_[k] = (i.work.*e.stream)[e.at] * unit_[e.col];
        size_[e.row] += values_[k] * values_[k];
    }
    for (double& size : size_) size = std::sqrt(size);
    return std::all_of(size_.begin(), size_.end(), [](double x) { return std::isfinite(x); });
}

bool Partition::choose(const Instance& i) {
    if (!scale(i)) return false;
    prepared_ = false;
    std::fill(first_level_.begin(), first_level_.end(), independent);
    std::vector<int> rows[2];
    for (int row = 0; row < s_.nc; ++row)
        if (s_.level[row] < independent && in_force(i, row)) rows[static_cast<int>(s_.level[row])].push_back(row);
    Search search(*this);
    if (!search.eliminate(rows[0], rows[1], [&](int k) { first_level_[k] = positions; })) return false;
    if (!search.eliminate(rows[1], {}, [&](int k) { first_level_[k] = velocities; })) return false;
    prepare(i);
    return factorise(i);
}

void Partition::keep(double* to) const { std::copy(first_level_.begin(), first_level_.end(), to); }

bool Partition::admits(const double* kept, const State& state) const {
    int open[independent + 1] = {};  // rows of every level in force, less the coordinates that follow from them
    for (int row = 0; row < s_.nc; ++row)
        if (!std::binary_search(state.dropped.begin(), state.dropped.end(), s_.nv + row))
            ++open[static_cast<int>(s_.level[row])];
    for (int k = 0; k < s_.nv; ++k) {
        if (kept[k] != positions && kept[k] != velocities && kept[k] != independent) return false;
        --open[static_cast<int>(kept[k])];
    }
    return open[positions] == 0 && open[velocities] == 0;
}

void Partition::take(const double* from, const Instance& i) {
    if (prepared_ && dropped_ == i.state.dropped && std::equal(first_level_.begin(), first_level_.end(), from)) return;
    std::transform(from, from + s_.nv, first_level_.begin(), [](double x) { return static_cast<int>(x); });
    prepare(i);
}

void Partition::prepare(const Instance& i) {
    prepared_ = true;
    rows_of_velocities_ = false;
    dropped_ = i.state.dropped;
    for (const Level level : {positions, velocities}) {
        Block& b = blocks_[level];
        b.rows.clear(), b.columns.clear();
        for (int row = 0; row < s_.nc; ++row)
            if (s_.level[row] <= level && in_force(i, row)) b.rows.push_back(row);
        for (int k = 0; k < s_.nv; ++k)
            if (depends(k, level)) b.columns.push_back(k);
        if (b.rows.size() != b.columns.size())
            throw ModelError("the saved state belongs to another choice of coordinates");
        if (level == velocities) rows_of_velocities_ = b.rows.size() > blocks_[positions].rows.size();
        if (level == positions || rows_of_velocities_) b.prepare(entries_, s_.nc, s_.nv);
    }
}

bool Partition::factorise(const Instance& i) {
    return scale(i) && factorise(blocks_[positions]) && (!rows_of_velocities_ || factorise(blocks_[velocities]));
}

bool Partition::factorise(Block& b) {
    if (b.rows.empty()) return true;
    for (int row : b.rows)
        if (size_[row] == 0) return false;
    double* to = b.dense ? b.matrix.data() : b.sparse.valuePtr();
    std::fill_n(to, b.dense ? b.matrix.size() : b.sparse.nonZeros(), 0.0);
    for (std::size_t k = 0; k < entries_.size(); ++k)
        if (b.destinations[k] >= 0) to[b.destinations[k]] += values_[k] / size_[entries_[k].row];
    if (!b.dense) {
        b.sparse_lu.factorize(b.sparse);
        return b.sparse_lu.info() == Eigen::Success;
    }
    b.lu.compute(b.matrix);
    return b.lu.matrixLU().diagonal().cwiseAbs().minCoeff() > repeated * repeated;
}

// ---------------------------------------------------------------- use

void Partition::solve(Level level, const double* rows, double* x) {
    std::fill_n(x, s_.nv, 0.0);
    Block& b = block(level);
    if (b.rows.empty()) return;
    for (std::size_t k = 0; k < b.rows.size(); ++k) b.right[k] = rows[b.rows[k]] / size_[b.rows[k]];
    b.solve();
    for (std::size_t k = 0; k < b.columns.size(); ++k) x[b.columns[k]] = b.right[k] * unit_[b.columns[k]];
}

void Partition::solve_transposed(Level level, const double* forces, double* rows) {
    std::fill_n(rows, s_.nc, 0.0);
    Block& b = block(level);
    if (b.rows.empty()) return;
    for (std::size_t k = 0; k < b.columns.size(); ++k) b.right[k] = forces[b.columns[k]] * unit_[b.columns[k]];
    b.solve_transposed();
    for (std::size_t k = 0; k < b.rows.size(); ++k) rows[b.rows[k]] = b.right[k] / size_[b.rows[k]];
}

// Hager's estimate of the 1-norm of the inverse, one step of it.
double Partition::condition() {
    Block& b = block(velocities);
    const auto m = static_cast<Eigen::Index>(b.rows.size());
    if (m == 0) return 1;
    b.right.setConstant(1.0 / static_cast<double>(m));
    b.solve();
    const double first = b.right.lpNorm<1>();
    for (double& x : b.right) x = x < 0 ? -1 : 1;
    b.solve_transposed();
    Eigen::Index worst = 0;
    b.right.cwiseAbs().maxCoeff(&worst);
    b.right.setZero();
    b.right[worst] = 1;
    b.solve();
    return std::max({1.0, first, b.right.lpNorm<1>()});
}

double Partition::influence() {
    const double of_positions = influence(positions);
    return rows_of_velocities_ ? std::max(of_positions, influence(velocities)) : of_positions;
}

// The power method for the largest entry of H: of all independent coordinates together, then of the one that moves the
// dependent one most that moved most.
double Partition::influence(Level level) {
    Block& b = block(level);
    if (b.rows.empty()) return 0;
    const auto move = [&] {  // b.right := H moved_, but for the sign
        b.right.setZero();
        for (std::size_t k = 0; k < entries_.size(); ++k) {
            const auto [row, col, stream, at] = entries_[k];
            if (b.row_at[row] >= 0 && !depends(col, level))
                b.right[b.row_at[row]] += values_[k] / size_[row] * moved_[col];
        }
        b.solve();
        return b.right.lpNorm<Eigen::Infinity>();
    };
    std::fill(moved_.begin(), moved_.end(), 1.0);
    move();
    Eigen::Index most = 0;
    b.right.cwiseAbs().maxCoeff(&most);
    b.right.setZero();
    b.right[most] = 1;
    b.solve_transposed();
    std::fill(moved_.begin(), moved_.end(), 0.0);
    for (std::size_t k = 0; k < entries_.size(); ++k) {  // moved_ := H^T e
        const auto [row, col, stream, at] = entries_[k];
        if (b.row_at[row] >= 0 && !depends(col, level)) moved_[col] += values_[k] / size_[row] * b.right[b.row_at[row]];
    }
    const auto larger = [](double x, double y) { return std::fabs(x) < std::fabs(y); };
    const auto chosen = std::max_element(moved_.begin(), moved_.end(), larger) - moved_.begin();
    std::fill(moved_.begin(), moved_.end(), 0.0);
    moved_[chosen] = 1;
    return move();
}

}  // namespace mbd
