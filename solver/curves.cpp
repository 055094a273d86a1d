#include "curves.hpp"

#include <algorithm>

namespace mbd {

Curves::Curves(const Blob& blob) : numbers_(blob.doubles("curves.num")) {
    const auto places = blob.ints("curves");
    if (places.size() % 2) throw ModelError("compiled model: the table of curves is cut short");
    for (std::size_t k = 0; k < places.size(); k += 2) {
        curves_.push_back({places[k], places[k + 1]});
        check(curves_.back());
    }
}

void Curves::check(const Curve& curve) const {
    const std::int64_t end = std::int64_t{curve.at} + std::int64_t{curve.knots} + 4 * (std::int64_t{curve.knots} + 1);
    if (curve.at < 0 || curve.knots < 1 || end > static_cast<std::int64_t>(numbers_.size()))
        throw ModelError("compiled model: a curve reads numbers that are not there");
    for (int k = 1; k < curve.knots; ++k)
        if (!(numbers_[curve.at + k - 1] < numbers_[curve.at + k]))
            throw ModelError("compiled model: the knots of a curve do not increase");
}

double Curves::value(int curve, int order, double x) const {
    const Curve& c = curves_[curve];
    const double* knots = numbers_.data() + c.at;
    const int piece = static_cast<int>(std::upper_bound(knots, knots + c.knots, x) - knots);
    const double* p = knots + c.knots + 4 * piece;
    const double s = x - knots[std::max(piece - 1, 0)];
    switch (order) {
        case 0:
            return ((p[3] * s + p[2]) * s + p[1]) * s + p[0];
        case 1:
            return (3 * p[3] * s + 2 * p[2]) * s + p[1];
        case 2:
            return 6 * p[3] * s + 2 * p[2];
        default:
            return 6 * p[3] + 0 * s;
    }
}

}  // namespace mbd
