// Linear solves: a static elimination order with a precomputed numeric program, and pivoting factorisations for when
// its pivots fail.
//
// The program is a list of destinations: factorising searches nothing, compares nothing but the growth check, and
// allocates nothing. Rows and columns share one order (the matrix has a symmetric structure, its values need not be).
// Values are real, or complex for schemes of several stages; what stands in pairs (G) is real in both.
#pragma once
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <complex>
#include <cstdint>
#include <vector>

#include "elements.hpp"

namespace mbd {

// Which unknowns are eliminated together (a body, the rows of a joint), and how many rows may lean on them before
// both of a row's bodies are gone.
struct Nodes {
    std::vector<int> of_unknown;  // node of every unknown, 0 .. count-1
    std::vector<char> has_mass;   // a node with mass has regular pivots whenever it is eliminated
    std::vector<char> is_row;     // the node holds constraint rows
    int count() const { return static_cast<int>(has_mass.size()); }
};

// eager: a joint may follow its outer body (trees from the tips to the ground). patient: it waits for all its bodies,
// which is regular wherever M is positive definite on the eliminated bodies, but fills more in around hubs.
enum class Order { eager, patient };
// Empty where the factorisation would take more than `budget` multiply-adds.
std::vector<int> elimination_order(const Pattern& pattern, int n, const Nodes& nodes, Order order, double budget);

class Elimination {
public:
    Elimination() = default;
    // There is no program (exists() is false) where it would take more than `budget` multiply-adds.
    Elimination(const Pattern& pattern, int n, const Nodes& nodes, Order order, double budget);

    bool exists() const { return n_ > 0; }
    std::size_t values() const { return place_count_ + n_; }   // numbers a factor needs
    std::size_t operations() const { return update_.size(); }  // multiply-adds of one factorisation
    std::size_t solve_operations() const { return place_count_; }

    // Factorises the matrix of a derivative stream into `factor`; false where a pivot is lost in rounding. Unknowns
    // that are `fixed` have no entries and get a 1 on the diagonal.
    template <class Scalar>
    bool factorise(const std::vector<Scalar>& singles, const std::vector<double>& pairs, const std::vector<int>& fixed,
                   Scalar* factor) const;
    // x := A^-1 x; `work` holds n numbers
    template <class Scalar>
    void solve(const Scalar* factor, Scalar* x, Scalar* work) const;
    // two right sides at hardly more cost than one; `work` holds 2 n numbers
    void solve(const double* factor, double* x1, double* x2, double* work) const;

private:
    template <int N, class Scalar>
    void solve_all(const Scalar* factor, Scalar* const (&x)[N], Scalar* work) const;
    int n_ = 0;
    std::size_t place_count_ = 0;
    std::vector<std::int32_t> unknown_, position_;  // unknown at every position of the order, and its inverse
    std::vector<std::int32_t> begin_;               // row k of U and column k of L: [begin_[k], begin_[k+1])
    std::vector<std::int32_t> column_;              // their positions
    std::vector<std::int32_t> update_;              // destinations of the updates, in order of execution
    struct Step {
        std::int32_t to, from;  // y[to] -= value * y[from]
    };
    std::vector<Step> forward_, backward_;      // flat: short inner loops would cost more than they compute
    std::vector<std::int32_t> backward_value_;  // place among U of the value of every backward step
    std::vector<std::int32_t> diagonal_singles_;
    std::vector<std::int32_t> single_place_, pair_place_, transposed_place_;
};

// A factorisation and the order that it is in. `pivoting`: the values lie in a PivotingSolver instead.
template <class Scalar>
struct FactorOf {
    std::vector<Scalar> values;
    Order order = Order::eager;
    bool pivoting = false;
};
using Complex = std::complex<double>;
using Factor = FactorOf<double>;
using ComplexFactor = FactorOf<Complex>;

// Partial pivoting, dense for small systems and sparse (Eigen SparseLU) for large ones. Slow, general, allocates.
template <class Scalar>
class PivotingSolver {
public:
    // False where the matrix is singular to working precision.
    bool factorise(const Pattern& pattern, const std::vector<Scalar>& singles, const std::vector<double>& pairs,
                   const std::vector<int>& fixed, int n);
    void solve(Scalar* x, int n) const;

private:
    using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
    using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
    using Sparse = Eigen::SparseMatrix<Scalar>;
    static constexpr int dense_limit = 200;
    static constexpr double largest_inverse = 1e12;
    void equilibrate(Sparse& A);
    Eigen::VectorXd scale_;
    Sparse matrix_;  // scaled
    Eigen::PartialPivLU<Dense> dense_;
    Eigen::SparseLU<Sparse> sparse_;
};

template <class Scalar>
Eigen::SparseMatrix<Scalar> assemble(const Pattern& pattern, const std::vector<Scalar>& singles,
                                     const std::vector<double>& pairs, int n);

}  // namespace mbd
