#include "blob.hpp"

#include <array>
#include <cstdio>
#include <cstring>

namespace mbd {
namespace {

constexpr std::size_t header_size = 32, section_header_size = 32;
constexpr std::size_t element_size[] = {4, 8, 1};

template <class T>
T read(const unsigned char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// Text of a blob ends up in messages: whatever is not printable ASCII would break those.
std::string printable(std::string text) {
    for (char& c : text)
        if ((c < ' ' && c != '\n') || c > '~') c = '?';
    return text;
}

[[noreturn]] void damaged(const std::string& what, const char* else_ = "") {
    throw ModelError("compiled model: " + what + "; export or compile the model again" + else_);
}

}  // namespace

std::uint32_t crc32(const unsigned char* data, std::size_t size) {
    static const auto table = [] {
        std::array<std::uint32_t, 256> t{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t c = i;
            for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
            t[i] = c;
        }
        return t;
    }();
    std::uint32_t c = 0xFFFFFFFFu;
    for (std::size_t i = 0; i < size; ++i) c = table[(c ^ data[i]) & 0xFF] ^ (c >> 8);
    return c ^ 0xFFFFFFFFu;
}

std::string number(double x, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, x);
    return text;
}

Blob::Blob(const unsigned char* data, std::size_t size) {
    if (size < header_size || std::memcmp(data, "MBDFMU\r\n", 8) != 0) damaged("not a compiled mbdfmu model");
    const auto found = read<std::uint32_t>(data + 8);
    if (found != version)
        damaged("written in format " + std::to_string(found) + ", this solver reads format " + std::to_string(version),
                ", or use the mbdfmu that wrote it");
    if (read<std::uint64_t>(data + 16) != size) damaged("length does not match (file cut short or extended)");
    if (read<std::uint32_t>(data + 24) != crc32(data + header_size, size - header_size))
        damaged("checksum does not match");

    checksum_ = read<std::uint32_t>(data + 24);
    std::size_t at = header_size;
    for (auto left = read<std::uint32_t>(data + 12); left > 0; --left) {
        if (size - at < section_header_size) damaged("a section is cut short");
        const char* raw = reinterpret_cast<const char*>(data + at);
        const std::string name = printable({raw, strnlen(raw, 16)});
        Section s{read<std::uint32_t>(data + at + 16), read<std::uint64_t>(data + at + 24),
                  data + at + section_header_size};
        at += section_header_size;
        if (s.kind > 2) damaged("section '" + name + "' has unknown kind " + std::to_string(s.kind));
        if (s.count > (size - at) / element_size[s.kind]) damaged("section '" + name + "' is longer than the file");
        const std::size_t padded = (s.count * element_size[s.kind] + 7) / 8 * 8;
        if (padded > size - at) damaged("section '" + name + "' is longer than the file");
        at += padded;
        sections_[name] = s;
    }
}

const Blob::Section& Blob::find(const std::string& name, std::uint32_t kind) const {
    const auto it = sections_.find(name);
    if (it == sections_.end()) damaged("section '" + name + "' is missing");
    if (it->second.kind != kind) damaged("section '" + name + "' has the wrong kind");
    return it->second;
}

std::vector<std::int32_t> Blob::ints(const std::string& name) const {
    const auto& s = find(name, 0);
    std::vector<std::int32_t> out(s.count);
    if (s.count) std::memcpy(out.data(), s.data, 4 * s.count);
    return out;
}

std::vector<double> Blob::doubles(const std::string& name) const {
    const auto& s = find(name, 1);
    std::vector<double> out(s.count);
    if (s.count) std::memcpy(out.data(), s.data, 8 * s.count);
    return out;
}

std::string Blob::text(const std::string& name) const {
    const auto& s = find(name, 2);
    return printable({reinterpret_cast<const char*>(s.data), s.count});
}

}  // namespace mbd
