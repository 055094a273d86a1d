// The bushing in space (T4.10 to T4.12), written once for numbers and for duals, whose derivatives are its matrix.
#pragma once
#include <type_traits>

#include "dual.hpp"
#include "spatial.hpp"

namespace mbd {

// theta and g of (T4.11) and (T4.12) for the rotation matrix whose rows are given.
template <class T>
struct RotationVector {
    Triple<T> theta;
    T bend;

    explicit RotationVector(const Triple<T> (&R)[3]) {
        const Triple<T> w = scaled(0.5, Triple<T>{R[2].y - R[1].z, R[0].z - R[2].x, R[1].x - R[0].y});
        const T trace = R[0].x + R[1].y + R[2].z, s = 0.25 * (3.0 - trace);
        if (value_of(s) > 0.75) {
            wide(R, w, 0.5 * (trace - 1.0), s);
            return;
        }
        const T h = growth(w, trace, s), f = 1.0 + s * h, rest = 1.0 - s;
        theta = scaled(f, w);
        bend = (1.0 - rest * h) / (4.0 * rest * f * f);
    }
    // The torque that works on angular velocities as `moment` does on the rates of theta.
    Triple<T> conjugate(const Triple<T>& moment) const {
        const Triple<T> across = cross(theta, moment);
        return moment + scaled(0.5, across) + scaled(bend, cross(theta, across));
    }

private:
    // Beyond 120 degrees w is short, the axis comes from the symmetric part (T4.11).
    void wide(const Triple<T> (&R)[3], const Triple<T>& w, const T& cosine, const T& s) {
        using std::atan2, std::sqrt;
        const T xy = 0.5 * (R[0].y + R[1].x), xz = 0.5 * (R[0].z + R[2].x), yz = 0.5 * (R[1].z + R[2].y);
        const double xx = value_of(R[0].x), yy = value_of(R[1].y), zz = value_of(R[2].z);
        Triple<T> n = xx >= yy && xx >= zz ? Triple<T>{R[0].x - cosine, xy, xz}
                      : yy >= zz           ? Triple<T>{xy, R[1].y - cosine, yz}
                                           : Triple<T>{xz, yz, R[2].z - cosine};
        n = scaled(T(value_of(dot(n, w)) < 0 ? -1.0 : 1.0) / sqrt(dot(n, n)), n);
        const T sine = dot(n, w), angle = atan2(sine, cosine);
        theta = scaled(angle, n);
        bend = (1.0 - 0.25 * angle * sine / s) / (angle * angle);
    }
    static T growth(const Triple<T>& w, const T& trace, const T& s) {
        using std::atan2, std::sqrt;
        if (value_of(s) < 0.01) {
            T sum = T(0);
            for (int n = 9; n >= 1; --n) sum = (2.0 * n / (2.0 * n + 1)) * (1.0 + s * sum);
            return sum;
        }
        const T sine = sqrt(dot(w, w));
        return (atan2(sine, 0.5 * (trace - 1.0)) / sine - 1.0) / s;
    }
};

// ---- bushing: constants s_i, s_j, axes of both markers in body axes by rows, K, C, d0, k, c, theta0
struct SpatialBushing {
    static constexpr const char* section = "bushin3";
    static constexpr int rows = 0, constants = 42;

    static void pattern(const Element& e, int, Pattern& out) {
        for (int row : {e.i, e.j})
            for (int a = 0; a < 6; ++a)
                for (int col : {e.i, e.j})
                    for (int b = 0; b < 6; ++b)
                        if (row >= 0 && col >= 0) out.singles.push_back({6 * row + a, 6 * col + b});
    }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        if constexpr (Derivatives) {
            const Rows<Moved> found = forces(end<Moved>(e.i, 0, z), end<Moved>(e.j, 6, z), z.c + e.at);
            for (int side = 0; side < 2; ++side)
                for (int a = 0; a < 6; ++a) {
                    const int body = side == 0 ? e.i : e.j;
                    if (body < 0) continue;
                    const Moved& f = found.of[side][a];
                    z.force[6 * body + a] += f.value;
                    for (int b = 0; b < 12; ++b)
                        if ((b < 6 ? e.i : e.j) >= 0) *z.single++ = f.by[b];
                }
        } else {
            const Rows<double> found = forces(end<double>(e.i, 0, z), end<double>(e.j, 6, z), z.c + e.at);
            for (int a = 0; a < 6; ++a) {
                if (e.i >= 0) z.force[6 * e.i + a] += found.of[0][a];
                if (e.j >= 0) z.force[6 * e.j + a] += found.of[1][a];
            }
        }
    }

private:
    using Moved = Dual<12>;  // in the six coordinates of both bodies

    template <class T>
    struct End {  // of a body: place, axes by rows, velocity (ground axes), angular velocity (body axes)
        Triple<T> r, R[3], v, w;

        Triple<T> to_ground(const Triple<T>& s) const { return {dot(R[0], s), dot(R[1], s), dot(R[2], s)}; }
        Triple<T> to_body(const Triple<T>& s) const {
            return {R[0].x * s.x + R[1].x * s.y + R[2].x * s.z, R[0].y * s.x + R[1].y * s.y + R[2].y * s.z,
                    R[0].z * s.x + R[1].z * s.y + R[2].z * s.z};
        }
    };
    template <class T>
    struct Rows {  // what is added to the residual of both bodies
        T of[2][6];
    };

    template <class T>
    static Triple<T> fixed(Vec a) {
        return {T(a.x), T(a.y), T(a.z)};
    }
    template <class T>
    static End<T> end(int body, int first, const Evaluation& z) {
        const Pose p = pose(z.q, z.R, body);
        End<T> at{fixed<T>(p.r), {}, fixed<T>(speed(z.v, body)), fixed<T>(spin(z.v, body))};
        for (int k = 0; k < 3; ++k) at.R[k] = fixed<T>(load(p.R + 3 * k));
        if constexpr (!std::is_same_v<T, double>)
            if (body >= 0) seed(at, first, z, z.inverse_tangent + 9 * body);
        return at;
    }
    // Coordinates move with cq, velocities with cv; dR = R [e]x, and angular velocities move with T^-1 (T7.8).
    static void seed(End<Moved>& at, int first, const Evaluation& z, const double* tangent) {
        Moved* r[3] = {&at.r.x, &at.r.y, &at.r.z};
        Moved* v[3] = {&at.v.x, &at.v.y, &at.v.z};
        Moved* w[3] = {&at.w.x, &at.w.y, &at.w.z};
        for (int k = 0; k < 3; ++k) {
            r[k]->by[first + k] = z.cq;
            v[k]->by[first + k] = z.cv;
            for (int m = 0; m < 3; ++m) w[m]->by[first + 3 + k] = z.cv * tangent[3 * m + k];
            for (auto& row : at.R) {
                const Vec turned = cross({row.x.value, row.y.value, row.z.value}, stream::unit[k]);
                row.x.by[first + 3 + k] = z.cq * turned.x;
                row.y.by[first + 3 + k] = z.cq * turned.y;
                row.z.by[first + 3 + k] = z.cq * turned.z;
            }
        }
    }

    template <class T>
    static Triple<T> spring(const double* stiffness, const Triple<T>& a, const double* zero) {
        return {stiffness[0] * (a.x - zero[0]), stiffness[1] * (a.y - zero[1]), stiffness[2] * (a.z - zero[2])};
    }
    template <class T>
    static Rows<T> forces(const End<T>& i, const End<T>& j, const double* c) {
        static constexpr double none[3] = {0, 0, 0};
        const double *K = c + 24, *C = c + 27, *d0 = c + 30, *k = c + 33, *damping = c + 36, *theta0 = c + 39;
        const Triple<T> si = fixed<T>(load(c)), sj = fixed<T>(load(c + 3));
        Triple<T> axis[3], other[3], R[3];
        for (int n = 0; n < 3; ++n) {
            axis[n] = i.to_ground(fixed<T>(load(c + 6 + 3 * n)));
            other[n] = j.to_ground(fixed<T>(load(c + 15 + 3 * n)));
        }
        for (int n = 0; n < 3; ++n) R[n] = {dot(axis[n], other[0]), dot(axis[n], other[1]), dot(axis[n], other[2])};
        const auto seen = [&](const Triple<T>& a) {
            return Triple<T>{dot(axis[0], a), dot(axis[1], a), dot(axis[2], a)};
        };
        const auto ground = [&](const Triple<T>& a) {
            return scaled(a.x, axis[0]) + scaled(a.y, axis[1]) + scaled(a.z, axis[2]);
        };
        const Triple<T> arm = j.to_ground(sj), at_j = j.r + arm, gap = at_j - i.r - i.to_ground(si);
        const Triple<T> wi = i.to_ground(i.w);
        // v_j - v_i - w_i x gap: the two terms of i at its own marker and at that of j make one
        const Triple<T> moving = j.v + j.to_ground(cross(j.w, sj)) - i.v - cross(wi, at_j - i.r);
        const Triple<T> spin = j.to_ground(j.w) - wi;
        const RotationVector<T> rotation(R);
        const Triple<T> push = ground(spring(K, seen(gap), d0) + spring(C, seen(moving), none));
        const Triple<T> twist =
            ground(rotation.conjugate(spring(k, rotation.theta, theta0)) + spring(damping, seen(spin), none));
        const Triple<T> on_i = i.to_body(cross(at_j - i.r, push) + twist);
        const Triple<T> on_j = j.to_body(cross(arm, push) + twist);
        const T zero = T(0);
        return {{{zero - push.x, zero - push.y, zero - push.z, zero - on_i.x, zero - on_i.y, zero - on_i.z},
                 {push.x, push.y, push.z, on_j.x, on_j.y, on_j.z}}};
    }
};

}  // namespace mbd
