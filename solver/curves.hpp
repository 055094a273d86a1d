// Curves through given points, as mbdfmu/expressions/curves.py describes them: pieces of cubics between knots.
#pragma once
#include <cstdint>
#include <vector>

#include "blob.hpp"

namespace mbd {

class Curves {
public:
    static constexpr int highest_order = 3;  // of the derivatives

    Curves() = default;
    explicit Curves(const Blob& blob);

    int size() const { return static_cast<int>(curves_.size()); }
    // The derivative of a curve; at a knot that of the piece after it.
    double value(int curve, int order, double x) const;

private:
    struct Curve {
        std::int32_t at, knots;  // first place in numbers_ and count; four numbers for each piece follow
    };
    std::vector<Curve> curves_;
    std::vector<double> numbers_;

    void check(const Curve& curve) const;
};

}  // namespace mbd
