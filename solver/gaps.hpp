// Gaps that a step may not pass over: contacts, impacts, stops, tyres (docs/theory.md, 9.6). Between the ends of a step
// the motion is taken as the cubic through positions and velocities there; knows no force and no scheme.
#pragma once
#include <string>
#include <vector>

#include "instance.hpp"

namespace mbd {

class Gaps {
public:
    struct End {  // of a step; rotations theta count no more where their quaternions have been turned
        const double *q, *v, *x;
    };

    explicit Gaps(Instance& instance);

    bool any() const { return !instance_.system.gaps.empty(); }
    // How much of a step of size h from `begin` at t to `end` may be taken: all of it is 1. What closes by less than
    // `rounding` (m) does not count, and what pushes once more while it opens only `with_pushes`.
    double part(const End& begin, double t, const End& end, double h, double rounding, bool with_pushes = false);
    const std::string& passed() const { return instance_.system.gaps[passed_].name; }  // where part() is less than 1

private:
    static constexpr int finest = 6;  // halvings of a step

    struct View {  // of all gaps at a part of the step
        double part;
        std::vector<double> seen;
        double gap(std::size_t k) const { return seen[k]; }
        double rate(std::size_t k) const { return seen[seen.size() / 3 + k]; }
        double speed(std::size_t k) const { return seen[2 * seen.size() / 3 + k]; }
    };

    Instance& instance_;
    View begin_, end_;
    std::vector<View> within_;  // one for each halving
    std::vector<double> q_, v_, x_, q_end_;
    std::vector<double> floor_;    // below which a gap has closed in the step, or too far
    std::vector<double> unseen_;   // below which none may fall where nobody looks
    std::vector<double> deepest_;  // at which a step may end
    std::vector<char> open_;       // at both ends
    End from_{}, to_{};
    double t_ = 0, h_ = 0;
    std::size_t passed_ = 0;
    bool all_closed_ = false;  // when they were seen last

    void see(const End& at, View& view, std::size_t count);
    void see(const End& at, View& view) { see(at, view, view.seen.size()); }
    void see_between(double part, View& view);
    bool closed(const View& view) const;
    bool doubtful();
    bool bounced(double rounding);
    void set_limits(double rounding, bool with_pushes);
    bool opens(std::size_t k, const View& a, const View& b) const;
    bool too_fast(std::size_t k, const View& a, const View& b) const;
    bool quiet(std::size_t k, const View& a, const View& b) const;
    double clear(const View& a, const View& b, int halvings);
    double closed(std::size_t k, const View& a, const View& b) const;
};

}  // namespace mbd
