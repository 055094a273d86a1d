// Native kernels of the planar elements that profiles show to be hot; everything else is an expression program.
//
// Planar body b has coordinates q[3b..3b+2] = (x, y, phi), its centre of mass and its angle. A point with body
// coordinates s lies at r + S, S = A s; S' = (-S_y, S_x) is its derivative by phi, and S'' = -S.
// Each kernel adds its forces and constraint values to the residual and, where asked, appends its derivatives to a
// stream; `pattern` lists the places of that stream in the same order.
// tests/test_elements.py compares every kernel with the symbolic form of the same element.
#pragma once
#include <cmath>
#include <vector>

#include "blob.hpp"

namespace mbd {

// Two ends (body number or -1 for ground), first constraint row, first constant.
struct Element {
    int i, j, row, at;
};

// The derivative stream. A pair is an entry of G: it stands at (row, column) and transposed at (column, row).
struct Pattern {
    struct Place {
        int row, col;
    };
    std::vector<Place> singles, pairs;
};

// What kernels read and write at one evaluation point.
struct Evaluation {
    const double *q, *v, *a, *lambda, *c;
    const double* cs;               // cosine and sine of every planar body's angle
    const double* R;                // rotation matrix of every spatial body
    const double* inverse_tangent;  // T^-1 of every spatial body's increment since t_n; with derivatives only
    double *force, *phi;            // residual rows: M a + G^T lambda - Q, and Phi
    double ca, cv, cq;              // d a / d unknown, d v / d unknown, d q / d unknown of the running scheme
    double *single, *pair;          // the derivative stream, null where not wanted
};

// What index-1 needs of the constraint rows: G v and gamma = -(G v)_q v.
struct Rates {
    const double *q, *v, *c, *cs, *R;
    double *velocity, *gamma;
};

struct Arm {  // S = A s
    double x, y;
};
inline Arm arm(const double* cs, int body, const double* s) {
    if (body < 0) return {s[0], s[1]};
    const double c = cs[2 * body], d = cs[2 * body + 1];
    return {c * s[0] - d * s[1], d * s[0] + c * s[1]};
}
inline Arm point(const double* q, int body, Arm S) {
    return body < 0 ? S : Arm{q[3 * body] + S.x, q[3 * body + 1] + S.y};
}
inline Arm velocity(const double* v, int body, Arm S) {
    if (body < 0) return {0, 0};
    const double* b = v + 3 * body;
    return {b[0] - b[2] * S.y, b[1] + b[2] * S.x};
}

// ---- coincident points (T3.1): Phi = r_j + S_j - r_i - S_i, two rows; constants s_i, s_j
struct Coincident {
    static constexpr const char* section = "coincid";
    static constexpr int rows = 2, constants = 4;

    static void pattern(const Element& e, int nv, Pattern& out) {
        const int x = nv + e.row, y = x + 1;
        for (int body : {e.i, e.j}) {
            if (body < 0) continue;
            const int k = 3 * body;
            out.pairs.insert(out.pairs.end(), {{x, k}, {x, k + 2}, {y, k + 1}, {y, k + 2}});
            out.singles.push_back({k + 2, k + 2});
        }
    }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        const double lx = z.lambda[e.row], ly = z.lambda[e.row + 1];
        const Arm Si = arm(z.cs, e.i, z.c + e.at), Sj = arm(z.cs, e.j, z.c + e.at + 2);
        const Arm ri = point(z.q, e.i, Si), rj = point(z.q, e.j, Sj);
        z.phi[e.row] = rj.x - ri.x;
        z.phi[e.row + 1] = rj.y - ri.y;
        if (e.i >= 0) end<Derivatives>(z, e.i, -1, Si, lx, ly);
        if (e.j >= 0) end<Derivatives>(z, e.j, +1, Sj, lx, ly);
    }
    static void value(const Element& e, const double* q, const double* cs, const double* c, double* phi) {
        const Arm ri = point(q, e.i, arm(cs, e.i, c + e.at)), rj = point(q, e.j, arm(cs, e.j, c + e.at + 2));
        phi[e.row] = rj.x - ri.x;
        phi[e.row + 1] = rj.y - ri.y;
    }
    static void rates(const Element& e, Rates& z) {
        const Arm Si = arm(z.cs, e.i, z.c + e.at), Sj = arm(z.cs, e.j, z.c + e.at + 2);
        const Arm vi = velocity(z.v, e.i, Si), vj = velocity(z.v, e.j, Sj);
        const double wi = e.i < 0 ? 0 : z.v[3 * e.i + 2], wj = e.j < 0 ? 0 : z.v[3 * e.j + 2];
        z.velocity[e.row] = vj.x - vi.x;
        z.velocity[e.row + 1] = vj.y - vi.y;
        z.gamma[e.row] = wj * wj * Sj.x - wi * wi * Si.x;
        z.gamma[e.row + 1] = wj * wj * Sj.y - wi * wi * Si.y;
    }

private:
    template <bool Derivatives>
    static void end(Evaluation& z, int body, double sign, Arm S, double lx, double ly) {
        double* force = z.force + 3 * body;
        force[0] += sign * lx;
        force[1] += sign * ly;
        force[2] += sign * (ly * S.x - lx * S.y);
        if constexpr (Derivatives) {
            z.pair[0] = sign;
            z.pair[1] = -sign * S.y;
            z.pair[2] = sign;
            z.pair[3] = sign * S.x;
            z.pair += 4;
            *z.single++ = -z.cq * sign * (lx * S.x + ly * S.y);  // (G^T lambda)_q
        }
    }
};

// ---- equal angles (T3.2): Phi = phi_j - phi_i + offset; constant offset
struct Angle {
    static constexpr const char* section = "angle";
    static constexpr int rows = 1, constants = 1;

    static void pattern(const Element& e, int nv, Pattern& out) {
        for (int body : {e.i, e.j})
            if (body >= 0) out.pairs.push_back({nv + e.row, 3 * body + 2});
    }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        const double l = z.lambda[e.row];
        value(e, z.q, z.cs, z.c, z.phi);
        if (e.i >= 0) z.force[3 * e.i + 2] -= l;
        if (e.j >= 0) z.force[3 * e.j + 2] += l;
        if constexpr (Derivatives) {
            if (e.i >= 0) *z.pair++ = -1;
            if (e.j >= 0) *z.pair++ = 1;
        }
    }
    static void value(const Element& e, const double* q, const double*, const double* c, double* phi) {
        phi[e.row] = (e.j < 0 ? 0 : q[3 * e.j + 2]) - (e.i < 0 ? 0 : q[3 * e.i + 2]) + c[e.at];
    }
    static void rates(const Element& e, Rates& z) {
        z.velocity[e.row] = (e.j < 0 ? 0 : z.v[3 * e.j + 2]) - (e.i < 0 ? 0 : z.v[3 * e.i + 2]);
        z.gamma[e.row] = 0;
    }
};

// ---- point in line (T3.3): Phi = n . d, d = r_j + S_j - r_i - S_i, n fixed in body i; constants s_i, s_j, n
struct InLine {
    static constexpr const char* section = "inline";
    static constexpr int rows = 1, constants = 6;

    static void pattern(const Element& e, int nv, Pattern& out) {
        const int row = nv + e.row, i = 3 * e.i, j = 3 * e.j;
        if (e.i >= 0) {
            out.pairs.insert(out.pairs.end(), {{row, i}, {row, i + 1}, {row, i + 2}});
            out.singles.insert(out.singles.end(),
                               {{i + 2, i + 2}, {i + 2, i}, {i, i + 2}, {i + 2, i + 1}, {i + 1, i + 2}});
        }
        if (e.j >= 0) {
            out.pairs.insert(out.pairs.end(), {{row, j}, {row, j + 1}, {row, j + 2}});
            out.singles.push_back({j + 2, j + 2});
        }
        if (e.i >= 0 && e.j >= 0)
            out.singles.insert(
                out.singles.end(),
                {{i + 2, j}, {j, i + 2}, {i + 2, j + 1}, {j + 1, i + 2}, {i + 2, j + 2}, {j + 2, i + 2}});
    }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        const double l = z.lambda[e.row];
        const Arm Si = arm(z.cs, e.i, z.c + e.at), Sj = arm(z.cs, e.j, z.c + e.at + 2),
                  n = arm(z.cs, e.i, z.c + e.at + 4);
        const Arm ri = point(z.q, e.i, Si), rj = point(z.q, e.j, Sj);
        const double dx = rj.x - ri.x, dy = rj.y - ri.y, nd = n.x * dx + n.y * dy;
        const double gj = n.y * Sj.x - n.x * Sj.y;                // by phi_j: n . S_j'
        const double gi = n.x * (dy + Si.y) - n.y * (dx + Si.x);  // by phi_i: n' . d - n . S_i'
        z.phi[e.row] = nd;
        if (e.i >= 0) add(z.force + 3 * e.i, l, -n.x, -n.y, gi);
        if (e.j >= 0) add(z.force + 3 * e.j, l, n.x, n.y, gj);
        if constexpr (Derivatives) {
            const double f = z.cq * l;
            if (e.i >= 0) {
                put(z.pair, -n.x, -n.y, gi);
                *z.single++ = -f * (nd + n.x * Si.x + n.y * Si.y);
                put(z.single, f * n.y, f * n.y);  // -n' = (n_y, -n_x)
                put(z.single, -f * n.x, -f * n.x);
            }
            if (e.j >= 0) {
                put(z.pair, n.x, n.y, gj);
                *z.single++ = -f * (n.x * Sj.x + n.y * Sj.y);
            }
            if (e.i >= 0 && e.j >= 0) {
                const double h = f * (n.x * Sj.x + n.y * Sj.y);  // n' . S_j'
                put(z.single, -f * n.y, -f * n.y);
                put(z.single, f * n.x, f * n.x);
                put(z.single, h, h);
            }
        }
    }
    static void value(const Element& e, const double* q, const double* cs, const double* c, double* phi) {
        const Arm n = arm(cs, e.i, c + e.at + 4);
        const Arm ri = point(q, e.i, arm(cs, e.i, c + e.at)), rj = point(q, e.j, arm(cs, e.j, c + e.at + 2));
        phi[e.row] = n.x * (rj.x - ri.x) + n.y * (rj.y - ri.y);
    }
    static void rates(const Element& e, Rates& z) {
        const Arm Si = arm(z.cs, e.i, z.c + e.at), Sj = arm(z.cs, e.j, z.c + e.at + 2),
                  n = arm(z.cs, e.i, z.c + e.at + 4);
        const Arm ri = point(z.q, e.i, Si), rj = point(z.q, e.j, Sj);
        const Arm vi = velocity(z.v, e.i, Si), vj = velocity(z.v, e.j, Sj);
        const double wi = e.i < 0 ? 0 : z.v[3 * e.i + 2], wj = e.j < 0 ? 0 : z.v[3 * e.j + 2];
        const double dx = rj.x - ri.x, dy = rj.y - ri.y, ux = vj.x - vi.x, uy = vj.y - vi.y;
        z.velocity[e.row] = n.x * ux + n.y * uy + wi * (n.x * dy - n.y * dx);
        // Phi'' at a = 0: n'' . d + 2 n' . d' + n . d'',  d'' = wi^2 S_i - wj^2 S_j
        z.gamma[e.row] = wi * wi * (n.x * dx + n.y * dy) - 2 * wi * (n.x * uy - n.y * ux) -
                         (n.x * (wi * wi * Si.x - wj * wj * Sj.x) + n.y * (wi * wi * Si.y - wj * wj * Sj.y));
    }

private:
    template <class... T>
    static void put(double*& to, T... values) {
        ((*to++ = values), ...);
    }
    static void add(double* force, double l, double x, double y, double phi) {
        force[0] += l * x;
        force[1] += l * y;
        force[2] += l * phi;
    }
};

// ---- forces on all six coordinates of two bodies

// The row of coordinate k of both ends; -1 on the ground.
inline int at(const Element& e, int k) {
    const int body = k < 3 ? e.i : e.j;
    return body < 0 ? -1 : 3 * body + k % 3;
}
inline double coordinate(const double* x, const Element& e, int k) { return at(e, k) < 0 ? 0 : x[at(e, k)]; }
inline void all_pairs(const Element& e, Pattern& out) {
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b)
            if (at(e, a) >= 0 && at(e, b) >= 0) out.singles.push_back({at(e, a), at(e, b)});
}

// ---- translational spring-damper (T4.1): tension f = k (l - l0) + c l' along d; constants s_i, s_j, k, c, l0
struct Translational {
    static constexpr const char* section = "transl";
    static constexpr int rows = 0, constants = 7;

    static void pattern(const Element& e, int, Pattern& out) { all_pairs(e, out); }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        const double* c = z.c + e.at;
        const Arm Si = arm(z.cs, e.i, c), Sj = arm(z.cs, e.j, c + 2);
        const Arm ri = point(z.q, e.i, Si), rj = point(z.q, e.j, Sj);
        const Arm vi = velocity(z.v, e.i, Si), vj = velocity(z.v, e.j, Sj);
        const double l = std::hypot(rj.x - ri.x, rj.y - ri.y), ux = (rj.x - ri.x) / l, uy = (rj.y - ri.y) / l;
        const double dx[6] = {-1, 0, Si.y, 1, 0, -Sj.y},
                     dy[6] = {0, -1, -Si.x, 0, 1, Sj.x};  // d by the six coordinates
        const double wx = vj.x - vi.x, wy = vj.y - vi.y;
        const double f = c[4] * (l - c[6]) + c[5] * (ux * wx + uy * wy);
        double g[6];  // length by the coordinates
        for (int a = 0; a < 6; ++a) g[a] = ux * dx[a] + uy * dy[a];
        for (int a = 0; a < 6; ++a)
            if (at(e, a) >= 0) z.force[at(e, a)] += f * g[a];
        if constexpr (Derivatives) {
            double vel[6], H[6][6], Hv[6];  // second derivative of the length
            for (int a = 0; a < 6; ++a) vel[a] = coordinate(z.v, e, a);
            for (int a = 0; a < 6; ++a) {
                for (int b = 0; b < 6; ++b) H[a][b] = (dx[a] * dx[b] + dy[a] * dy[b] - g[a] * g[b]) / l;
                if (a == 2) H[a][a] += ux * Si.x + uy * Si.y;
                if (a == 5) H[a][a] -= ux * Sj.x + uy * Sj.y;
                Hv[a] = 0;
                for (int b = 0; b < 6; ++b) Hv[a] += H[a][b] * vel[b];
            }
            for (int a = 0; a < 6; ++a)
                for (int b = 0; b < 6; ++b)
                    if (at(e, a) >= 0 && at(e, b) >= 0)
                        *z.single++ =
                            z.cq * (f * H[a][b] + g[a] * (c[4] * g[b] + c[5] * Hv[b])) + z.cv * c[5] * g[a] * g[b];
        }
    }
};

// ---- rotational spring-damper (T4.2): torque k (phi_j - phi_i - a0) + c (w_j - w_i); constants k, c, a0
struct Rotational {
    static constexpr const char* section = "rotat";
    static constexpr int rows = 0, constants = 3;

    static void pattern(const Element& e, int, Pattern& out) {
        for (int a : {e.i, e.j})
            for (int b : {e.i, e.j})
                if (a >= 0 && b >= 0) out.singles.push_back({3 * a + 2, 3 * b + 2});
    }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        const double* c = z.c + e.at;
        const auto difference = [&](const double* x) { return coordinate(x, e, 5) - coordinate(x, e, 2); };
        const double torque = c[0] * (difference(z.q) - c[2]) + c[1] * difference(z.v);
        if (e.i >= 0) z.force[3 * e.i + 2] -= torque;
        if (e.j >= 0) z.force[3 * e.j + 2] += torque;
        if constexpr (Derivatives) {
            const double s = z.cq * c[0] + z.cv * c[1];
            for (int a : {e.i, e.j})
                for (int b : {e.i, e.j})
                    if (a >= 0 && b >= 0) *z.single++ = a == b ? s : -s;
        }
    }
};

// ---- bushing (T4.10): along m1 = u . d and m2 = n . d, u in body i, n = u', and on m3 = phi_j - phi_i it holds
// f_k = K_k (m_k - m0_k) + C_k m_k'; constants s_i, s_j, u, K, C, m0
struct PlanarBushing {
    static constexpr const char* section = "bushing";
    static constexpr int rows = 0, constants = 15;

    static void pattern(const Element& e, int, Pattern& out) { all_pairs(e, out); }
    template <bool Derivatives>
    static void evaluate(const Element& e, Evaluation& z) {
        const double *c = z.c + e.at, *K = c + 6, *C = c + 9, *zero = c + 12;
        const Arm Si = arm(z.cs, e.i, c), Sj = arm(z.cs, e.j, c + 2), u = arm(z.cs, e.i, c + 4), n{-u.y, u.x};
        const Arm ri = point(z.q, e.i, Si), rj = point(z.q, e.j, Sj), d{rj.x - ri.x, rj.y - ri.y};
        const double m[3] = {dot(u, d), dot(n, d), coordinate(z.q, e, 5) - coordinate(z.q, e, 2)};
        // by the six coordinates; u' = n and n' = -u turn with body i
        const double g[3][6] = {{-u.x, -u.y, m[1] + dot(u, {Si.y, -Si.x}), u.x, u.y, dot(u, {-Sj.y, Sj.x})},
                                {-n.x, -n.y, -m[0] + dot(n, {Si.y, -Si.x}), n.x, n.y, dot(n, {-Sj.y, Sj.x})},
                                {0, 0, -1, 0, 0, 1}};
        double v[6], f[3], F[6];
        for (int a = 0; a < 6; ++a) v[a] = coordinate(z.v, e, a);
        for (int k = 0; k < 3; ++k) {
            double rate = 0;
            for (int a = 0; a < 6; ++a) rate += g[k][a] * v[a];
            f[k] = K[k] * (m[k] - zero[k]) + C[k] * rate;
        }
        for (int a = 0; a < 6; ++a) F[a] = f[0] * g[0][a] + f[1] * g[1][a] + f[2] * g[2][a];
        for (int a = 0; a < 6; ++a)
            if (at(e, a) >= 0) z.force[at(e, a)] += F[a];
        if constexpr (Derivatives) derivative(e, z, u, Si, Sj, m, g, v, f);
    }

private:
    // cq [sum f_k H_k + g_k^T (K_k g_k + C_k (H_k v)^T)] + cv sum C_k g_k^T g_k, H_k = m_k by the coordinates twice
    static void derivative(const Element& e, Evaluation& z, Arm u, Arm Si, Arm Sj, const double (&m)[3],
                           const double (&g)[3][6], const double (&v)[6], const double (&f)[3]) {
        const double *K = z.c + e.at + 6, *C = K + 3;
        double H[2][6][6], slope[3][6];  // of the three forces
        second(H[0], u, {-u.y, u.x}, m[0], Si, Sj);
        second(H[1], {-u.y, u.x}, {-u.x, -u.y}, m[1], Si, Sj);
        for (int k = 0; k < 3; ++k)
            for (int a = 0; a < 6; ++a) {
                double turned = 0;
                if (k < 2)
                    for (int b = 0; b < 6; ++b) turned += H[k][a][b] * v[b];
                slope[k][a] = z.cq * (K[k] * g[k][a] + C[k] * turned) + z.cv * C[k] * g[k][a];
            }
        for (int a = 0; a < 6; ++a)
            for (int b = 0; b < 6; ++b)
                if (at(e, a) >= 0 && at(e, b) >= 0)
                    *z.single++ = z.cq * (f[0] * H[0][a][b] + f[1] * H[1][a][b]) + g[0][a] * slope[0][b] +
                                  g[1][a] * slope[1][b] + g[2][a] * slope[2][b];
    }
    // Second derivatives of w . d where w' = next and w'' = -w turn with body i.
    static void second(double (&H)[6][6], Arm w, Arm next, double along, Arm Si, Arm Sj) {
        const double by[6] = {-next.x, -next.y, dot(next, {Si.y, -Si.x}), next.x, next.y, dot(next, {-Sj.y, Sj.x})};
        for (auto& row : H)
            for (double& entry : row) entry = 0;
        for (int a = 0; a < 6; ++a) H[2][a] += by[a], H[a][2] += by[a];
        H[2][2] += dot(w, Si) - along;
        H[5][5] -= dot(w, Sj);
    }
    static double dot(Arm a, Arm b) { return a.x * b.x + a.y * b.y; }
};

}  // namespace mbd
