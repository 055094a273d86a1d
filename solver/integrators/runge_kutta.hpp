// Explicit Runge-Kutta formulas by their tableaus (docs/theory.md, T12.4).
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "formula.hpp"

namespace mbd {

// y1 = y + h sum b_i k_i, k_i = f(t + c_i h, y + h sum a_ij k_j); the error is h (sum e_i k_i + e_end f(t + h, y1)).
struct Tableau {
    int error_order;
    std::vector<double> c, a, b, e;  // a by rows, without its zeros: 1, 2, 3 .. entries; e ends with that of y1
    std::vector<double> rough = {};  // of a second, worse estimate, which makes the first one sharper (T17.1)
    // What is known within a step beyond the cubic through its ends: more stages, and rows of weights of all slopes,
    // that at the end behind those of the stages (T17.3).
    std::vector<double> more_c = {}, more_a = {}, dense = {};
    std::vector<double> guard = {};  // of a second estimate, one order lower, against agreement by chance (T12.11)
    int stages() const { return static_cast<int>(c.size()); }
    int more() const { return static_cast<int>(more_c.size()); }
    int slopes() const { return stages() + 1 + more(); }
    int dense_rows() const { return static_cast<int>(dense.size()) / slopes(); }
};

namespace tableaus {

// Heun; its error is the difference to Euler's.
inline const Tableau& heun() {
    static const Tableau t{2, {0, 1}, {1}, {1. / 2, 1. / 2}, {-1. / 2, 1. / 2, 0}};
    return t;
}
inline const Tableau& midpoint() {
    static const Tableau t{2, {0, 1. / 2}, {1. / 2}, {0, 1}, {-1, 1, 0}};
    return t;
}
// The classical one. With the slope at its end it embeds a formula of third order: k4 - f(t + h, y1), over 6.
inline const Tableau& classical() {
    static const Tableau t{4,
                           {0, 1. / 2, 1. / 2, 1},
                           {1. / 2, 0, 1. / 2, 0, 0, 1},
                           {1. / 6, 1. / 3, 1. / 3, 1. / 6},
                           {0, 0, 0, 1. / 6, -1. / 6},
                           {},
                           {},
                           {},
                           {},
                           {0, -1, 1, 0, 0}};
    return t;
}
// Fehlberg 4(5), continued with the formula of fifth order.
inline const Tableau& fehlberg() {
    static const Tableau t{5,
                           {0, 1. / 4, 3. / 8, 12. / 13, 1, 1. / 2},
                           {1. / 4,                                                //
                            3. / 32, 9. / 32,                                      //
                            1932. / 2197, -7200. / 2197, 7296. / 2197,             //
                            439. / 216, -8, 3680. / 513, -845. / 4104,             //
                            -8. / 27, 2, -3544. / 2565, 1859. / 4104, -11. / 40},  //
                           {16. / 135, 0, 6656. / 12825, 28561. / 56430, -9. / 50, 2. / 55},
                           {1. / 360, 0, -128. / 4275, -2197. / 75240, 1. / 50, 2. / 55, 0}};
    return t;
}
// Dormand and Prince 5(4); the slope at the end of a step is the first of the next.
inline const Tableau& dormand_prince5() {
    static const Tableau t{5,
                           {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1},
                           {1. / 5,                                                               //
                            3. / 40, 9. / 40,                                                     //
                            44. / 45, -56. / 15, 32. / 9,                                         //
                            19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729,            //
                            9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},  //
                           {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84},
                           {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40},
                           {},
                           {},
                           {},
                           {-12715105075. / 11282082432, 0, 87487479700. / 32700410799, -10690763975. / 1880347072,
                            701980252875. / 199316789632, -1453857185. / 822651844, 69997945. / 29380423}};
    return t;
}

}  // namespace tableaus

// Its memory is the slope at the beginning of the step.
class RungeKutta final : public Formula {
public:
    RungeKutta(const Tableau& tableau, int n)
        : Formula(n), t_(tableau), stage_(n), rough_(n), slopes_(n * tableau.slopes()) {}

    int error_order(const double*) const override { return t_.error_order; }
    std::size_t memory_size() const override { return end.size(); }
    void start(const double* slope, double* memory) const override { std::copy_n(slope, size(), memory); }
    void move_along(const double* slope, double* memory) const override { start(slope, memory); }

    bool step(Ode& ode, double t, double h, const double* y, const double* memory) override {
        std::copy_n(memory, size(), slopes_.begin());
        const double* a = t_.a.data();
        for (int i = 1; i < t_.stages(); a += i, ++i) {
            combine(y, h, a, i, stage_.data());
            if (!ode.slope(t + t_.c[i] * h, stage_.data(), &slopes_[i * size()])) return false;
        }
        combine(y, h, t_.b.data(), t_.stages(), end.data());
        if (!ode.arrive(t + h, end.data(), end_slope.data())) return false;
        estimate(h, t_.e, error.data());
        if (!t_.rough.empty()) sharpen(ode, h);
        if (!t_.guard.empty()) doubt(ode, h);
        return true;
    }
    void accept(double, double* memory) override { std::copy(end_slope.begin(), end_slope.end(), memory); }

    // The cubic through the ends of a step is no match for formulas of higher order.
    bool continuous() const override { return t_.error_order <= 4 || t_.dense_rows() > 0; }
    std::size_t dense_size() const override { return (4 + t_.dense_rows()) * end.size(); }
    bool prepare(Ode& ode, double t, double h, const double* y, double* dense) override {
        const double *f0 = slopes_.data(), *a = t_.more_a.data();
        double* f1 = &slopes_[t_.stages() * size()];
        std::copy_n(end_slope.begin(), size(), f1);
        for (int i = t_.stages() + 1; i < t_.slopes(); a += i, ++i) {
            combine(y, h, a, i, stage_.data());
            if (!ode.slope(t + t_.more_c[i - t_.stages() - 1] * h, stage_.data(), &slopes_[i * size()])) return false;
        }
        double *by_0 = dense + size(), *by_1 = by_0 + size(), *by_2 = by_1 + size(), *row = by_2 + size();
        for (int c = 0; c < size(); ++c) {
            const double d = end[c] - y[c];
            dense[c] = y[c], by_0[c] = d, by_1[c] = h * f0[c] - d, by_2[c] = 2 * d - h * (f0[c] + f1[c]);
        }
        for (int r = 0; r < t_.dense_rows(); ++r, row += size()) {
            std::fill_n(row, size(), 0.0);
            add(h, &t_.dense[r * t_.slopes()], t_.slopes(), row);
        }
        return true;
    }
    // y + x (d0 + (1 - x) (d1 + x (d2 + ..))): the cubic through both ends, and what vanishes with its slope there.
    void show(double x, double, const double*, const double*, const double* dense, double* y) const override {
        const int rows = 3 + t_.dense_rows();
        const double* row = dense + rows * size();
        std::fill_n(y, size(), 0.0);
        for (int r = rows; r > 0; --r, row -= size()) {
            const double factor = r % 2 == 1 ? x : 1 - x;
            for (int c = 0; c < size(); ++c) y[c] = factor * (y[c] + row[c]);
        }
        for (int c = 0; c < size(); ++c) y[c] += dense[c];
    }

private:
    const Tableau& t_;
    std::vector<double> stage_, rough_, slopes_;

    // to += h sum weights_j k_j
    void add(double h, const double* weights, int count, double* to) const {
        for (int j = 0; j < count; ++j) {
            const double w = h * weights[j];
            if (w == 0) continue;
            const double* k = &slopes_[j * size()];
            for (int c = 0; c < size(); ++c) to[c] += w * k[c];
        }
    }
    void combine(const double* y, double h, const double* weights, int count, double* to) const {
        std::copy_n(y, size(), to);
        add(h, weights, count, to);
    }
    void estimate(double h, const std::vector<double>& weights, double* to) const {
        const double last = h * weights.back();
        for (int c = 0; c < size(); ++c) to[c] = last * end_slope[c];
        add(h, weights.data(), t_.stages(), to);
    }
    // e |e| / sqrt(|e|^2 + 0.01 |rough|^2) in the place of e (T17.1).
    void sharpen(const Ode& ode, double h) {
        estimate(h, t_.rough, rough_.data());
        const double fine = ode.norm(error.data()), both = std::hypot(fine, 0.1 * ode.norm(rough_.data()));
        if (!(fine < both)) return;
        for (double& e : error) e *= fine / both;
    }
    // The guard in the place of e, where it exceeds what smooth motion leaves of it at this tolerance (T12.11).
    void doubt(const Ode& ode, double h) {
        constexpr double most = 8;
        const double p = t_.error_order;
        estimate(h, t_.guard, rough_.data());
        const double size = ode.norm(rough_.data());
        const double doubted = std::pow(size / most * std::pow(ode.tolerance(), 1 / p), p / (p - 1));
        if (!(doubted > ode.norm(error.data()))) return;
        for (int c = 0; c < Formula::size(); ++c) error[c] = rough_[c] * doubted / size;
    }
};

}  // namespace mbd
