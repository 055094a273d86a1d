#include "chatter.hpp"

#include <algorithm>
#include <cmath>

namespace mbd {
namespace {

constexpr double invisible = 1e-6;  // of the model's length, or rad: a way between two jumps

}  // namespace

Chatter::Chatter(Instance& instance) : instance_(instance) {
    const std::size_t count = instance.system.jumps();
    sides_.resize(count), sides_at_end_.resize(count), sides_ahead_.resize(count), jumps_.resize(count);
    forget();
}

void Chatter::forget() {
    for (Jump& jump : jumps_) jump = Jump{-INFINITY};
    length_ = 0;
}

// The greatest acceleration, in units of the model.
double Chatter::hardest() const {
    const State& s = instance_.state;
    double hardest = 0;
    for (int k = 0; k < instance_.system.nv; ++k) hardest = std::max(hardest, std::fabs(s.a[k]) / instance_.unit(k));
    return hardest;
}

void Chatter::see(double h, const Gaps::End& end, long tries) {
    if (jumps_.empty()) return;
    const State& s = instance_.state;
    const double hardest = this->hardest();
    if (!(hardest * h * h < invisible)) return;
    const auto sides = [&](double t, const Gaps::End& at, std::vector<double>& out) {
        const Point p = instance_.point(t, at.q, at.v, s.a.data(), s.lambda.data(), at.x, s.xdot.data(), s.y.data());
        instance_.system.look_at_jumps(p, instance_.work, out.data());
    };
    sides(s.t, {s.q.data(), s.v.data(), s.x.data()}, sides_);
    sides(s.t + h, end, sides_at_end_);
    ahead_ = s.v;
    for (std::size_t k = 0; k < ahead_.size(); ++k) ahead_[k] += h * s.a[k];
    sides(s.t + h, {s.q.data(), ahead_.data(), s.x.data()}, sides_ahead_);
    for (std::size_t k = 0; k < jumps_.size(); ++k) {
        // A correction that is small enough may have taken the end back over the jump that it was computed from.
        const double from = sides_[k], to = sides_at_end_[k] != from ? sides_at_end_[k] : sides_ahead_[k];
        if (from == to || std::isnan(to)) continue;
        Jump& jump = jumps_[k];
        // A refused try is made again; a floor() that rises comes to sides where it has not been.
        const bool again = (from == jump.from && to == jump.to) || (from == jump.to && to == jump.from);
        const double since = s.t + h - jump.met;
        jump.met = s.t + h, jump.from = from, jump.to = to;
        // there and back under this acceleration
        if (!again || !(hardest * since * since < 8 * invisible)) jump.begin = s.t, jump.first = tries;
        length_ = tries - jump.first, at_ = k;
    }
}

}  // namespace mbd
