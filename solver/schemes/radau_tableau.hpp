// The numbers of Radau IIA with three stages, and its collocation polynomial; knows no mechanics.
//
// [HairerWanner96] IV.8: A^-1 = T diag(real, [alpha -beta; beta alpha]) T^-1, so that the three stages of a Newton
// iteration come apart into one real system and a complex one.
#pragma once
#include <complex>

namespace mbd::radau {

constexpr int stages = 3;
constexpr double root6 = 2.449489742783178098197284;
constexpr double c[stages] = {(4 - root6) / 10, (4 + root6) / 10, 1};
constexpr double A[stages][stages] = {
    {(88 - 7 * root6) / 360, (296 - 169 * root6) / 1800, (-2 + 3 * root6) / 225},
    {(296 + 169 * root6) / 1800, (88 + 7 * root6) / 360, (-2 - 3 * root6) / 225},
    {(16 - root6) / 36, (16 + root6) / 36, 1.0 / 9},
};
constexpr double T[stages][stages] = {
    {0.091232394870892942792, -0.14125529502095420843, -0.030029194105147424492},
    {0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779},
    {0.96604818261509293619, 1, 0},
};
constexpr double inverse_T[stages][stages] = {
    {4.3255798900631553510, 0.33919925181580986954, 0.54177053993587487119},
    {-4.1787185915519047273, -0.32768282076106238708, 0.47662355450055045196},
    {-0.50287263494578687595, 2.5719269498556054292, -0.59603920482822492497},
};
// the eigenvalues of A^-1; those of A are what h is multiplied by
constexpr double real_eigenvalue = 3.6378342527444957322;
constexpr double alpha = 2.6810828736277521339, beta = 3.0504301992474105694;
constexpr double gamma = 1 / real_eigenvalue;
inline std::complex<double> complex_gamma() {
    constexpr double square = alpha * alpha + beta * beta;
    return {alpha / square, -beta / square};
}

// The embedded formula of order 3: its difference to the method is gamma (h f(y_n) + sum e_i Z_i), Z_i = Y_i - y_n.
constexpr double e[stages] = {-(13 + 7 * root6) / 3, (-13 + 7 * root6) / 3, -1.0 / 3};

// Lagrange weights at x of the polynomial through `count` nodes.
inline void lagrange(const double* node, int count, double x, double* weight) {
    for (int j = 0; j < count; ++j) {
        weight[j] = 1;
        for (int k = 0; k < count; ++k)
            if (k != j) weight[j] *= (x - node[k]) / (node[j] - node[k]);
    }
}

}  // namespace mbd::radau
