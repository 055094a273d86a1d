#include "gaps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mbd {
namespace {

// Of the extent of what lies behind a gap: how much deeper a step may end than it begins, and what it may cut off where
// nobody looks.
constexpr double deeper = 0.25, corner = 0.05;
constexpr double doubt = 0.1;    // of a cubic's bend, what it may be wrong by
constexpr double longest = 0.9;  // of a step that was refused
// A blow takes that part of the speed, in a step in which a body would have gone so many times what does not count.
constexpr double none = -std::numeric_limits<double>::infinity();

// The cubic through two values and slopes, at 0 and 1.
struct Cubic {
    double value, slope, square, cube;
    Cubic(double a, double slope_a, double b, double slope_b)
        : value(a),
          slope(slope_a),
          square(3 * (b - a) - 2 * slope_a - slope_b),
          cube(slope_a + slope_b - 2 * (b - a)) {}
    double at(double s) const { return value + s * (slope + s * (square + s * cube)); }
    double rate(double s) const { return slope + s * (2 * square + s * 3 * cube); }
    // least value between the ends, or infinite
    double least() const {
        const double root = square * square - 3 * cube * slope;
        if (root < 0) return -none;
        const double s = -slope / (square + std::sqrt(root));
        return s > 0 && s < 1 ? at(s) : -none;
    }
};

}  // namespace

Gaps::Gaps(Instance& instance) : instance_(instance) {
    const System& s = instance.system;
    const std::size_t count = s.gaps.size();
    if (count == 0) return;
    within_.resize(finest);
    for (View& view : within_) view.seen.resize(3 * count);
    begin_.seen.resize(3 * count), end_.seen.resize(3 * count);
    q_.resize(s.nq()), q_end_.resize(s.nq()), v_.resize(s.nv), x_.resize(s.nx);
    floor_.resize(count), unseen_.resize(count), deepest_.resize(count), open_.resize(count);
}

void Gaps::see(const End& at, View& view, std::size_t count) {
    const State& st = instance_.state;
    const Point p = instance_.point(t_ + view.part * h_, at.q, at.v, st.a.data(), st.lambda.data(), at.x,
                                    st.xdot.data(), st.y.data());
    instance_.system.look_at_gaps(p, instance_.work, count, view.seen.data());
}

// Quaternions move by e' = e o (0, omega)/2.
void Gaps::see_between(double part, View& view) {
    const System& s = instance_.system;
    view.part = part;
    for (int k = 0; k < s.nv; ++k) {
        const Cubic path(from_.q[k], h_ * from_.v[k], to_.q[k], h_ * to_.v[k]);
        q_[k] = path.at(part), v_[k] = path.rate(part) / h_;
    }
    for (int b = 0; b < s.spatial_bodies(); ++b) {
        const int at = s.nv + 4 * b, w = 6 * b + 3;
        double first[4], last[4];
        turning(from_.q + at, load(from_.v + w), first), turning(to_.q + at, load(to_.v + w), last);
        double size = 0;
        for (int k = 0; k < 4; ++k) {
            q_[at + k] = Cubic(from_.q[at + k], h_ * first[k], to_.q[at + k], h_ * last[k]).at(part);
            size += q_[at + k] * q_[at + k];
        }
        for (int k = 0; k < 4; ++k) q_[at + k] /= std::sqrt(size);
        for (int k = 0; k < 3; ++k) q_[w + k] = 0, v_[w + k] = (1 - part) * from_.v[w + k] + part * to_.v[w + k];
    }
    for (int k = 0; k < s.nx; ++k) x_[k] = (1 - part) * from_.x[k] + part * to_.x[k];
    see({q_.data(), v_.data(), x_.data()}, view);
}

double Gaps::part(const End& begin, double t, const End& end, double h, double rounding, bool with_pushes) {
    const System& s = instance_.system;
    from_ = begin, to_ = end, t_ = t, h_ = h;
    std::copy_n(end.q, s.nq(), q_end_.begin());
    s.settle_turned(q_end_.data());
    to_.q = q_end_.data();
    begin_.part = 0, end_.part = 1;
    if (all_closed_) see(to_, end_, s.gaps.size());  // they are likely to stay so: rates are not needed then
    if (all_closed_ && closed(end_)) return 1;
    see(to_, end_);
    all_closed_ = closed(end_);
    if (all_closed_) return 1;
    see(from_, begin_);
    set_limits(rounding, with_pushes);
    const double free = clear(begin_, end_, finest);
    return free < 1 || !(doubtful() || bounced(rounding)) ? free : 0.5;
}

// Whether the cubic over the whole step comes so near that it may have missed a gap that closes (T9.10).
bool Gaps::doubtful() {
    for (std::size_t k = 0; k < open_.size(); ++k) {
        if (!open_[k]) continue;
        const double a = begin_.gap(k), b = end_.gap(k);
        const double least = Cubic(a, h_ * begin_.rate(k), b, h_ * end_.rate(k)).least();
        if (least - doubt * (std::min(a, b) - least) < floor_[k]) return passed_ = k, true;
    }
    return false;
}

// Whether a step into a rigid wall ends where the motion has turned already.
bool Gaps::bounced(double rounding) {
    for (std::size_t k = 0; k < open_.size(); ++k)
        if (instance_.system.gaps[k].rigid && begin_.gap(k) >= 0 && end_.gap(k) < -rounding && end_.rate(k) > 0)
            return passed_ = k, true;
    return false;
}

// Whether all gaps are closed, which have no far side: none has been passed over.
bool Gaps::closed(const View& view) const {
    for (std::size_t k = 0; k < open_.size(); ++k)
        if (instance_.system.gaps[k].extent >= 0 || instance_.system.gaps[k].rigid || view.gap(k) >= 0) return false;
    return true;
}

// A gap that is open at both ends may not close between. Any other one that something ends behind may not close further
// by more than a share of that.
void Gaps::set_limits(double rounding, bool with_pushes) {
    for (std::size_t k = 0; k < open_.size(); ++k) {
        if (instance_.system.gaps[k].last_push && !with_pushes) {
            open_[k] = 0, floor_[k] = unseen_[k] = deepest_[k] = none;
            continue;
        }
        const int at = instance_.system.gaps[k].extent;
        const double extent = at < 0 ? -none : std::max(instance_.constants[at], 0.0);
        const double first = begin_.gap(k), last = end_.gap(k), depth = std::min(first, 0.0);
        open_[k] = first >= 0 && last >= 0;
        floor_[k] = open_[k] ? -rounding : depth - deeper * extent;
        unseen_[k] = open_[k] ? -corner * extent : floor_[k];
        deepest_[k] = depth - deeper / 2 * extent;
    }
}

// (T9.9): no gap closes faster than the bodies move against each other.
bool Gaps::too_fast(std::size_t k, const View& a, const View& b) const {
    const double way = h_ * (b.part - a.part) * std::max(a.speed(k), b.speed(k));
    return (a.gap(k) + b.gap(k) - way) / 2 < unseen_[k];
}

// Whether the gap that pushes last at `k` opens there (T9.13).
bool Gaps::opens(std::size_t k, const View& a, const View& b) const {
    return open_[k] && instance_.system.gaps[k].last_push && a.gap(k - 1) < 0 && b.gap(k - 1) >= 0;
}

// (T9.10): within what is left, the cubic through both views.
bool Gaps::quiet(std::size_t k, const View& a, const View& b) const {
    if (too_fast(k, a, b) || opens(k, a, b)) return false;
    const double step = h_ * (b.part - a.part);
    return !open_[k] || !(Cubic(a.gap(k), step * a.rate(k), b.gap(k), step * b.rate(k)).least() < floor_[k]);
}

// How much of the step may be taken, where it is clear up to view a.
double Gaps::clear(const View& a, const View& b, int halvings) {
    bool all_quiet = true;
    for (std::size_t k = 0; k < open_.size(); ++k) {
        if (b.gap(k) < floor_[k]) return passed_ = k, closed(k, a, b);
        if (quiet(k, a, b)) continue;
        if (halvings == 0 && too_fast(k, a, b)) return passed_ = k, (a.part + b.part) / 2;
        all_quiet = false;
    }
    if (all_quiet || halvings == 0) return 1;
    View& middle = within_[halvings - 1];
    see_between((a.part + b.part) / 2, middle);
    const double first = clear(a, middle, halvings - 1);
    return first < 1 ? first : clear(middle, b, halvings - 1);
}

// A step that ends there finds the gap closed, but not too far.
double Gaps::closed(std::size_t k, const View& a, const View& b) const {
    const double wanted = std::max(b.gap(k), deepest_[k]), way = (a.gap(k) - wanted) / (a.gap(k) - b.gap(k));
    return std::min(a.part + std::clamp(way, 0.1, 1.0) * (b.part - a.part), longest);
}

}  // namespace mbd
