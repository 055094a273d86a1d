// Every scheme by name: to add one, include its header and add its line.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../integrators/stability.hpp"
#include "../integrators/table.hpp"
#include "explicit.hpp"
#include "gcp_implicit.hpp"
#include "newmark.hpp"
#include "radau.hpp"
#include "welch.hpp"

namespace mbd {

template <class Options>
Options unpack(const std::string& name, const std::vector<double>& values) {
    constexpr std::size_t count = sizeof(Options) / sizeof(double);
    if (values.size() != count)
        throw ModelError("scheme '" + name + "' takes " + std::to_string(count) + " options, found " +
                         std::to_string(values.size()));
    Options o;
    std::copy(values.begin(), values.end(), reinterpret_cast<double*>(&o));
    return o;
}

struct FormulaOptions {  // in the order of mbdfmu/schemes/formulas.py
    double formula, growing;
};
struct BaumgarteOptions {  // in the order of mbdfmu/schemes/baumgarte.py
    FormulaOptions of;
    double alpha, beta, adaptive, fraction;
};
struct HybridOptions {  // in the order of mbdfmu/schemes/hybrid.py
    BaumgarteOptions feedback;
    double most_open, most_condition;
};
inline std::unique_ptr<Formula> chosen_formula(const System& system, const FormulaOptions& o) {
    return make_formula(static_cast<int>(o.formula), o.growing != 0, Explicit::size(system));
}
inline std::unique_ptr<Scheme> integrating(const System& system, const FormulaOptions& o,
                                           std::unique_ptr<Treatment> treatment) {
    return std::make_unique<Explicit>(system, chosen_formula(system, o), std::move(treatment));
}
inline std::unique_ptr<Scheme> projecting(const System& system, const Tableau& tableau) {
    return std::make_unique<Explicit>(system, std::make_unique<RungeKutta>(tableau, Explicit::size(system)),
                                      std::make_unique<Projection>(system));
}
inline std::unique_ptr<Treatment> stabilisation(const System& system, const BaumgarteOptions& o) {
    const double beta = o.beta > 0 ? o.beta : o.alpha;  // critical
    double limit = 0;
    if (o.adaptive != 0) {
        if (static_cast<int>(o.of.formula) == adams_number)
            throw ModelError(
                "scheme 'baumgarte': adaptive gains follow the stability limit of a formula, and that of \"adams\" "
                "changes with its order; use gains=\"fixed\" or a formula of one order, such as \"mampc4\"");
        const auto formula = make_formula(static_cast<int>(o.of.formula), o.of.growing != 0, 2);
        limit = o.fraction * stability_limit(*formula);
    }
    return std::make_unique<Baumgarte>(system, o.alpha, beta, limit);
}

inline std::unique_ptr<Scheme> newmark(const System& system, const NewmarkOptions& o) {
    if (o.beta < o.gamma / 2 && o.corrector.index == 3 && system.nc > 0)
        throw ModelError("scheme 'newmark': with beta = " + number(o.beta) + " below gamma/2 = " + number(o.gamma / 2) +
                         " the reactions of joints grow from step to step; use a larger beta, or index = 2");
    return std::make_unique<NewmarkFamily>(system, member(o));
}

// Empty where there is none of that name.
inline std::unique_ptr<Scheme> relative_of_hht(const std::string& name, const System& system,
                                               const std::vector<double>& options) {
    if (name == "newmark") return newmark(system, unpack<NewmarkOptions>(name, options));
    if (name == "trapezoidal")
        return std::make_unique<NewmarkFamily>(system, member(unpack<TrapezoidalOptions>(name, options)));
    if (name == "generalised-alpha")
        return std::make_unique<NewmarkFamily>(system, member(unpack<GeneralisedAlphaOptions>(name, options)));
    return nullptr;
}

inline std::unique_ptr<Scheme> after_welch(const std::string& name, const System& system,
                                           const std::vector<double>& options) {
    if (name == "welch1") return unpack<Welch1Options>(name, options), std::make_unique<Welch>(system, 0);
    if (name != "welch2") return nullptr;
    return std::make_unique<Welch>(system, unpack<Welch2Options>(name, options).printed_form != 0 ? 1 : 2);
}

inline std::unique_ptr<Scheme> make_scheme(const std::string& name, const System& system,
                                           const std::vector<double>& options) {
    if (name == "hht") {
        const auto chosen = unpack<HhtOptions>(name, options);
        if (chosen.printed_form != 0 && system.forces_see_accelerations)
            throw ModelError(
                "scheme 'hht': the form \"printed\" has order zero where forces depend on accelerations (eq. 11a "
                "divides "
                "these by 1 + alpha); use \"corrected\"");
        return std::make_unique<NewmarkFamily>(system, member(chosen));
    }
    if (name == "direct")
        return integrating(system, unpack<FormulaOptions>(name, options), std::make_unique<Treatment>());
    if (name == "gcp")
        return integrating(system, unpack<FormulaOptions>(name, options), std::make_unique<Partitioned>(system));
    if (name == "hybrid") {
        const auto chosen = unpack<HybridOptions>(name, options);
        return integrating(system, chosen.feedback.of,
                           std::make_unique<Hybrid>(system, stabilisation(system, chosen.feedback), chosen.most_open,
                                                    chosen.most_condition));
    }
    if (name == "dopri5") return projecting(system, tableaus::dormand_prince5());
    if (name == "dop853") return projecting(system, tableaus::dormand_prince8());
    if (name == "baumgarte") {
        const auto chosen = unpack<BaumgarteOptions>(name, options);
        return integrating(system, chosen.of, stabilisation(system, chosen));
    }
    if (auto scheme = relative_of_hht(name, system, options)) return scheme;
    if (name == "gcp-implicit" || name == "gcp-fv")
        return std::make_unique<GcpImplicit>(system, unpack<GcpImplicitOptions>(name, options), name == "gcp-fv");
    if (auto scheme = after_welch(name, system, options)) return scheme;
    if (name == "radau") return std::make_unique<Radau>(system, unpack<RadauOptions>(name, options));
    throw ModelError("no scheme is named '" + name + "'");
}

}  // namespace mbd
