#include "resources.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "../blob.hpp"
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#endif

namespace mbd {
namespace {

[[noreturn]] void refuse(const std::string& location, const std::string& reason) {
    throw ModelError("resource location '" + location + "' " + reason +
                     "; allowed: a file URI such as file:///folder/resources, or the path of the folder");
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

bool starts_with(const std::string& text, const std::string& start) {
    if (text.size() < start.size()) return false;
    for (std::size_t i = 0; i < start.size(); ++i)
        if (lower(text[i]) != start[i]) return false;
    return true;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

// [RFC 3986, 2.1]. A % without two digits behind it is no URI, but importers that encode nothing do write it: it stays.
std::string decoded(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool coded = text[i] == '%' && i + 2 < text.size();
        const int high = coded ? hex_digit(text[i + 1]) : -1, low = coded ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            out += text[i];
        } else {
            out += static_cast<char>(16 * high + low);
            i += 2;
        }
    }
    return out;
}

// A scheme has at least two letters before the colon: one is a drive.
bool has_scheme(const std::string& location) {
    std::size_t i = 0;
    while (i < location.size() && is_letter(location[i])) ++i;
    return i > 1 && location.compare(i, 3, "://") == 0;
}

bool has_drive(const std::string& path, std::size_t at) {
    return path.size() > at + 1 && is_letter(path[at]) && path[at + 1] == ':';
}

// What stands behind "file:" [RFC 8089, 2 and E.2]: //host/path or /path.
std::string behind_scheme(const std::string& location, std::string rest, bool windows) {
    std::string host;
    if (rest.compare(0, 2, "//") == 0) {
        const auto end = rest.find('/', 2);
        host = rest.substr(2, end == std::string::npos ? end : end - 2);
        rest = end == std::string::npos ? "" : rest.substr(end);
    }
    if (windows && has_drive(host, 0)) return host + rest;  // file://C:/folder, no URI but often written
    if (host == "." || (host.size() == 9 && starts_with(host, "localhost"))) host.clear();
    if (!host.empty() && !windows) refuse(location, "is on another machine, '" + host + "'");
    if (!host.empty()) return "//" + host + rest;
    return windows && has_drive(rest, 1) ? rest.substr(1) : rest;
}

std::string trimmed(std::string path, bool windows) {
    if (windows)
        for (char& c : path)
            if (c == '/') c = '\\';
    const char slash = windows ? '\\' : '/';
    while (path.size() > 1 && path.back() == slash) path.pop_back();
    return path;
}

std::string path_from(const std::string& location, bool windows, bool decode) {
    std::string path = location;
    if (starts_with(location, "file:")) {
        const std::string rest = location.substr(5);
        path = behind_scheme(location, decode ? decoded(rest) : rest, windows);
    } else if (has_scheme(location)) {
        refuse(location, "is no file");
    }
    if (path.empty()) refuse(location, "names no folder");
    if (path.find('\0') != std::string::npos) refuse(location, "has a zero byte in it");
    return trimmed(path, windows);
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

#if defined(_WIN32)
// The C library would take a narrow name for the code page of the machine.
std::wstring wide(const std::string& text) {
    const int size =
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), static_cast<int>(text.size()), nullptr, 0);
    if (size == 0) throw ModelError("'" + text + "' is not UTF-8");
    std::wstring out(static_cast<std::size_t>(size), L'\0');
    MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), &out[0], size);
    return out;
}

File open(const std::string& path) { return File(_wfopen(wide(path).c_str(), L"rb"), std::fclose); }
#else
File open(const std::string& path) { return File(std::fopen(path.c_str(), "rb"), std::fclose); }
#endif

std::vector<unsigned char> contents(std::FILE* file, const std::string& path) {
    std::vector<unsigned char> bytes;
    unsigned char chunk[1 << 14];
    std::size_t count;
    while ((count = std::fread(chunk, 1, sizeof chunk, file)) > 0) bytes.insert(bytes.end(), chunk, chunk + count);
    if (std::ferror(file)) throw ModelError(path + ": cannot be read: " + std::strerror(errno));
    return bytes;
}

}  // namespace

std::string path_of(const std::string& location, bool windows) { return path_from(location, windows, true); }

std::vector<unsigned char> read_resource(const std::string& location, const std::string& name) {
    const char* const slash = on_windows ? "\\" : "/";
    const std::string path = path_of(location) + slash + name;
    File file = open(path);
    const std::string reason = std::strerror(errno);
    // Importers that encode nothing write a folder such as a%20b as it is called.
    if (!file) file = open(path_from(location, on_windows, false) + slash + name);
    if (!file)
        throw ModelError(path + ": cannot be opened (" + reason + "); unpack the FMU again, and give its " +
                         "resources folder as resource location");
    return contents(file.get(), path);
}

}  // namespace mbd
