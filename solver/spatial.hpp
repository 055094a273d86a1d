// Native kernels of spatial bodies and of the three constraint primitives that make most joints.
//
// Spatial body b has velocities v[6b..6b+5]: of its centre of mass in ground axes, and the angular velocity in body
// axes. Derivatives by its orientation are those by a small rotation in body axes: d(R s) = R (dtheta x s), and with
// u = R^T b of a fixed b: du = u x dtheta (T7.2). a x (b x c) = b (a.c) - c (a.b) gives the second derivatives.
#pragma once
#include "elements.hpp"
#include "rotation.hpp"

namespace mbd {

// A body's place, or the ground's.
struct Pose {
    Vec r;
    const double* R;
};
inline constexpr double ground_axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
inline Pose pose(const double* q, const double* rotations, int body) {
    return body < 0 ? Pose{{0, 0, 0}, ground_axes} : Pose{load(q + 6 * body), rotations + 9 * body};
}
inline Vec speed(const double* v, int body) { return body < 0 ? Vec{0, 0, 0} : load(v + 6 * body); }
inline Vec spin(const double* v, int body) { return body < 0 ? Vec{0, 0, 0} : load(v + 6 * body + 3); }

// Fills blocks of the derivative stream.
namespace stream {
inline void put(double*& to, Vec a) {
    to[0] = a.x, to[1] = a.y, to[2] = a.z;
    to += 3;
}
// f (u s^T - (s.u) 1) = f [s]x[u]x
inline void put_double_cross(double*& to, double f, Vec s, Vec u) {
    const double d = f * dot(s, u);
    const Vec g = f * s;
    put(to, {u.x * g.x - d, u.x * g.y, u.x * g.z});
    put(to, {u.y * g.x, u.y * g.y - d, u.y * g.z});
    put(to, {u.z * g.x, u.z * g.y, u.z * g.z - d});
}
// A matrix by its columns, then its transposed.
inline void put_both(double*& to, double f, const Vec (&column)[3]) {
    const Vec a = f * column[0], b = f * column[1], c = f * column[2];
    put(to, {a.x, b.x, c.x}), put(to, {a.y, b.y, c.y}), put(to, {a.z, b.z, c.z});
    put(to, a), put(to, b), put(to, c);
}
inline void block(std::vector<Pattern::Place>& out, int row, int col) {
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) out.push_back({row + a, col + b});
}
inline void both_blocks(std::vector<Pattern::Place>& out, int row, int col) {
    block(out, row, col), block(out, col, row);
}
inline constexpr Vec unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
}  // namespace stream

// ---- the body itself: m (a - g), J alpha + omega x J omega (T7.4); constants m, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz
struct SpatialBody {
    static constexpr int constants = 7;

    static void pattern(int body, Pattern& out) {
        const int k = 6 * body;
        for (int a = 0; a < 3; ++a) out.singles.push_back({k + a, k + a});
        stream::block(out.singles, k + 3, k + 3);
    }
    // The residual is written, not added: nothing has touched the body's rows before.
    template <bool Derivatives>
    static void evaluate(int body, const double* c, Vec gravity, Evaluation& z) {
        const double* v = z.v + 6 * body;
        const double* a = z.a + 6 * body;
        double* f = z.force + 6 * body;
        const double J[9] = {c[1], c[4], c[5], c[4], c[2], c[6], c[5], c[6], c[3]};
        const Vec omega = load(v + 3), momentum = to_ground(J, omega);
        f[0] = c[0] * (a[0] - gravity.x), f[1] = c[0] * (a[1] - gravity.y), f[2] = c[0] * (a[2] - gravity.z);
        const Vec torque = to_ground(J, load(a + 3)) + cross(omega, momentum);
        f[3] = torque.x, f[4] = torque.y, f[5] = torque.z;
        if constexpr (Derivatives) {
            for (int k = 0; k < 3; ++k) *z.single++ = z.ca * c[0];
            // (ca J + cv d(omega x J omega)/d omega) T^-1: the unknown is the rotation after theta (T7.8)
            const double* T = z.inverse_tangent + 9 * body;
            double K[9];
            for (int k = 0; k < 3; ++k) {
                const Vec e = stream::unit[k], Je = {J[k], J[3 + k], J[6 + k]};
                const Vec column = z.ca * Je + z.cv * (cross(e, momentum) + cross(omega, Je));
                K[k] = column.x, K[3 + k] = column.y, K[6 + k] = column.z;
            }
            for (int row = 0; row < 9; row += 3) stream::put(z.single, to_body(T, load(K + row)));  // K T^-1 by rows
        }
    }
};

// ---- coincident points (T7.5): Phi = r_j + R_j s_j - r_i - R_i s_i, three rows; constants s_i, s_j
struct Coincident3 {
    static constexpr const char* section = "coinci3";
    static constexpr int rows = 3, constants = 6;

    static void pattern(const Element& e, int nv, Pattern& out) {
        for (int body : {e.i, e.j}) {
            if (body < 0) continue;
            const int k = 6 * body;
            for (int row = nv + e.row, c = 0; c < 3; ++c)
                out.pairs.insert(out.pairs.end(),
                                 {{row + c, k + c}, {row + c, k + 3}, {row + c, k + 4}, {row + c, k + 5}});
            stream::block(out.singles, k + 3, k + 3);
        }
    }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        const Vec lambda = load(z.lambda + e.row);
        Vec gap{0, 0, 0};
        end<Derivatives>(z, e.i, -1, load(z.c + e.at), lambda, gap);
        end<Derivatives>(z, e.j, +1, load(z.c + e.at + 3), lambda, gap);
        z.phi[e.row] = gap.x, z.phi[e.row + 1] = gap.y, z.phi[e.row + 2] = gap.z;
    }
    static void value(const Element& e, const double* q, const double* R, const double* c, double* phi) {
        const Pose i = pose(q, R, e.i), j = pose(q, R, e.j);
        const Vec gap = j.r + to_ground(j.R, load(c + e.at + 3)) - i.r - to_ground(i.R, load(c + e.at));
        phi[e.row] = gap.x, phi[e.row + 1] = gap.y, phi[e.row + 2] = gap.z;
    }
    static void rates(const Element& e, Rates& z) {
        Vec opening{0, 0, 0}, gamma{0, 0, 0};
        for (const auto& [body, sign, at] : {Side{e.i, -1, e.at}, Side{e.j, 1, e.at + 3}}) {
            const Vec s = load(z.c + at), w = spin(z.v, body);
            const double* R = pose(z.q, z.R, body).R;
            opening = opening + sign * (speed(z.v, body) + to_ground(R, cross(w, s)));
            gamma = gamma - sign * to_ground(R, cross(w, cross(w, s)));
        }
        z.velocity[e.row] = opening.x, z.velocity[e.row + 1] = opening.y, z.velocity[e.row + 2] = opening.z;
        z.gamma[e.row] = gamma.x, z.gamma[e.row + 1] = gamma.y, z.gamma[e.row + 2] = gamma.z;
    }

private:
    struct Side {
        int body;
        double sign;
        int at;
    };
    template <bool Derivatives>
    static void end(Evaluation& z, int body, double sign, Vec s, Vec lambda, Vec& gap) {
        const Pose p = pose(z.q, z.R, body);
        gap = gap + sign * (p.r + to_ground(p.R, s));
        if (body < 0) return;
        const Vec u = to_body(p.R, lambda);
        add(z.force + 6 * body, sign * lambda);
        add(z.force + 6 * body + 3, sign * cross(s, u));
        if constexpr (Derivatives) {
            for (int c = 0; c < 3; ++c) {
                *z.pair++ = sign;
                stream::put(z.pair, sign * cross(s, load(p.R + 3 * c)));
            }
            stream::put_double_cross(z.single, z.cq * sign, s, u);  // (G^T lambda)_q
        }
    }
};

// ---- perpendicular axes (T7.6): Phi = (R_i a).(R_j b); constants a, b
struct Perpendicular {
    static constexpr const char* section = "perpend";
    static constexpr int rows = 1, constants = 6;

    static void pattern(const Element& e, int nv, Pattern& out) {
        const int row = nv + e.row;
        for (int body : {e.i, e.j}) {
            if (body < 0) continue;
            const int k = 6 * body + 3;
            out.pairs.insert(out.pairs.end(), {{row, k}, {row, k + 1}, {row, k + 2}});
            stream::block(out.singles, k, k);
        }
        if (e.i >= 0 && e.j >= 0) stream::both_blocks(out.singles, 6 * e.i + 3, 6 * e.j + 3);
    }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        const Pose i = pose(z.q, z.R, e.i), j = pose(z.q, z.R, e.j);
        const Vec a = load(z.c + e.at), b = load(z.c + e.at + 3);
        const Vec bi = to_body(i.R, to_ground(j.R, b)), aj = to_body(j.R, to_ground(i.R, a));  // seen from the other
        const double l = z.lambda[e.row], f = z.cq * l;
        z.phi[e.row] = dot(a, bi);
        if (e.i >= 0) end<Derivatives>(z, e.i, l, a, bi);
        if (e.j >= 0) end<Derivatives>(z, e.j, l, b, aj);
        if constexpr (Derivatives) {
            if (e.i < 0 || e.j < 0) return;
            Vec column[3];  // of d(a x bi)/d theta_j
            for (int k = 0; k < 3; ++k) column[k] = cross(a, to_body(i.R, to_ground(j.R, cross(stream::unit[k], b))));
            stream::put_both(z.single, f, column);
        }
    }
    static void value(const Element& e, const double* q, const double* R, const double* c, double* phi) {
        phi[e.row] =
            dot(to_ground(pose(q, R, e.i).R, load(c + e.at)), to_ground(pose(q, R, e.j).R, load(c + e.at + 3)));
    }
    static void rates(const Element& e, Rates& z) {
        const double *Ri = pose(z.q, z.R, e.i).R, *Rj = pose(z.q, z.R, e.j).R;
        const Vec a = load(z.c + e.at), b = load(z.c + e.at + 3), wi = spin(z.v, e.i), wj = spin(z.v, e.j);
        const Vec A = to_ground(Ri, a), dA = to_ground(Ri, cross(wi, a)), ddA = to_ground(Ri, cross(wi, cross(wi, a)));
        const Vec B = to_ground(Rj, b), dB = to_ground(Rj, cross(wj, b)), ddB = to_ground(Rj, cross(wj, cross(wj, b)));
        z.velocity[e.row] = dot(dA, B) + dot(A, dB);
        z.gamma[e.row] = -(dot(ddA, B) + 2 * dot(dA, dB) + dot(A, ddB));
    }

private:
    template <bool Derivatives>
    static void end(Evaluation& z, int body, double l, Vec own, Vec other) {
        const Vec g = cross(own, other);
        add(z.force + 6 * body + 3, l * g);
        if constexpr (Derivatives) {
            stream::put(z.pair, g);
            stream::put_double_cross(z.single, z.cq * l, own, other);
        }
    }
};

// ---- point in plane (T7.7): Phi = (R_i n).(p_j - p_i); constants s_i, s_j, n
struct InPlane {
    static constexpr const char* section = "inplane";
    static constexpr int rows = 1, constants = 9;

    static void pattern(const Element& e, int nv, Pattern& out) {
        const int row = nv + e.row, i = 6 * e.i, j = 6 * e.j;
        for (int k : {i, j})
            if (k >= 0)
                for (int c = 0; c < 6; ++c) out.pairs.push_back({row, k + c});
        if (e.i >= 0) {
            stream::block(out.singles, i + 3, i + 3);
            stream::both_blocks(out.singles, i, i + 3);
        }
        if (e.j >= 0) stream::block(out.singles, j + 3, j + 3);
        if (e.i >= 0 && e.j >= 0) {
            stream::both_blocks(out.singles, j, i + 3);
            stream::both_blocks(out.singles, j + 3, i + 3);
        }
    }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        const Pose i = pose(z.q, z.R, e.i), j = pose(z.q, z.R, e.j);
        const Vec si = load(z.c + e.at), sj = load(z.c + e.at + 3), n = load(z.c + e.at + 6);
        const Vec N = to_ground(i.R, n), nj = to_body(j.R, N);
        const Vec w = to_body(i.R, j.r + to_ground(j.R, sj) - i.r);  // the point of j seen from i
        const double l = z.lambda[e.row], f = z.cq * l;
        const Vec gi = cross(n, w), gj = cross(sj, nj);
        z.phi[e.row] = dot(n, w - si);
        if (e.i >= 0) add(z.force + 6 * e.i, -l * N), add(z.force + 6 * e.i + 3, l * gi);
        if (e.j >= 0) add(z.force + 6 * e.j, l * N), add(z.force + 6 * e.j + 3, l * gj);
        if constexpr (Derivatives) {
            if (e.i >= 0) stream::put(z.pair, -N), stream::put(z.pair, gi);
            if (e.j >= 0) stream::put(z.pair, N), stream::put(z.pair, gj);
            Vec turning[3], arm[3];  // columns of dN/d theta_i and of d gj/d theta_i
            for (int k = 0; k < 3; ++k) {
                turning[k] = to_ground(i.R, cross(stream::unit[k], n));
                arm[k] = cross(sj, to_body(j.R, turning[k]));
            }
            if (e.i >= 0) {
                stream::put_double_cross(z.single, f, n, w);
                stream::put_both(z.single, -f, turning);
            }
            if (e.j >= 0) stream::put_double_cross(z.single, f, sj, nj);
            if (e.i >= 0 && e.j >= 0) {
                stream::put_both(z.single, f, turning);
                stream::put_both(z.single, f, arm);
            }
        }
    }
    static void value(const Element& e, const double* q, const double* R, const double* c, double* phi) {
        const Pose i = pose(q, R, e.i), j = pose(q, R, e.j);
        const Vec w = to_body(i.R, j.r + to_ground(j.R, load(c + e.at + 3)) - i.r);
        phi[e.row] = dot(load(c + e.at + 6), w - load(c + e.at));
    }
    static void rates(const Element& e, Rates& z) {
        const Pose i = pose(z.q, z.R, e.i), j = pose(z.q, z.R, e.j);
        const Vec si = load(z.c + e.at), sj = load(z.c + e.at + 3), n = load(z.c + e.at + 6);
        const Vec wi = spin(z.v, e.i), wj = spin(z.v, e.j);
        const Vec N = to_ground(i.R, n), dN = to_ground(i.R, cross(wi, n)),
                  ddN = to_ground(i.R, cross(wi, cross(wi, n)));
        const Vec d = j.r + to_ground(j.R, sj) - i.r - to_ground(i.R, si);
        const Vec dd =
            speed(z.v, e.j) + to_ground(j.R, cross(wj, sj)) - speed(z.v, e.i) - to_ground(i.R, cross(wi, si));
        const Vec ddd = to_ground(j.R, cross(wj, cross(wj, sj))) - to_ground(i.R, cross(wi, cross(wi, si)));
        z.velocity[e.row] = dot(dN, d) + dot(N, dd);
        z.gamma[e.row] = -(dot(ddN, d) + 2 * dot(dN, dd) + dot(N, ddd));
    }
};

}  // namespace mbd
