// State as bytes and back, and the seal around bytes that are kept outside: magic, version, identity, length, checksum.
// Nothing that is read is trusted: sizes are those of the System, indices lie within it, and a vector is never longer
// than the bytes that are left. Knows no scheme (Driver::check looks at what is in its memory) and no file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "instance.hpp"

namespace mbd {

// Appends values, little endian; vectors with their length.
class Writer {
public:
    void flag(bool value) { unsigned_(value ? 1 : 0, 1); }
    void whole(std::int64_t value) { unsigned_(static_cast<std::uint64_t>(value), 8); }
    void number(double value);
    void numbers(const std::vector<double>& values);
    void wholes(const std::vector<int>& values);

    std::vector<unsigned char> bytes;

private:
    void unsigned_(std::uint64_t value, int size);
    friend std::vector<unsigned char> sealed(const std::vector<unsigned char>&, std::uint32_t);
};

// Reads them back in the same order. Bytes that end too early or do not fit are a ModelError, which calls them `what`.
class Reader {
public:
    Reader(const unsigned char* data, std::size_t size) : at_(data), end_(data + size) {}

    bool flag(const char* what);
    std::int64_t whole(const char* what, std::int64_t least, std::int64_t most);
    double number(const char* what);  // any, infinite ones too
    double finite(const char* what);
    std::vector<double> numbers(const char* what);
    std::vector<int> wholes(const char* what);
    // Number of entries that follow, of at least `size` bytes each.
    std::size_t count(const char* what, std::size_t size);
    void end() const;  // nothing is left

private:
    const unsigned char *at_, *end_;
    std::uint64_t unsigned_(int size, const char* what);
};

void write(const State& state, Writer& to);
// Only what it says of itself is checked; check() or Driver::restore() have to follow.
State read_state(Reader& from);
// Throws ModelError where a state does not fit the system: another model, wrong lengths, indices of what is not there,
// numbers that are not finite.
void check(const State& state, const System& system);
State read(Reader& from, const System& system);

// `content` behind a header; `identity` says whose it is, such as System::identity.
std::vector<unsigned char> sealed(const std::vector<unsigned char>& content, std::uint32_t identity);
// What is inside, where the header fits it, and its identity is the one that is wanted.
Reader opened(const unsigned char* data, std::size_t size, std::optional<std::uint32_t> identity = std::nullopt);

}  // namespace mbd
