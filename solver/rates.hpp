// How constraint rows at velocity and acceleration level change with the coordinates and their velocities (T14.1).
//
// Of a row: Phi' = G v + Phi_t and Phi'' = G a - gamma. All native rows are made of vectors that are fixed in bodies
// and of the bodies' centres, so that one description of how these move, in ground axes, serves planar and spatial
// kernels. Derivatives by a spatial body's orientation are those by a small rotation in body axes at theta = 0 (T7.2).
#pragma once
#include "spatial.hpp"

namespace mbd {

// One place of the three matrices (Phi')_q, (Phi'')_q and (Phi'')_v.
struct RateEntry {
    double velocity_q = 0, acceleration_q = 0, acceleration_v = 0;
};

// A vector and its first and second time derivative.
struct Jet {
    Vec at{0, 0, 0}, rate{0, 0, 0}, bend{0, 0, 0};
};
inline Jet operator-(const Jet& a) { return {-a.at, -a.rate, -a.bend}; }
inline Jet operator+(const Jet& a, const Jet& b) { return {a.at + b.at, a.rate + b.rate, a.bend + b.bend}; }

// What changes of a jet with one coordinate, and with its velocity.
struct Change {
    Jet by_q, by_v;
};
inline Change operator*(double sign, const Change& c) { return sign > 0 ? c : Change{-c.by_q, -c.by_v}; }

struct Moves {
    const double *q, *v, *a, *c, *cs, *R;
};

// Planar bodies as bodies in space that turn about z only.
struct PlaneBodies {
    static constexpr int width = 3, ways = 2, first_axis = 2;
    static int turning(int axis) { return axis; }  // coordinate of a rotation among those of the body
    static Vec fixed(const double* c) { return {c[0], c[1], 0}; }
    static void axes(const Moves& z, int body, double* R) {
        const double c = body < 0 ? 1 : z.cs[2 * body], s = body < 0 ? 0 : z.cs[2 * body + 1];
        const double rows[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
        std::copy(rows, rows + 9, R);
    }
    static Vec centre(const double* x, int body) {
        return body < 0 ? Vec{0, 0, 0} : Vec{x[3 * body], x[3 * body + 1], 0};
    }
    static Vec spin(const double* x, int body) { return body < 0 ? Vec{0, 0, 0} : Vec{0, 0, x[3 * body + 2]}; }
};

struct SpaceBodies {
    static constexpr int width = 6, ways = 3, first_axis = 0;
    static int turning(int axis) { return 3 + axis; }
    static Vec fixed(const double* c) { return load(c); }
    static void axes(const Moves& z, int body, double* R) {
        const double* from = body < 0 ? ground_axes : z.R + 9 * body;
        std::copy(from, from + 9, R);
    }
    static Vec centre(const double* x, int body) { return speed(x, body); }
    static Vec spin(const double* x, int body) { return mbd::spin(x, body); }
};

// A vector fixed in a body: S = R s, S' = R (w x s), S'' = R (w x (w x s) + w' x s).
template <class Bodies>
class FixedVector {
public:
    FixedVector(const Moves& z, int body, Vec s) : s_(s), w_(Bodies::spin(z.v, body)) {
        Bodies::axes(z, body, R_);
        rate_ = cross(w_, s), bend_ = cross(w_, rate_) + cross(Bodies::spin(z.a, body), s);
        jet = {to_ground(R_, s), to_ground(R_, rate_), to_ground(R_, bend_)};
    }
    Jet jet;
    Change turned(int axis) const {
        const Vec e = stream::unit[axis], es = cross(e, s_);
        const Vec by_spin = cross(e, rate_) + cross(w_, es);
        return {{to_ground(R_, es), to_ground(R_, cross(e, rate_)), to_ground(R_, cross(e, bend_))},
                {{0, 0, 0}, to_ground(R_, es), to_ground(R_, by_spin)}};
    }

private:
    Vec s_, w_, rate_, bend_;
    double R_[9];
};

namespace rates {

inline Change shifted(int axis) { return {{stream::unit[axis], {}, {}}, {{}, stream::unit[axis], {}}}; }

// Of a row a . b where one coordinate moves both.
inline RateEntry product(const Jet& a, const Change& da, const Jet& b, const Change& db) {
    const auto first = [&](const Jet& x, const Jet& y) {
        return dot(x.rate, b.at) + dot(x.at, b.rate) + dot(a.rate, y.at) + dot(a.at, y.rate);
    };
    const auto second = [&](const Jet& x, const Jet& y) {
        return dot(x.bend, b.at) + 2 * dot(x.rate, b.rate) + dot(x.at, b.bend) + dot(a.bend, y.at) +
               2 * dot(a.rate, y.rate) + dot(a.at, y.bend);
    };
    return {first(da.by_q, db.by_q), second(da.by_q, db.by_q), second(da.by_v, db.by_v)};
}

inline double component(Vec a, int k) { return k == 0 ? a.x : k == 1 ? a.y : a.z; }

// ---- coincident points: Phi = r_j + S_j - r_i - S_i
template <class Bodies>
struct Coincident {
    static void pattern(const Element& e, int nv, std::vector<Pattern::Place>& out) {
        for (int body : {e.i, e.j})
            for (int axis = Bodies::first_axis; axis < 3 && body >= 0; ++axis)
                for (int row = 0; row < Bodies::ways; ++row)
                    out.push_back({nv + e.row + row, Bodies::width * body + Bodies::turning(axis)});
    }
    static void evaluate(const Element& e, const Moves& z, RateEntry*& to) {
        double sign = -1;
        int at = e.at;
        for (int body : {e.i, e.j}) {
            const FixedVector<Bodies> s(z, body, Bodies::fixed(z.c + at));
            for (int axis = Bodies::first_axis; axis < 3 && body >= 0; ++axis) {
                const Change d = sign * s.turned(axis);
                for (int row = 0; row < Bodies::ways; ++row)
                    *to++ = {component(d.by_q.rate, row), component(d.by_q.bend, row), component(d.by_v.bend, row)};
            }
            sign = 1, at += Bodies::ways;
        }
    }
};

// ---- perpendicular axes: Phi = A_i . B_j
template <class Bodies>
struct Perpendicular {
    static void pattern(const Element& e, int nv, std::vector<Pattern::Place>& out) {
        for (int body : {e.i, e.j})
            for (int axis = Bodies::first_axis; axis < 3 && body >= 0; ++axis)
                out.push_back({nv + e.row, Bodies::width * body + Bodies::turning(axis)});
    }
    static void evaluate(const Element& e, const Moves& z, RateEntry*& to) {
        const FixedVector<Bodies> a(z, e.i, Bodies::fixed(z.c + e.at)),
            b(z, e.j, Bodies::fixed(z.c + e.at + Bodies::ways));
        for (int axis = Bodies::first_axis; axis < 3 && e.i >= 0; ++axis)
            *to++ = product(a.jet, a.turned(axis), b.jet, {});
        for (int axis = Bodies::first_axis; axis < 3 && e.j >= 0; ++axis)
            *to++ = product(a.jet, {}, b.jet, b.turned(axis));
    }
};

// ---- point in a plane or on a line: Phi = N_i . (p_j - p_i)
template <class Bodies>
struct InPlane {
    static void pattern(const Element& e, int nv, std::vector<Pattern::Place>& out) {
        for (int body : {e.i, e.j}) {
            if (body < 0) continue;
            for (int way = 0; way < Bodies::ways; ++way) out.push_back({nv + e.row, Bodies::width * body + way});
            for (int axis = Bodies::first_axis; axis < 3; ++axis)
                out.push_back({nv + e.row, Bodies::width * body + Bodies::turning(axis)});
        }
    }
    static void evaluate(const Element& e, const Moves& z, RateEntry*& to) {
        using Fixed = FixedVector<Bodies>;
        const double* c = z.c + e.at;
        const Fixed si(z, e.i, Bodies::fixed(c)), sj(z, e.j, Bodies::fixed(c + Bodies::ways)),
            n(z, e.i, Bodies::fixed(c + 2 * Bodies::ways));
        const auto centre = [&](int body) {
            return Jet{Bodies::centre(z.q, body), Bodies::centre(z.v, body), Bodies::centre(z.a, body)};
        };
        const Jet d = centre(e.j) + sj.jet + -(centre(e.i) + si.jet);
        for (int body : {e.i, e.j}) {
            if (body < 0) continue;
            const bool outer = body == e.j;
            for (int way = 0; way < Bodies::ways; ++way)
                *to++ = product(n.jet, {}, d, (outer ? 1.0 : -1.0) * shifted(way));
            for (int axis = Bodies::first_axis; axis < 3; ++axis)
                *to++ = outer ? product(n.jet, {}, d, sj.turned(axis))
                              : product(n.jet, n.turned(axis), d, -1.0 * si.turned(axis));
        }
    }
};

}  // namespace rates
}  // namespace mbd
