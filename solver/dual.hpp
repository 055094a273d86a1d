// Numbers that carry their derivatives in N directions: what is written once for numbers gives its exact derivative.
//
// For kernels whose second derivatives by hand would be long; a product costs 2 N multiplications more.
#pragma once
#include <cmath>

namespace mbd {

template <int N>
struct Dual {
    double value = 0;
    double by[N] = {};

    Dual() = default;
    Dual(double x) : value(x) {}  // not explicit: constants mix with what moves
};

namespace dual {
template <int N>
Dual<N> chained(double value, const Dual<N>& a, double da) {
    Dual<N> c(value);
    for (int k = 0; k < N; ++k) c.by[k] = da * a.by[k];
    return c;
}
template <int N>
Dual<N> chained(double value, const Dual<N>& a, double da, const Dual<N>& b, double db) {
    Dual<N> c(value);
    for (int k = 0; k < N; ++k) c.by[k] = da * a.by[k] + db * b.by[k];
    return c;
}
}  // namespace dual

template <int N>
Dual<N> operator+(const Dual<N>& a, const Dual<N>& b) {
    return dual::chained(a.value + b.value, a, 1, b, 1);
}
template <int N>
Dual<N> operator-(const Dual<N>& a, const Dual<N>& b) {
    return dual::chained(a.value - b.value, a, 1, b, -1);
}
template <int N>
Dual<N> operator*(const Dual<N>& a, const Dual<N>& b) {
    return dual::chained(a.value * b.value, a, b.value, b, a.value);
}
template <int N>
Dual<N> operator/(const Dual<N>& a, const Dual<N>& b) {
    const double c = a.value / b.value;
    return dual::chained(c, a, 1 / b.value, b, -c / b.value);
}
template <int N>
Dual<N> operator*(double s, const Dual<N>& a) {
    return dual::chained(s * a.value, a, s);
}
template <int N>
Dual<N> operator+(double s, const Dual<N>& a) {
    return dual::chained(s + a.value, a, 1);
}
template <int N>
Dual<N> operator-(double s, const Dual<N>& a) {
    return dual::chained(s - a.value, a, -1);
}
template <int N>
Dual<N> operator-(const Dual<N>& a, double s) {
    return dual::chained(a.value - s, a, 1);
}
template <int N>
Dual<N> sqrt(const Dual<N>& a) {
    const double c = std::sqrt(a.value);
    return dual::chained(c, a, 0.5 / c);
}
template <int N>
Dual<N> atan2(const Dual<N>& y, const Dual<N>& x) {
    const double square = x.value * x.value + y.value * y.value;
    return dual::chained(std::atan2(y.value, x.value), y, x.value / square, x, -y.value / square);
}

inline double value_of(double a) { return a; }
template <int N>
double value_of(const Dual<N>& a) {
    return a.value;
}

// Vectors of numbers or of duals.
template <class T>
struct Triple {
    T x, y, z;
};
template <class T>
Triple<T> operator+(const Triple<T>& a, const Triple<T>& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
Triple<T> operator-(const Triple<T>& a, const Triple<T>& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class S, class T>
Triple<T> scaled(const S& s, const Triple<T>& a) {
    return {s * a.x, s * a.y, s * a.z};
}
template <class T>
T dot(const Triple<T>& a, const Triple<T>& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
Triple<T> cross(const Triple<T>& a, const Triple<T>& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

}  // namespace mbd
