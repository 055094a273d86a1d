// Whether Newton's iteration has converged only because its matrix is that of other forces (docs/theory.md, T5.20).
// A matrix that knows of stiffness or damping which has gone since, as of a contact that has opened, makes corrections
// small wherever the iterate is. What is not in balance would move free bodies all the same.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "../instance.hpp"

namespace mbd {

class Imbalance {
public:
    explicit Imbalance(const System& system) : system_(system), before_(system.nv), after_(system.nv) {}

    static constexpr double stiff = 100;  // so much smaller than masses alone would have it is a correction that hides

    // The residual that a correction is to take away.
    void keep(const double* residual) { std::copy_n(residual, before_.size(), before_.begin()); }

    // Its size, if nothing but masses stood against it, by a norm of accelerations. To be called once for a residual.
    template <class Norm>
    double size(const Instance& i, const Norm& norm) {
        system_.divide_by_masses(i.constants.data(), before_.data());
        return norm(before_);
    }

    // The size of what the correction has left as it was.
    template <class Norm>
    double left(const Instance& i, const double* residual, const Norm& norm) {
        std::copy_n(residual, after_.size(), after_.begin());
        system_.divide_by_masses(i.constants.data(), after_.data());
        for (std::size_t k = 0; k < after_.size(); ++k)
            if (std::fabs(after_[k]) < part * std::fabs(before_[k])) after_[k] = 0;
        return norm(after_);
    }

private:
    static constexpr double part = 0.5;  // of a force: more is left where the matrix is not that of this system
    const System& system_;
    std::vector<double> before_, after_;
};

}  // namespace mbd
