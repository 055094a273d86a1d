// Damped Newton iterations by the natural monotonicity test [Deuflhard04, 3.3]: where the correction that the same
// matrix gives at the new iterate is not smaller than the last one, only half of that is taken (docs/theory.md, 5.8).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace mbd {

class Damping {
public:
    static constexpr int most_iterations = 20;
    static constexpr double slow = 0.3;  // a rate of convergence above which the matrix is renewed

    void start() { size_ = 0; }
    // The iterate at which a correction is computed next.
    void leave(const std::vector<double>& z) { here_ = z; }
    // Whether a correction of this norm leads on. One by a new matrix cannot be compared with the last.
    bool descends(double size, bool fresh) const {
        return std::isfinite(size) && (fresh || size_ == 0 || size <= (1 - part_ / 4) * size_);
    }
    // The correction that has led from there to `z` is taken, for now as a whole.
    void take(const std::vector<double>& z, double size) {
        from_.swap(here_);
        change_.resize(z.size());
        for (std::size_t k = 0; k < z.size(); ++k) change_[k] = z[k] - from_[k];
        size_ = size, part_ = 1;
    }
    // Half as far in the direction of the last correction; false where that is hardly any more.
    bool halve(std::vector<double>& z) {
        part_ /= 2;
        if (size_ == 0 || part_ < least) return false;
        for (std::size_t k = 0; k < z.size(); ++k) z[k] = from_[k] + part_ * change_[k];
        return true;
    }

private:
    static constexpr double least = 1.0 / 64;
    std::vector<double> here_, from_, change_;
    double size_ = 0, part_ = 1;
};

}  // namespace mbd
