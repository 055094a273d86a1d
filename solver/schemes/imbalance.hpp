// Whether Newton's iteration has converged only because its matrix is that of other forces (docs/theory.md, T5.20).
// A matrix that knows of stiffness or damping which has gone since, as of a contact that has opened, makes corrections
// small wherever the iterate is. What is not in balance would move free bodies all the same.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "../instance.hpp"

namespace mbd {

class Imbalance {
public:
    static constexpr double part = 0.25;  // of the error of a step: what a matrix may hide in all steps together

    explicit Imbalance(const System& system) : system_(system), before_(system.nv), after_(system.nv) {
        const auto& places = system.pattern.singles;
        for (std::size_t e = 0; e < places.size(); ++e)
            if (places[e].row < system.nv && places[e].col < system.nv) motion_.push_back(static_cast<int>(e));
    }

    // Marks the coordinates that the matrix just made, with its mass times `part`, holds by more than `stiff` times
    // that; whether there are any.
    bool mark(const Instance& i, double part, double stiff, double* held) {
        std::fill(after_.begin(), after_.end(), 0.0);
        for (int e : motion_) {
            const auto [row, col] = system_.pattern.singles[e];
            after_[row] += std::fabs(i.work.singles[e]) * i.unit(col) / i.unit(row);
        }
        system_.divide_by_masses(i.constants.data(), after_.data());
        bool any = false;
        for (std::size_t k = 0; k < after_.size(); ++k) {
            held[k] = !(std::fabs(after_[k]) <= stiff * part);
            any = any || held[k] != 0;
        }
        return any;
    }

    // The residual that a correction is to take away.
    void keep(const double* residual) { std::copy_n(residual, before_.size(), before_.begin()); }

    // Its size in these coordinates, if nothing but masses stood against it, by a norm of accelerations. To be called
    // once for a residual.
    template <class Norm>
    double size(const Instance& i, const double* held, const Norm& norm) {
        system_.divide_by_masses(i.constants.data(), before_.data());
        for (std::size_t k = 0; k < before_.size(); ++k) before_[k] *= held[k];
        return norm(before_);
    }

    // The size of what the correction has left as it was.
    template <class Norm>
    double left(const Instance& i, const double* residual, const Norm& norm) {
        std::copy_n(residual, after_.size(), after_.begin());
        system_.divide_by_masses(i.constants.data(), after_.data());
        for (std::size_t k = 0; k < after_.size(); ++k)
            if (std::fabs(after_[k]) < unchanged * std::fabs(before_[k]) || before_[k] == 0) after_[k] = 0;
        return norm(after_);
    }

private:
    static constexpr double unchanged = 0.5;  // more of a force is left where the matrix is not that of this system
    const System& system_;
    std::vector<double> before_, after_;
    std::vector<int> motion_;  // entries of the derivative: forces by coordinates
};

}  // namespace mbd
