// Every integration formula by number, in the order of mbdfmu/schemes/formulas.py.
#pragma once
#include <memory>
#include <string>

#include "../blob.hpp"
#include "adams.hpp"
#include "dormand_prince8.hpp"
#include "multistep.hpp"

namespace mbd {

constexpr int adams_number = 7;

// `growing`: formulas of several steps start with the orders 1, 2, ..
inline std::unique_ptr<Formula> make_formula(int number, bool growing, int n) {
    const auto runge_kutta = [&](const Tableau& t) { return std::make_unique<RungeKutta>(t, n); };
    const auto multistep = [&](int k, Corrector c) { return std::make_unique<Multistep>(k, c, growing, n); };
    switch (number) {
        case 0:
            return multistep(1, Corrector::none);  // Euler
        case 1:
            return runge_kutta(tableaus::heun());
        case 2:
            return runge_kutta(tableaus::midpoint());
        case 3:
            return runge_kutta(tableaus::classical());
        case 4:
            return runge_kutta(tableaus::fehlberg());
        case 5:
            return runge_kutta(tableaus::dormand_prince5());
        case 6:
            return runge_kutta(tableaus::dormand_prince8());
        case adams_number:
            return std::make_unique<Adams>(n);
        default:
            break;
    }
    constexpr int first = adams_number + 1, orders = 5;
    const int kind = (number - first) / orders, k = (number - first) % orders + 1;
    if (number < first || kind > 2) throw ModelError("integration formula " + std::to_string(number) + " is not known");
    return multistep(k, kind == 0 ? Corrector::none : kind == 1 ? Corrector::same_order : Corrector::next_order);
}

}  // namespace mbd
