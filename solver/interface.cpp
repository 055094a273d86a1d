#include "interface.hpp"

#include <algorithm>
#include <cmath>

#include "blob.hpp"

namespace mbd {
namespace {

constexpr int columns = 9;

[[noreturn]] void damaged(const std::string& what) {
    throw ModelError("interface of the FMU: " + what + "; export the model again");
}

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find(at, begin)) != std::string::npos; begin = end + 1)
        parts.push_back(text.substr(begin, end - begin));
    if (begin < text.size()) parts.push_back(text.substr(begin));
    return parts;
}

std::vector<std::string> lines(const Blob& blob, const char* section, std::size_t count) {
    auto found = split(blob.text(section), '\n');
    if (found.size() != count) damaged("section '" + std::string(section) + "' has another length than its table");
    return found;
}

std::vector<double> numbers(const Blob& blob, const char* section, std::size_t count) {
    auto found = blob.doubles(section);
    if (found.size() != count) damaged("section '" + std::string(section) + "' has another length than its table");
    return found;
}

void expect(bool fits, const std::string& name, const char* what) {
    if (!fits) damaged("variable '" + name + "' has " + what + " out of range");
}

template <class Enumeration>
Enumeration enumeration(std::int32_t number, Enumeration last) {
    if (number < 0 || number > static_cast<std::int32_t>(last)) damaged("a variable has an unknown kind");
    return static_cast<Enumeration>(number);
}

bool in_range(int first, int count, int all) {
    return first >= 0 && count >= 0 && count <= all && first <= all - count;
}

}  // namespace

Interface::Interface(const unsigned char* data, std::size_t size, const System& system) {
    const Blob blob(data, size);
    identity = blob.checksum();
    model = blob.text("model"), guid = blob.text("guid"), tool = blob.text("tool");
    kind = blob.text("kind");
    read_options(blob);
    read_variables(blob, system);
    check_settings();
}

void Interface::read_variables(const Blob& blob, const System& system) {
    const auto table = blob.ints("variables");
    if (table.size() % columns != 0) damaged("the table of variables is cut short");
    const std::size_t count = table.size() / columns;
    const auto names = lines(blob, "names", count);
    const auto bounds = numbers(blob, "bounds", 2 * count);
    starts = blob.doubles("starts");
    std::size_t place = 0;
    variables.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
        const std::int32_t* row = table.data() + columns * k;
        Variable v{static_cast<std::uint32_t>(row[0]),
                   enumeration(row[1], Type::enumeration),
                   enumeration(row[2], Role::slope),
                   enumeration(row[3], Variability::continuous),
                   row[4],
                   row[5],
                   row[6],
                   row[7],
                   row[8],
                   -1,
                   bounds[2 * k],
                   bounds[2 * k + 1],
                   names[k]};
        check(v, system);
        if (v.role == Role::parameter || v.role == Role::input || v.role == Role::setting || v.role == Role::slope) {
            v.place = static_cast<int>(place);
            place += v.size;
        }
        places_.emplace_back(v.reference, static_cast<int>(k));
        variables.push_back(std::move(v));
    }
    if (place != starts.size()) damaged("there are more or fewer start values than variables that can be set");
    for (double start : starts)
        if (!std::isfinite(start)) damaged("a start value is not finite");
    std::sort(places_.begin(), places_.end());
    for (std::size_t k = 1; k < places_.size(); ++k)
        if (places_[k].first == places_[k - 1].first)
            damaged("value reference " + std::to_string(places_[k].first) + " is given twice");
}

void Interface::check(const Variable& v, const System& system) const {
    const int all[] = {system.signal_count(),      system.np, system.nu, 1 << 20, 1, 1,
                       system.continuous_states(), system.nu};
    expect(v.size > 0 && in_range(v.index, v.size, all[static_cast<int>(v.role)]), v.name, "a place");
    const bool state = v.role == Role::signal || v.role == Role::rate;
    const int sizes[] = {0, state ? system.nq() : system.nv, system.nv, state ? system.nx : 0};
    expect(v.space >= 0 && v.space <= 3, v.name, "the space of its coordinates");
    expect(v.space == 0 || in_range(v.first, v.count, sizes[v.space]), v.name, "its coordinates");
    expect(!v.is_state() || (v.size == 1 && v.count == 1), v.name, "its coordinates");
    expect(!std::isnan(v.low) && !std::isnan(v.high), v.name, "a bound");
    expect((v.role == Role::text) == (v.type == Type::string), v.name, "a type");
}

void Interface::read_options(const Blob& blob) {
    schemes = split(blob.text("schemes"), '\n');
    const auto table = blob.ints("options");
    if (table.size() % 2 != 0) damaged("the table of options is cut short");
    const std::size_t count = table.size() / 2;
    const auto names = lines(blob, "option.names", count), choices = lines(blob, "option.choices", count);
    const auto num = numbers(blob, "option.num", 3 * count);
    for (std::size_t k = 0; k < count; ++k) {
        if (!in_range(table[2 * k], 1, static_cast<int>(schemes.size()))) damaged("an option belongs to no scheme");
        options.push_back({table[2 * k], table[2 * k + 1] != 0, names[k], split(choices[k], '|'), num[3 * k],
                           num[3 * k + 1], num[3 * k + 2]});
    }
}

// One variable of every setting, in order, and of every option of the exported scheme.
void Interface::check_settings() const {
    const auto settings = with_role(Role::setting);
    if (settings.size() < first_option) damaged("settings of the solver are missing");
    for (std::size_t k = 0; k < settings.size(); ++k)
        expect(settings[k]->index == static_cast<int>(k) && settings[k]->size == 1, settings[k]->name, "a place");
    check_choice(*settings[scheme], schemes.size());
    const auto own = options_of(static_cast<int>(starts[settings[scheme]->place]) - 1);
    if (own.size() != settings.size() - first_option) damaged("the exported scheme has other options");
    for (std::size_t k = 0; k < own.size(); ++k)
        if (!own[k]->choices.empty()) check_choice(*settings[first_option + k], own[k]->choices.size());
}

// One of `count` items, from 1, at the start and within its bounds.
void Interface::check_choice(const Variable& v, std::size_t count) const {
    const double most = static_cast<double>(count);
    expect(v.low >= 1 && v.high <= most && starts[v.place] >= 1 && starts[v.place] <= most, v.name, "a choice");
}

const Interface::Variable* Interface::find(std::uint32_t reference) const {
    const auto at = std::lower_bound(places_.begin(), places_.end(), std::make_pair(reference, 0));
    return at != places_.end() && at->first == reference ? &variables[at->second] : nullptr;
}

std::vector<const Interface::Variable*> Interface::with_role(Role role) const {
    std::vector<const Variable*> found;
    for (const auto& v : variables)
        if (v.role == role) found.push_back(&v);
    return found;
}

std::vector<const Interface::Option*> Interface::options_of(int scheme) const {
    std::vector<const Option*> found;
    for (const auto& o : options)
        if (o.scheme == scheme) found.push_back(&o);
    return found;
}

}  // namespace mbd
