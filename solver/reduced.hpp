// The equations of motion in the coordinates that positions do not determine, for implicit formulas ([Haug97] 3.2;
// docs/theory.md, T14.6 to T14.10).
//
// Unknowns are the accelerations a_s of these coordinates and the rates of states. An implicit formula says how they
// move positions, velocities and states; dependent positions and velocities follow from the constraints, and the
// system of index 1 answers with accelerations and rates a*: the residual is g = a_s - a*. Its derivative is
//
//   dg = (1 + [A^-1 U]_s) da_s,   A = [M G^T; G 0],   U = what q, v and X change in the equations of A,
//
// and Mhat dg is [Haug97] eq. 29 with what the manuscript lost restored. It must not know of steps or errors.
#pragma once
#include <Eigen/Dense>
#include <vector>

#include "index1.hpp"
#include "partition.hpp"

namespace mbd {

class Reduced {
public:
    explicit Reduced(const System& system);

    enum class Outcome { done, open, singular, not_finite, unsolved };
    // How the unknowns move q, v and X: beta h^2, gamma h, and gamma h.
    struct Weights {
        double q, v, x;
    };

    Partition partition;
    Index1 index1;  // a*, multipliers and all else at the last place

    // ---- set before place(): what the formula takes from the last step (rotations of spatial bodies as increments
    // from `from`), the unknowns, and where dependent values are sought
    const double* from = nullptr;  // q of the last step, quaternions included
    std::vector<double> q_fixed, v_fixed, x_fixed;
    std::vector<double> a, xdot;
    std::vector<double> q, v, x;  // placed; q with increments of rotations
    double tolerance = 1e-12;     // of the constraints, of the model's length

    // Takes the partition's choice as it stands; false where that is singular at the positions predicted.
    bool begin(Instance& instance, double t, const Weights& weights);
    // Positions, velocities, states and a* for the unknowns.
    Outcome place(Instance& instance, Order& order);
    // The same for q, v and x as they are but for what depends: for explicit predictors.
    Outcome settle(Instance& instance, Order& order);
    // The derivative of the residual at the last place, factorised; `simplified` leaves out what [Haug97] eq. 40 says
    // that Fisette and Vaneghem do. False where it is not finite.
    bool derive(Instance& instance, bool simplified);
    // Newton's correction of the unknowns: change_a, change_xdot; zero for what is no unknown.
    void correction();
    // Dependent parts of a change of positions whose independent parts are given: H of (T14.8).
    void take_along(Instance& instance, std::vector<double>& change);
    std::vector<double> change_a, change_xdot;

    const std::vector<int>& unknowns() const { return unknowns_; }  // coordinates
    const std::vector<double>& pose() const { return pose_; }       // q without increments, at the last place
    const Eigen::MatrixXd& derivative() const { return jacobian_; }
    double violation = 0;  // worst scaled |Phi| of the last place
    int worst_row = -1;

private:
    using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const System& s_;
    Weights weights_{};
    double t_ = 0;
    std::vector<int> unknowns_;
    std::vector<double> pose_, r_, phi_, column_, force_, multipliers_, mixed_a_, mixed_lambda_, by_velocity_, zero_;
    Rows dq_, dv_, opening_, change_;  // by the unknowns: q, v, rows of constraints, equations of A
    Eigen::MatrixXd turned_, moved_, positions_, jacobian_;  // F, N and N F^-1 of (T14.8), transposed
    Eigen::PartialPivLU<Eigen::MatrixXd> lu_, turning_;
    Eigen::VectorXd right_, solution_;

    int first_state() const { return s_.nv + s_.nc; }
    int columns() const { return static_cast<int>(unknowns_.size()) + s_.nx; }
    Index1::Place here() const { return {t_, pose_.data(), v.data(), x.data()}; }
    Point point_with(Instance& instance, const double* acceleration, const double* lambda);
    bool look_at_gradient(Instance& instance);
    void turn();
    double rounding(const Instance& instance) const;
    bool close_positions(Instance& instance);
    bool close_velocities(Instance& instance);
    void balance_dependents(Instance& instance);
    void move_positions(Instance& instance);
    void turn_back();
    void move_velocities(Instance& instance);
    void change_equations(Instance& instance, bool simplified);
    void change_rates(const Instance& instance);
};

}  // namespace mbd
