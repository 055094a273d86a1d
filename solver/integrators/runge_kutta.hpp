// Explicit Runge-Kutta formulas by their tableaus (docs/theory.md, T12.4).
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "formula.hpp"

namespace mbd {

// y1 = y + h sum b_i k_i, k_i = f(t + c_i h, y + h sum a_ij k_j); the error is h (sum e_i k_i + e_end f(t + h, y1)).
struct Tableau {
    int error_order;
    std::vector<double> c, a, b, e;  // a by rows, without its zeros: 1, 2, 3 .. entries; e ends with that of y1
    int stages() const { return static_cast<int>(c.size()); }
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
                           {0, 0, 0, 1. / 6, -1. / 6}};
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
                           {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40}};
    return t;
}

}  // namespace tableaus

// Its memory is the slope at the beginning of the step.
class RungeKutta final : public Formula {
public:
    RungeKutta(const Tableau& tableau, int n) : Formula(n), t_(tableau), stage_(n), slopes_(n * tableau.stages()) {}

    int error_order(const double*) const override { return t_.error_order; }
    std::size_t memory_size() const override { return end.size(); }
    void start(const double* slope, double* memory) const override { std::copy_n(slope, size(), memory); }

    bool step(Ode& ode, double t, double h, const double* y, const double* memory) override {
        std::copy_n(memory, size(), slopes_.begin());
        const double* a = t_.a.data();
        for (int i = 1; i < t_.stages(); a += i, ++i) {
            combine(y, h, a, i, stage_.data());
            if (!ode.slope(t + t_.c[i] * h, stage_.data(), &slopes_[i * size()])) return false;
        }
        combine(y, h, t_.b.data(), t_.stages(), end.data());
        if (!ode.arrive(t + h, end.data(), end_slope.data())) return false;
        estimate(h);
        return true;
    }
    void accept(double, double* memory) override { std::copy(end_slope.begin(), end_slope.end(), memory); }

private:
    const Tableau& t_;
    std::vector<double> stage_, slopes_;

    // to = y + h sum weights_j k_j
    void combine(const double* y, double h, const double* weights, int count, double* to) const {
        std::copy_n(y, size(), to);
        for (int j = 0; j < count; ++j) {
            const double w = h * weights[j];
            if (w == 0) continue;
            const double* k = &slopes_[j * size()];
            for (int c = 0; c < size(); ++c) to[c] += w * k[c];
        }
    }
    void estimate(double h) {
        const double last = h * t_.e.back();
        for (int c = 0; c < size(); ++c) error[c] = last * end_slope[c];
        for (int j = 0; j < t_.stages(); ++j) {
            const double w = h * t_.e[j];
            if (w == 0) continue;
            const double* k = &slopes_[j * size()];
            for (int c = 0; c < size(); ++c) error[c] += w * k[c];
        }
    }
};

}  // namespace mbd
