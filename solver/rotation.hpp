// Vectors, quaternions and rotation increments in space. R takes body axes to ground axes and is stored by rows.
#pragma once
#include <algorithm>
#include <cmath>

namespace mbd {

struct Vec {
    double x, y, z;
};
inline Vec load(const double* p) { return {p[0], p[1], p[2]}; }
inline void add(double* to, Vec a) { to[0] += a.x, to[1] += a.y, to[2] += a.z; }
inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator-(Vec a) { return {-a.x, -a.y, -a.z}; }
inline Vec operator*(double s, Vec a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
inline Vec to_ground(const double* R, Vec s) {
    return {R[0] * s.x + R[1] * s.y + R[2] * s.z, R[3] * s.x + R[4] * s.y + R[5] * s.z,
            R[6] * s.x + R[7] * s.y + R[8] * s.z};
}
inline Vec to_body(const double* R, Vec s) {
    return {R[0] * s.x + R[3] * s.y + R[6] * s.z, R[1] * s.x + R[4] * s.y + R[7] * s.z,
            R[2] * s.x + R[5] * s.y + R[8] * s.z};
}

// to = e o exp(theta): the quaternion after a rotation by the vector theta in body axes (T7.1), of length 1.
inline void turned(const double* e, Vec theta, double* to) {
    const double square = dot(theta, theta), x = square / 4;
    double c, s;       // cos |theta|/2, sin(|theta|/2)/|theta|
    if (x < 0.0025) {  // the next terms are below rounding
        c = 1 - x / 2 * (1 - x / 12 * (1 - x / 30 * (1 - x / 56)));
        s = 0.5 * (1 - x / 6 * (1 - x / 20 * (1 - x / 42 * (1 - x / 72))));
    } else {
        const double angle = std::sqrt(square);
        c = std::cos(angle / 2), s = std::sin(angle / 2) / angle;
    }
    const Vec w = s * theta, v = load(e + 1);
    const double e0 = e[0];
    const Vec u = e0 * w + c * v + cross(v, w);
    const double u0 = e0 * c - dot(v, w);
    const double unit = 1.5 - 0.5 * (u0 * u0 + dot(u, u));  // rounding leaves the length off 1 by little
    to[0] = unit * u0, to[1] = unit * u.x, to[2] = unit * u.y, to[3] = unit * u.z;
}

// The rotation vector theta of at most half a turn with to = from o exp(theta), the inverse of (T7.1).
inline Vec turn_between(const double* from, const double* to) {
    const Vec v = load(from + 1), w = load(to + 1);
    double cosine = from[0] * to[0] + dot(v, w);
    Vec s = from[0] * w - to[0] * v - cross(v, w);
    if (cosine < 0) cosine = -cosine, s = -s;  // e and -e are one orientation
    const double sine = std::sqrt(dot(s, s));
    return (sine > 0 ? 2 * std::atan2(sine, cosine) / sine : 2.0) * s;
}

// e' = e o (0, omega)/2, omega in body axes.
inline void turning(const double* e, Vec omega, double* to) {
    const Vec u = load(e + 1), d = 0.5 * (e[0] * omega + cross(u, omega));
    to[0] = -0.5 * dot(u, omega), to[1] = d.x, to[2] = d.y, to[3] = d.z;
}

inline void rotation_matrix(const double* e, double* R) {
    const double a = e[0], b = e[1], c = e[2], d = e[3];
    R[0] = 2 * (a * a + b * b) - 1, R[1] = 2 * (b * c - a * d), R[2] = 2 * (b * d + a * c);
    R[3] = 2 * (b * c + a * d), R[4] = 2 * (a * a + c * c) - 1, R[5] = 2 * (c * d - a * b);
    R[6] = 2 * (b * d - a * c), R[7] = 2 * (c * d + a * b), R[8] = 2 * (a * a + d * d) - 1;
}

// What takes a small rotation after theta to the change of theta that causes it: T(theta)^-1 (T7.3), by rows.
inline void inverse_tangent(Vec theta, double* T) {
    const double square = dot(theta, theta);
    double k;  // (1 - x cot x)/|theta|^2 with x = |theta|/2
    if (square < 0.01) {
        k = 1.0 / 12 + square * (1.0 / 720 + square * (1.0 / 30240 + square / 1209600));
    } else {
        const double angle = std::sqrt(square);
        k = (1 - angle / 2 / std::tan(angle / 2)) / square;
    }
    const Vec h = 0.5 * theta;
    const double d = 1 - k * square;
    T[0] = d + k * theta.x * theta.x, T[1] = k * theta.x * theta.y - h.z, T[2] = k * theta.x * theta.z + h.y;
    T[3] = k * theta.y * theta.x + h.z, T[4] = d + k * theta.y * theta.y, T[5] = k * theta.y * theta.z - h.x;
    T[6] = k * theta.z * theta.x - h.y, T[7] = k * theta.z * theta.y + h.x, T[8] = d + k * theta.z * theta.z;
}

}  // namespace mbd
