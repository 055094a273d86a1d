// Generalized coordinate partitioning: which tangent coordinates follow from the others by the constraints
// ([Haug97] eqs. 7 and 11 to 14; docs/theory.md, T14.5).
//
// Rows of positions choose their dependent coordinates first, rows of velocities further ones: what depends in its
// position depends in its velocity too. Coordinates count by their unit (the model's length or a radian), rows by
// their size, so that a pivot says how well a row holds a coordinate. Rows left out and rows off take no part.
#pragma once
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <vector>

#include "instance.hpp"

namespace mbd {

class Partition {
public:
    enum Level { positions, velocities };

    explicit Partition(const System& system);

    // Both read G at the instance's last evaluation with derivatives.
    // Chooses the dependent coordinates by elimination with pivots and factorises; false where the rows that are in
    // force repeat each other.
    bool choose(const Instance& instance);
    // The coordinates chosen before; false where G_d is singular.
    bool factorise(const Instance& instance);

    // x := G_d^-1 rows in the dependent coordinates of a level, 0 in all others; the rows of the level count.
    void solve(Level level, const double* rows, double* x);
    // rows := (G_d^T)^-1 forces: the multipliers that give the dependent coordinates these forces, 0 in other rows
    void solve_transposed(Level level, const double* forces, double* rows);
    // About the norm of the inverse of the scaled G_d of velocities: large near dead points, whatever is chosen.
    double condition();
    // About the largest entry of H (T14.5): how far a dependent coordinate moves with an independent one, which tells
    // whether another choice is better. At most about 1 when chosen, at dead points too.
    double influence();

    bool depends(int coordinate, Level level) const { return first_level_[coordinate] <= level; }
    int dependent(Level level) const { return static_cast<int>(blocks_[level].columns.size()); }

    // ---- the choice as numbers, for State::memory: of every coordinate the level from which on it depends, else 2
    void keep(double* to) const;
    // Whether these numbers are a choice for the rows in force in a state.
    bool admits(const double* kept, const State& state) const;
    // Goes on with a choice kept; factorise() has to follow. Cheap where it is the present one and rows are as before.
    void take(const double* from, const Instance& instance);

private:
    static constexpr int independent = 2;
    struct Entry {
        int row, col;
        const std::vector<double> Workspace::* stream;
        std::size_t at;
    };
    // The rows up to a level and the coordinates that they determine.
    struct Block {
        std::vector<int> rows, columns, row_at;  // row_at: of every row of G its place here, or -1
        std::vector<Eigen::Index> destinations;  // of every entry of G, -1 elsewhere
        bool dense = true;
        Eigen::MatrixXd matrix;
        Eigen::PartialPivLU<Eigen::MatrixXd> lu;
        Eigen::SparseMatrix<double> sparse;
        Eigen::SparseLU<Eigen::SparseMatrix<double>> sparse_lu;
        Eigen::VectorXd right, solution;

        void prepare(const std::vector<Entry>& entries, int nc, int nv);
        void solve();
        void solve_transposed();
    };
    class Search;

    const System& s_;
    std::vector<Entry> entries_;  // of G
    std::vector<int> first_level_, dropped_;
    std::vector<double> values_, unit_, size_;  // scaled entries; of every coordinate; of every row
    std::vector<double> moved_;                 // by influence: the independent coordinates
    Block blocks_[2];
    bool prepared_ = false, rows_of_velocities_ = false;

    bool in_force(const Instance& instance, int row) const;
    bool scale(const Instance& instance);
    void prepare(const Instance& instance);
    bool factorise(Block& block);
    double influence(Level level);
    Block& block(Level level) { return blocks_[rows_of_velocities_ ? level : positions]; }
};

}  // namespace mbd
