// Adams-Bashforth and predictor-corrector formulas of fixed order, for steps of any size (docs/theory.md, T12.5).
//
// A formula integrates the polynomial through the newest slopes: those known (Adams-Bashforth), or with that at the
// predicted end (Adams-Moulton). For equal steps the weights are those of [Haug89] tables 7.4.4 and 7.4.10.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "runge_kutta.hpp"

namespace mbd {

constexpr int most_nodes = 7;

// w_j = integral from 0 to 1 of the polynomial that is 1 at node j and 0 at the others.
inline void quadrature_weights(const double* nodes, int count, double* w) {
    for (int j = 0; j < count; ++j) {
        std::array<double, most_nodes> p{1};  // coefficients of the product of (x - node)/(node_j - node)
        int degree = 0;
        for (int k = 0; k < count; ++k) {
            if (k == j) continue;
            const double scale = 1 / (nodes[j] - nodes[k]);
            ++degree;
            for (int c = degree; c >= 0; --c)
                p[c] = scale * ((c > 0 ? p[c - 1] : 0) - nodes[k] * (c < degree ? p[c] : 0));
        }
        w[j] = 0;
        for (int c = degree; c >= 0; --c) w[j] += p[c] / (c + 1);
    }
}

// P: Adams-Bashforth of order k. PEC(E): then Adams-Moulton of order k (AMPC), or k + 1 (the modified formula of
// [Wu00], "PECE of order k" of [Haug89]).
enum class Corrector { none, same_order, next_order };

class Multistep final : public Formula {
public:
    // `growing`: the first steps take the orders 1, 2, .. k; else a Runge-Kutta formula takes them.
    Multistep(int k, Corrector corrector, bool growing, int n)
        : Formula(n),
          k_(k),
          corrector_(corrector),
          growing_(growing),
          starter_(tableaus::dormand_prince5(), n),
          predicted_(n) {}

    int error_order(const double* memory) const override { return 1 + order(memory); }
    std::size_t memory_size() const override { return 1 + k_ + static_cast<std::size_t>(k_) * end.size(); }
    bool starting(const double* memory) const override { return points(memory) < k_; }

    void start(const double* slope, double* memory) const override {
        std::fill_n(memory, memory_size(), 0.0);
        memory[0] = 1;
        std::copy_n(slope, size(), slopes(memory));
    }

    void move_along(const double* slope, double* memory) const override {
        double* f = slopes(memory);
        for (int c = 0; c < size(); ++c) {
            const double jump = slope[c] - f[c];
            for (int j = 0; j < points(memory); ++j) f[j * size() + c] += jump;
        }
    }

    bool admits(const double* memory) const override { return whole(memory[0], 1, k_); }

    bool step(Ode& ode, double t, double h, const double* y, const double* memory) override {
        if (starting(memory) && !growing_) return first_steps(ode, t, h, y, memory);
        const int k = order(memory);
        weigh(h, k, memory);
        const double* f = slopes(memory);
        if (corrector_ == Corrector::none) {
            advance(y, h, explicit_.data(), f, k, end.data());
            if (!ode.arrive(t + h, end.data(), end_slope.data())) return false;
            return estimate(h, end_slope.data(), f, k), true;
        }
        advance(y, h, explicit_.data(), f, k, end.data());
        if (!ode.slope(t + h, end.data(), predicted_.data())) return false;
        const bool more = corrector_ == Corrector::next_order;
        const auto& w = more ? higher_ : lower_;
        advance(y, h, w.data() + 1, f, more ? k : k - 1, end.data());
        for (int c = 0; c < size(); ++c) end[c] += h * w[0] * predicted_[c];
        estimate(h, predicted_.data(), f, k);
        if (!ode.arrive(t + h, end.data(), end_slope.data())) return false;
        return count_correction(h * w[0], predicted_.data()), true;
    }

    void accept(double h, double* memory) override {
        memory[0] = std::min(points(memory) + 1, k_);
        double* steps = memory + 1;
        std::copy_backward(steps, steps + k_ - 1, steps + k_);
        steps[0] = h;
        double* f = slopes(memory);
        std::copy_backward(f, f + static_cast<std::size_t>(k_ - 1) * size(), f + static_cast<std::size_t>(k_) * size());
        std::copy(end_slope.begin(), end_slope.end(), f);
    }

private:
    using Weights = std::array<double, most_nodes>;

    // memory: number of slopes, sizes of the steps between them, slopes; newest first
    const int k_;
    const Corrector corrector_;
    const bool growing_;
    RungeKutta starter_;
    std::vector<double> predicted_;
    Weights nodes_{}, explicit_{}, lower_{}, higher_{};  // known for the nodes and the order below
    int weighed_ = 0;

    static int points(const double* memory) { return static_cast<int>(memory[0]); }
    double* slopes(double* memory) const { return memory + 1 + k_; }
    const double* slopes(const double* memory) const { return memory + 1 + k_; }
    int order(const double* memory) const { return growing_ ? std::min(points(memory), k_) : k_; }

    bool first_steps(Ode& ode, double t, double h, const double* y, const double* memory) {
        if (!starter_.step(ode, t, h, y, slopes(memory))) return false;
        end.swap(starter_.end), end_slope.swap(starter_.end_slope), error.swap(starter_.error);
        return true;
    }

    // Of order k: predictor, corrector of order k, corrector of order k + 1 (the new slope first).
    void weigh(double h, int k, const double* memory) {
        Weights nodes{1, 0};
        for (int j = 1; j < k; ++j) nodes[j + 1] = nodes[j] - memory[j] / h;
        if (k == weighed_ && nodes == nodes_) return;
        nodes_ = nodes, weighed_ = k;
        quadrature_weights(nodes.data() + 1, k, explicit_.data());
        quadrature_weights(nodes.data(), k, lower_.data());
        quadrature_weights(nodes.data(), k + 1, higher_.data());
    }

    void advance(const double* y, double h, const double* weights, const double* f, int count, double* to) const {
        std::copy_n(y, size(), to);
        for (int j = 0; j < count; ++j, f += size())
            for (int c = 0; c < size(); ++c) to[c] += h * weights[j] * f[c];
    }

    // The corrector of order k + 1 against the formula of order k, with a slope at the end of the step.
    void estimate(double h, const double* last, const double* f, int k) {
        const bool plain = corrector_ == Corrector::none;
        const double first = h * (higher_[0] - (plain ? 0 : lower_[0]));
        for (int c = 0; c < size(); ++c) error[c] = first * last[c];
        for (int j = 0; j < k; ++j, f += size()) {
            const double w = h * (higher_[j + 1] - (plain ? explicit_[j] : j + 1 < k ? lower_[j + 1] : 0));
            for (int c = 0; c < size(); ++c) error[c] += w * f[c];
        }
    }
};

}  // namespace mbd
