// What an FMU offers, read from resources/interface.mbd (written by mbdfmu/fmi/interface.py in the container of
// blob.hpp): the table of its variables, and the schemes with their options. Knows neither FMI functions nor files.
//
// Sections, of every variable in the order of the table:
//   model, guid, tool  texts
//   kind               text: what instances are for, "co-simulation" or "model exchange"
//   variables          ints: reference type role variability index size space first count
//   names              a line
//   bounds             doubles: low high
//   starts             doubles: `size` numbers of what can be set (parameters, inputs, settings)
// and of every option of every scheme:
//   schemes            lines; `options` counts them from 0
//   options            ints: scheme whole
//   option.names, option.choices  a line; choices are separated by |, none: it is a number
//   option.num         doubles: default low high
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "system.hpp"

namespace mbd {

class Interface {
public:
    Interface(const unsigned char* data, std::size_t size, const System& system);

    enum class Type { real, integer, boolean, string, enumeration };
    // signal: computed by the model; text: a constant text; events: their number; rate: derivative of a continuous
    // state (model exchange)
    // slope: time derivative of an input, itself an input
    enum class Role { signal, parameter, input, setting, text, events, rate, slope };
    enum class Variability { constant, fixed, tunable, discrete, continuous };
    // Places of settings; the options of the exported scheme follow in its order.
    enum Setting {
        scheme,
        tolerance,
        step,
        first_step,
        largest_step,
        smallest_step,
        most_steps,
        log_level,
        assemble,
        first_option
    };

    struct Variable {
        std::uint32_t reference;
        Type type;
        Role role;
        Variability variability;
        int index;  // of its first element in the table of its role
        int size;   // elements, 1 but for arrays
        // Of signals that are continuous states: their place in q (1; with quaternions), v (2) or X (3), count 1.
        // Of start values: the coordinates that assembly shall not move, of space 1 (q) or 2 (v); 0: none. Three
        // positions are a rotation, which starts from its parameters.
        int space, first, count;
        int place;  // of its first element among the numbers that can be set; -1: it cannot
        double low, high;
        std::string name;
        bool is_state() const { return space > 0 && (role == Role::signal || role == Role::rate); }
        bool settable() const { return place >= 0; }
    };
    struct Option {
        int scheme;
        bool whole;
        std::string name;
        std::vector<std::string> choices;
        double standard, low, high;
    };

    std::string model, guid, tool, kind;
    std::uint32_t identity = 0;  // checksum of the file
    std::vector<Variable> variables;
    std::vector<double> starts;
    std::vector<std::string> schemes;
    std::vector<Option> options;

    const Variable* find(std::uint32_t reference) const;  // nullptr where there is none
    std::vector<const Variable*> with_role(Role role) const;
    std::vector<const Option*> options_of(int scheme) const;

private:
    std::vector<std::pair<std::uint32_t, int>> places_;  // by reference
    void read_variables(const Blob& blob, const System& system);
    void read_options(const Blob& blob);
    void check(const Variable& v, const System& system) const;
    void check_settings() const;
    void check_choice(const Variable& v, std::size_t count) const;
};

}  // namespace mbd
