// How large steps may be for constraints that are fed back, found by running the formula on Baumgarte's equation.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "formula.hpp"

namespace mbd {

// x'' + 2 z x' + z^2 x = 0, steps of size 1.
class FedBack final : public Ode {
public:
    explicit FedBack(double z) : z_(z) {}
    bool slope(double, double* y, double* f) override {
        f[0] = y[1], f[1] = -2 * z_ * y[1] - z_ * z_ * y[0];
        return true;
    }
    bool arrive(double t, double* y, double* f) override { return slope(t, y, f); }
    double norm(const double*) const override { return 0; }

private:
    double z_;
};

// Whether gaps die away; `formula` is one for two numbers.
inline bool dies_away(Formula& formula, double z) {
    constexpr int steps = 500;
    constexpr double gone = 1e-3, far = 1e6;
    FedBack equation(z);
    std::vector<double> y{1, 0}, slope(2), memory(formula.memory_size());
    equation.slope(0, y.data(), slope.data());
    formula.start(slope.data(), memory.data());
    double size = 1;
    for (int k = 0; k < steps && size < far; ++k) {
        formula.step(equation, k, 1, y.data(), memory.data());
        formula.accept(1, memory.data());
        y = formula.end;
        size = std::max(std::fabs(y[0]), std::fabs(y[1]));
    }
    return size < gone;
}

// The largest alpha h = beta h for which gaps die away, to the two digits that a choice of gains needs.
inline double stability_limit(Formula& formula) {
    double stable = 0.02, unstable = 10;
    while (unstable - stable > 0.01 * stable) {
        const double middle = (stable + unstable) / 2;
        (dies_away(formula, middle) ? stable : unstable) = middle;
    }
    return stable;
}

}  // namespace mbd
