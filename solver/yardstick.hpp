// Times of the solver's parts, and Eigen SparseLU on the same matrix as the elimination program: the yardstick of
// benchmarks/, nothing else uses it.
#pragma once
#include <algorithm>
#include <chrono>

#include "instance.hpp"

namespace mbd {

struct Yardstick {  // s, best of the repeats
    double factorise, solve, sparse_factorise, sparse_solve;
};

template <class F>
double best_time(int repeats, F&& f) {
    double best = 1e300;
    for (int k = 0; k < repeats; ++k) {
        const auto begin = std::chrono::steady_clock::now();
        f();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
}

inline Yardstick compare_factorisations(Instance& i, int repeats) {
    const System& s = i.system;
    std::vector<double> r(s.n()), x(s.n(), 1.0);
    s.residual_and_derivative(i.state_point(), {1, 1e-3, 1e-6, 1e-3, 1}, i.work, r.data());
    Factor factor;
    Order order = s.preferred_order();
    const auto A = assemble(s.pattern, i.work.singles, i.work.pairs, s.n());
    Eigen::SparseLU<Eigen::SparseMatrix<double>> lu;
    lu.analyzePattern(A);  // once, as the elimination order is found once
    Yardstick y{};
    y.factorise = best_time(repeats, [&] { i.factorise(factor, order); });
    y.solve = best_time(repeats, [&] { std::fill(x.begin(), x.end(), 1.0), i.solve(factor, x.data()); });
    y.sparse_factorise = best_time(repeats, [&] { lu.factorize(A); });
    Eigen::VectorXd b = Eigen::VectorXd::Ones(s.n());
    y.sparse_solve = best_time(repeats, [&] { b = lu.solve(Eigen::VectorXd::Ones(s.n())); });
    return y;
}

struct Evaluations {  // s, best of the repeats
    double residual, derivative, rates, rate_derivatives;
};

// What another solver of the same equations pays for its callbacks if they are native.
inline Evaluations time_evaluations(Instance& i, int repeats) {
    const System& s = i.system;
    const Point p = i.state_point();
    std::vector<double> r(s.n()), velocity(s.nc), gamma(s.nc);
    Evaluations e{};
    e.residual = best_time(repeats, [&] { s.residual(p, i.work, r.data()); });
    e.derivative =
        best_time(repeats, [&] { s.residual_and_derivative(p, {1, 1e-3, 1e-6, 1e-3, 1}, i.work, r.data()); });
    e.rates = best_time(repeats, [&] { s.rates(p, i.work, velocity.data(), gamma.data()); });
    e.rate_derivatives = best_time(repeats, [&] { s.rate_derivatives(p, i.work); });
    return e;
}

}  // namespace mbd
