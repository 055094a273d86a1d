// Every scheme by name: to add one, include its header and add its line.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "hht.hpp"

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

inline std::unique_ptr<Scheme> make_scheme(const std::string& name, const System& system,
                                           const std::vector<double>& options) {
    if (name == "hht") {
        const auto chosen = unpack<HhtOptions>(name, options);
        if (chosen.printed_form != 0 && system.forces_see_accelerations)
            throw ModelError(
                "scheme 'hht': the form \"printed\" has order zero where forces depend on accelerations (eq. 11a "
                "divides "
                "these by 1 + alpha); use \"corrected\"");
        return std::make_unique<Hht>(system, chosen);
    }
    throw ModelError("no scheme is named '" + name + "'");
}

}  // namespace mbd
