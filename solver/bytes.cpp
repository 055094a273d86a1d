#include "bytes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace mbd {
namespace {

constexpr char magic[] = "MBDSTATE";
constexpr std::uint32_t version = 2;
constexpr std::size_t magic_size = 8, header_size = 24, checksum_size = 4;

[[noreturn]] void damaged(const std::string& what) {
    throw ModelError("saved state: " + what + "; save it anew with this model");
}

std::uint64_t load(const unsigned char* from, int size) {
    std::uint64_t value = 0;
    for (int k = 0; k < size; ++k) value |= static_cast<std::uint64_t>(from[k]) << (8 * k);
    return value;
}

}  // namespace

// ---------------------------------------------------------------- values

void Writer::unsigned_(std::uint64_t value, int size) {
    for (int k = 0; k < size; ++k) bytes.push_back(static_cast<unsigned char>(value >> (8 * k)));
}

void Writer::number(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    unsigned_(bits, 8);
}

void Writer::numbers(const std::vector<double>& values) {
    unsigned_(values.size(), 8);
    bytes.reserve(bytes.size() + 8 * values.size());
    for (double x : values) number(x);
}

void Writer::wholes(const std::vector<int>& values) {
    unsigned_(values.size(), 8);
    for (int x : values) whole(x);
}

std::uint64_t Reader::unsigned_(int size, const char* what) {
    if (end_ - at_ < size) damaged("it ends before '" + std::string(what) + "'");
    const std::uint64_t value = load(at_, size);
    at_ += size;
    return value;
}

bool Reader::flag(const char* what) {
    const auto value = unsigned_(1, what);
    if (value > 1) damaged("'" + std::string(what) + "' is neither true nor false");
    return value == 1;
}

std::int64_t Reader::whole(const char* what, std::int64_t least, std::int64_t most) {
    const auto value = static_cast<std::int64_t>(unsigned_(8, what));
    if (value < least || value > most)
        damaged("'" + std::string(what) + "' is " + std::to_string(value) + ", allowed are " + std::to_string(least) +
                " to " + std::to_string(most));
    return value;
}

double Reader::number(const char* what) {
    const std::uint64_t bits = unsigned_(8, what);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

double Reader::finite(const char* what) {
    const double value = number(what);
    if (!std::isfinite(value)) damaged("'" + std::string(what) + "' is not a finite number");
    return value;
}

std::size_t Reader::count(const char* what, std::size_t size) {
    const std::uint64_t entries = unsigned_(8, what);
    if (entries > static_cast<std::size_t>(end_ - at_) / size)
        damaged("'" + std::string(what) + "' has " + std::to_string(entries) + " entries, more than follow");
    return static_cast<std::size_t>(entries);
}

std::vector<double> Reader::numbers(const char* what) {
    std::vector<double> values(count(what, 8));
    for (double& x : values) x = number(what);
    return values;
}

std::vector<int> Reader::wholes(const char* what) {
    std::vector<int> values(count(what, 8));
    for (int& x : values)
        x = static_cast<int>(whole(what, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    return values;
}

void Reader::end() const {
    if (at_ != end_) damaged(std::to_string(end_ - at_) + " bytes follow its end");
}

// ---------------------------------------------------------------- State

namespace {

// The numbers and vectors of State in their order in the file, with the names that messages have for them.
template <class S, class F>
void each_number(S& s, F&& f) {
    f("t", s.t), f("h", s.h), f("ahead", s.ahead), f("last_step", s.last_step), f("drift", s.drift);
    f("t_input", s.t_input), f("misfit", s.misfit), f("misfit_limit", s.misfit_limit);
    f("burst_began", s.burst_began), f("chosen_at", s.chosen_at), f("passed", s.passed);
}
// `finite`: a motion cannot go on from anything else
template <class S, class F>
void each_vector(S& s, F&& f) {
    f("q", s.q, true), f("v", s.v, true), f("a", s.a, false), f("lambda", s.lambda, false), f("x", s.x, true);
    f("xdot", s.xdot, false), f("y", s.y, false), f("u", s.u, true), f("udot", s.udot, true);
    f("parameters", s.parameters, true), f("turns", s.turns, true), f("hold", s.hold, true), f("sizes", s.sizes, true);
    f("seen", s.seen, false), f("slopes", s.slopes, false), f("memory", s.memory, false), f("before", s.before, true),
        f("looked_at", s.looked_at, true);
}

void write_redundancies(const std::vector<Redundancy>& all, Writer& to) {
    to.whole(static_cast<std::int64_t>(all.size()));
    for (const Redundancy& r : all) {
        to.whole(r.row);
        to.whole(static_cast<std::int64_t>(r.repeats.size()));
        for (const auto& [row, coefficient] : r.repeats) to.whole(row), to.number(coefficient);
    }
}

constexpr int greatest = std::numeric_limits<int>::max();

std::vector<Redundancy> read_redundancies(Reader& from) {
    std::vector<Redundancy> all(from.count("redundancies", 16));
    for (Redundancy& r : all) {
        r.row = static_cast<int>(from.whole("redundancies", 0, greatest));
        r.repeats.resize(from.count("repeats", 16));
        for (auto& [row, coefficient] : r.repeats) {
            row = static_cast<int>(from.whole("repeats", 0, greatest));
            coefficient = from.finite("repeats");
        }
    }
    return all;
}

double real(double x) { return x; }
double real(const Complex& x) { return x.real(); }

template <class Scalar>
void write_factor(const FactorOf<Scalar>& factor, Writer& to) {
    std::vector<double> values;
    for (const Scalar& x : factor.values) {
        values.push_back(real(x));
        if constexpr (std::is_same_v<Scalar, Complex>) values.push_back(x.imag());
    }
    to.numbers(values);
    to.whole(static_cast<int>(factor.order));
    to.flag(factor.pivoting);
}

Order read_order(Reader& from) { return static_cast<Order>(from.whole("order", 0, static_cast<int>(Order::patient))); }

template <class Scalar>
void read_factor(Reader& from, FactorOf<Scalar>& factor) {
    constexpr std::size_t parts = sizeof(Scalar) / sizeof(double);
    const std::vector<double> values = from.numbers("factor");
    if (values.size() % parts != 0) damaged("'factor' ends within a number");
    factor.values.resize(values.size() / parts);
    for (std::size_t k = 0; k < factor.values.size(); ++k)
        if constexpr (parts == 2)
            factor.values[k] = {values[2 * k], values[2 * k + 1]};
        else
            factor.values[k] = values[k];
    factor.order = read_order(from);
    factor.pivoting = from.flag("pivoting");
}

}  // namespace

void write(const State& state, Writer& to) {
    to.whole(state.model);
    each_number(state, [&](const char*, double x) { to.number(x); });
    each_vector(state, [&](const char*, const std::vector<double>& x, bool) { to.numbers(x); });
    write_redundancies(state.redundancies, to);
    to.wholes(state.inactive);
    to.wholes(state.dropped);
    to.wholes({state.sides.begin(), state.sides.end()});
    to.whole(state.events), to.whole(state.burst);
    to.flag(state.inputs_vary);
    to.flag(state.restart_pending);
    write_factor(state.factor, to);
    write_factor(state.complex_factor, to);
    to.whole(static_cast<int>(state.order));
}

State read_state(Reader& from) {
    State s;
    s.model = static_cast<std::uint32_t>(from.whole("model", 0, std::numeric_limits<std::uint32_t>::max()));
    each_number(s, [&](const char* what, double& x) { x = from.finite(what); });
    each_vector(s, [&](const char* what, std::vector<double>& x, bool) { x = from.numbers(what); });
    s.redundancies = read_redundancies(from);
    s.inactive = from.wholes("inactive");
    s.dropped = from.wholes("dropped");
    for (int side : from.wholes("sides")) s.sides.push_back(side != 0);
    s.events = static_cast<long>(from.whole("events", 0, greatest));
    s.burst = static_cast<long>(from.whole("burst", 0, greatest));
    s.inputs_vary = from.flag("inputs_vary");
    s.restart_pending = from.flag("restart_pending");
    read_factor(from, s.factor);
    read_factor(from, s.complex_factor);
    s.order = read_order(from);
    return s;
}

State read(Reader& from, const System& system) {
    State s = read_state(from);
    check(s, system);
    return s;
}

// ---------------------------------------------------------------- what fits a system

namespace {

void check_length(const char* what, std::size_t found, std::size_t wanted) {
    if (found != wanted)
        damaged("'" + std::string(what) + "' has " + std::to_string(found) + " entries, the model " +
                std::to_string(wanted));
}

void check_lengths(const State& s, const System& system) {
    const auto count = [](int n) { return static_cast<std::size_t>(n); };
    const std::size_t indicators = system.switches.indicators.size();
    check_length("q", s.q.size(), count(system.nq()));
    for (const auto& [what, of] : {std::pair{"v", &s.v}, {"a", &s.a}}) check_length(what, of->size(), count(system.nv));
    for (const auto& [what, of] : {std::pair{"lambda", &s.lambda}, {"hold", &s.hold}})
        check_length(what, of->size(), count(system.nc));
    for (const auto& [what, of] : {std::pair{"x", &s.x}, {"xdot", &s.xdot}})
        check_length(what, of->size(), count(system.nx));
    for (const auto& [what, of] : {std::pair{"u", &s.u}, {"udot", &s.udot}})
        check_length(what, of->size(), count(system.nu));
    check_length("y", s.y.size(), count(system.ny));
    if (!s.looked_at.empty() || !s.redundancies.empty()) check_length("looked_at", s.looked_at.size(), s.q.size());
    check_length("parameters", s.parameters.size(), count(system.np));
    check_length("turns", s.turns.size(), count(system.turns));
    check_length("sides", s.sides.size(), indicators);
    for (const auto& [what, of] : {std::pair{"sizes", &s.sizes}, {"seen", &s.seen}, {"slopes", &s.slopes}})
        check_length(what, of->size(), indicators);
    if (!s.before.empty()) check_length("before", s.before.size(), count(system.nv + system.n()));
}

void check_finite(const State& s) {
    const auto finite = [](double x) { return std::isfinite(x); };
    each_number(s, [&](const char* what, double x) {
        if (!finite(x)) damaged("'" + std::string(what) + "' is not a finite number");
    });
    each_vector(s, [&](const char* what, const std::vector<double>& x, bool wanted) {
        if (wanted && !std::all_of(x.begin(), x.end(), finite))
            damaged("'" + std::string(what) + "' is not finite throughout");
    });
}

void check_unknowns(const char* what, const std::vector<int>& unknowns, const System& system) {
    for (std::size_t k = 0; k < unknowns.size(); ++k)
        if (unknowns[k] < system.nv || unknowns[k] >= system.nv + system.nc ||
            (k > 0 && unknowns[k] <= unknowns[k - 1]))
            damaged("'" + std::string(what) + "' does not name rows in their order");
}

// The rows left out are those that are off and those that repeat others.
void check_rows(const State& s, const System& system) {
    check_unknowns("inactive", s.inactive, system);
    check_unknowns("dropped", s.dropped, system);
    std::vector<int> expected = s.inactive;
    for (const Redundancy& r : s.redundancies) {
        if (r.row >= system.nc) damaged("a row that repeats others is not there");
        expected.push_back(system.nv + r.row);
        for (const auto& repeated : r.repeats)
            if (repeated.first < 0 || repeated.first >= system.nc) damaged("a row repeats one that is not there");
    }
    std::sort(expected.begin(), expected.end());
    if (expected != s.dropped) damaged("the rows left out are not those that are off or repeat others");
}

// A factor is empty, that of the elimination in its order, or lay in a solver that pivots; then it is not used.
template <class Scalar>
void check_factor(const FactorOf<Scalar>& factor, const System& system) {
    const Elimination& program = system.elimination(factor.order);
    if (!factor.values.empty()) check_length("factor", factor.values.size(), program.exists() ? program.values() : 0);
}

}  // namespace

void check(const State& state, const System& system) {
    if (state.model != system.identity) throw ModelError("the saved state belongs to another model");
    check_lengths(state, system);
    check_finite(state);
    check_rows(state, system);
    check_factor(state.factor, system);
    check_factor(state.complex_factor, system);
}

// ---------------------------------------------------------------- the seal

//   magic[8] version:u32 identity:u32 length:u64 of the content, the content, crc32:u32 of all before it

std::vector<unsigned char> sealed(const std::vector<unsigned char>& content, std::uint32_t identity) {
    Writer out;
    out.bytes.reserve(header_size + content.size() + checksum_size);
    out.bytes.assign(magic, magic + magic_size);
    out.unsigned_(version, 4);
    out.unsigned_(identity, 4);
    out.unsigned_(content.size(), 8);
    out.bytes.insert(out.bytes.end(), content.begin(), content.end());
    out.unsigned_(crc32(out.bytes.data(), out.bytes.size()), checksum_size);
    return std::move(out.bytes);
}

Reader opened(const unsigned char* data, std::size_t size, std::optional<std::uint32_t> identity) {
    if (size < header_size + checksum_size || std::memcmp(data, magic, magic_size) != 0)
        damaged("these bytes are none");
    const auto found = load(data + 8, 4);
    if (found != version)
        damaged("written in format " + std::to_string(found) + ", this solver reads format " + std::to_string(version));
    const std::size_t sealed_size = size - checksum_size, content_size = sealed_size - header_size;
    if (load(data + 16, 8) != content_size) damaged("its length does not match (cut short or extended)");
    if (load(data + sealed_size, checksum_size) != crc32(data, sealed_size)) damaged("its checksum does not match");
    if (identity && load(data + 12, 4) != *identity) damaged("it belongs to another model");
    return {data + header_size, content_size};
}

}  // namespace mbd
