// Adams formulas of variable order and step size, predict - evaluate - correct - evaluate, after Shampine and Gordon
// (docs/theory.md, T17.4 on), the integrator of [Haug89] 7.4.
//
// The history is a set of modified divided differences of slopes, so that a change of the step size costs a few
// numbers. The order starts at 1 and follows the smallest of the estimates for the orders below, at and above.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "formula.hpp"

namespace mbd {

class Adams final : public Formula {
public:
    static constexpr int most = 12;

    explicit Adams(int n)
        : Formula(n), stage_(n), slope_(n), gap_(n), scaled_(n), sums_((most + 3) * n), next_((most + 3) * n) {}

    int error_order(const double* memory) const override { return 1 + order(memory); }
    std::size_t memory_size() const override { return differences + (most + 3) * end.size(); }

    // It doubles the step size or keeps it: a change costs the history of equal steps, without which no higher order
    // is tried: a step that shrinks by a little after every step would stay at its order for ever, so that it shrinks
    // by a tenth, or not at all. What is aimed at is half of what is allowed.
    Control control(const double* memory) const override {
        return {std::pow(0.5, 1.0 / error_order(memory)), 2, 2, 0.9};
    }
    double next_error(double) const override { return chosen_error_; }

    void start(const double* slope, double* memory) const override {
        std::fill_n(memory, memory_size(), 0.0);
        memory[ORDER] = memory[USED] = memory[GROWING] = 1;
        std::copy_n(slope, size(), difference(memory, 1));
    }

    // Differences of slopes stay what they are.
    void move_along(const double* slope, double* memory) const override {
        std::copy_n(slope, size(), difference(memory, 1));
    }

    bool admits(const double* memory) const override {
        return whole(memory[ORDER], 1, most) && whole(memory[USED], 1, most) && whole(memory[EQUAL], 0, most + 2);
    }

    bool step(Ode& ode, double t, double h, const double* y, const double* memory) override {
        const int k = order(memory);
        lower_ = false;
        weigh(h, k, memory);
        predict(h, k, y, memory);
        std::copy(stage_.begin(), stage_.end(), end.begin());
        if (!ode.slope(t + h, end.data(), slope_.data())) return false;
        for (int c = 0; c < size(); ++c) {
            gap_[c] = slope_[c] - sum(1)[c];
            error[c] = h * (g_[k] - g_[k + 1]) * gap_[c];
            end[c] = stage_[c] + h * g_[k + 1] * gap_[c];
        }
        judge(ode, h, k);
        if (!ode.arrive(t + h, end.data(), end_slope.data())) return false;
        count_correction(h * g_[k + 1], slope_.data());
        renew(k, memory);
        choose_order(ode, h, k, memory[GROWING] != 0);
        return true;
    }

    void accept(double h, double* memory) override {
        memory[USED] = memory[ORDER];
        memory[ORDER] = chosen_;
        memory[EQUAL] = equal_;
        memory[GROWING] = growing_ ? 1 : 0;
        memory[FAILURES] = 0;
        double* steps = memory + STEPS;
        std::copy_backward(steps, steps + most, steps + most + 1);
        steps[0] = h;
        const int known = static_cast<int>(memory[USED]) + 2;
        std::copy_n(next_.begin(), known * size(), difference(memory, 1));
    }

    // Lower orders are more patient with slopes that jump.
    void reject(double* memory) const override {
        memory[GROWING] = 0;
        if (lower_) memory[ORDER] = order(memory) - 1;
        if (++memory[FAILURES] >= 3) memory[ORDER] = 1;
    }

    // ---- the polynomial through the slopes at the end of the step and before, integrated back from there (T17.7)
    bool continuous() const override { return true; }
    void show(double part, double h, const double* end, const double* memory, const double*, double* y) const override {
        const int count = static_cast<int>(memory[USED]) + 1;
        const double back = (part - 1) * h;
        std::array<double, most + 3> w{};
        for (int i = 1; i <= count; ++i) w[i] = 1.0 / i;
        std::copy_n(end, size(), y);
        double before = 0, psi = 0;
        for (int j = 1; j <= count; ++j) {
            if (j > 1) {
                psi += memory[STEPS + j - 2];
                const double gamma = (back + before) / psi, eta = back / psi;
                for (int i = 1; i <= count + 1 - j; ++i) w[i] = gamma * w[i] - eta * w[i + 1];
                before = psi;
            }
            const double *d = difference(memory, j), weight = back * w[1];
            for (int c = 0; c < size(); ++c) y[c] += weight * d[c];
        }
    }

private:
    // memory: order of the next step, of the last one, how many steps were equal, whether the order still grows with
    // every step, failures since the last accepted one, sizes of steps (newest first), differences 1 .. order + 2
    enum { ORDER, USED, EQUAL, GROWING, FAILURES, STEPS };
    static constexpr int differences = STEPS + most + 1;

    std::vector<double> stage_, slope_, gap_, scaled_, sums_, next_;
    std::array<double, most + 3> beta_{}, sigma_{}, g_{};
    int equal_ = 0, chosen_ = 1;
    bool lower_ = false, growing_ = true;
    double here_ = 0, below_ = 0, far_below_ = 0, chosen_error_ = 0;  // estimates: order k, k - 1, k - 2, next

    // | gamma*_i |: what the corrector's coefficients are for equal steps
    static constexpr std::array<double, most + 2> gamma_{1,          1. / 2,     1. / 12,    1. / 24,    19. / 720,
                                                         3. / 160,   0.01426918, 0.0113674,  0.00935654, 0.00789255,
                                                         0.00678585, 0.00592406, 0.00523669, 0.00467750};

    static int order(const double* memory) { return static_cast<int>(memory[ORDER]); }
    double* difference(double* memory, int i) const { return memory + differences + (i - 1) * size(); }
    const double* difference(const double* memory, int i) const { return memory + differences + (i - 1) * size(); }
    double* sum(int i) { return &sums_[(i - 1) * size()]; }
    double* next(int i) { return &next_[(i - 1) * size()]; }

    // psi_i(n+1) = t_{n+1} - t_{n+1-i}: beta_i = prod psi_j(n+1)/psi_j(n), sigma_i = prod j h/psi_j, and the weights
    // g_i of the integral (T17.4, T17.5).
    void weigh(double h, int k, const double* memory) {
        const double* steps = memory + STEPS;
        equal_ = std::fabs(h - steps[0]) <= 1e-9 * h ? std::min(static_cast<int>(memory[EQUAL]) + 1, most + 2) : 1;
        std::array<double, most + 3> c;
        for (int q = 1; q <= k + 1; ++q) c[q] = 1.0 / q;
        double psi = h, psi_before = 0;
        beta_[1] = sigma_[1] = g_[1] = 1;
        for (int i = 1; i <= k; ++i) {
            const double alpha = h / psi;
            sigma_[i + 1] = i * alpha * sigma_[i];
            for (int q = 1; q <= k + 1 - i; ++q) c[q] = i == 1 ? 1.0 / (q * (q + 1)) : c[q] - alpha * c[q + 1];
            g_[i + 1] = c[1];
            if (i == k) break;
            psi_before += steps[i - 1];
            beta_[i + 1] = beta_[i] * psi / psi_before;
            psi = h + psi_before;
        }
    }

    // y + h sum g_i phi*_i, and the differences at the end if the slope there were what the polynomial says.
    void predict(double h, int k, const double* y, const double* memory) {
        std::copy_n(y, size(), stage_.begin());
        for (int i = k; i >= 1; --i) {
            const double *phi = difference(memory, i), weight = h * g_[i] * beta_[i], beta = beta_[i];
            double* to = sum(i);
            for (int c = 0; c < size(); ++c) {
                stage_[c] += weight * phi[c];
                to[c] = beta * phi[c] + (i < k ? to[c + size()] : 0);
            }
        }
    }

    double size_of(const Ode& ode, double factor, const double* a, const double* b) {
        for (int c = 0; c < size(); ++c) scaled_[c] = factor * (a[c] + (b != nullptr ? b[c] : 0));
        return ode.norm(scaled_.data());
    }

    // Whether a lower order would do as well.
    void judge(const Ode& ode, double h, int k) {
        here_ = size_of(ode, h * sigma_[k + 1] * gamma_[k], gap_.data(), nullptr);
        below_ = k > 1 ? size_of(ode, h * sigma_[k] * gamma_[k - 1], gap_.data(), sum(k)) : 0;
        far_below_ = k > 2 ? size_of(ode, h * sigma_[k - 1] * gamma_[k - 2], gap_.data(), sum(k - 1)) : 0;
        lower_ = (k > 2 && std::max(below_, far_below_) <= here_) || (k == 2 && below_ <= 0.5 * here_);
    }

    // The differences at the end of the step.
    void renew(int k, const double* memory) {
        const double *first = sum(1), *before = difference(memory, k + 1);
        double *last = next(k + 1), *beyond = next(k + 2);
        for (int c = 0; c < size(); ++c) {
            last[c] = end_slope[c] - first[c];
            beyond[c] = last[c] - before[c];
        }
        for (int i = 1; i <= k; ++i) {
            const double* expected = sum(i);
            double* to = next(i);
            for (int c = 0; c < size(); ++c) to[c] = expected[c] + last[c];
        }
    }

    void choose_order(const Ode& ode, double h, int k, bool growing) {
        const auto take = [&](int order, double estimate) { chosen_ = order, chosen_error_ = estimate; };
        growing_ = growing && !lower_ && k < most;
        if (growing_) return take(k + 1, 0);
        if (lower_) return take(k - 1, below_);
        take(k, here_);
        if (equal_ <= k) return;  // an estimate of the order above takes equal steps
        const double above = size_of(ode, h * gamma_[k + 1], next(k + 2), nullptr);
        if (k > 1 && below_ <= std::min(here_, above)) return take(k - 1, below_);
        const bool raise = k == 1 ? above < 0.5 * here_ : above < here_ && here_ < std::max(below_, far_below_);
        if (raise && k < most) take(k + 1, above);
    }
};

}  // namespace mbd
