// The serialised model: one checked sequence of named sections, written by mbdfmu/lowering.py.
//
//   header   magic[8] version:u32 sections:u32 length:u64 crc32:u32 0:u32      (crc over everything after the header)
//   section  name[16] kind:u32 (0 int32, 1 float64, 2 bytes) 0:u32 count:u64 data, padded to 8 bytes
//
// All numbers are little endian. Nothing read from a blob is trusted: System checks every index.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace mbd {

// What the user (or a damaged file) got wrong; becomes mbdfmu.ModelError in Python.
struct ModelError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A number in a message.
std::string number(double x, int digits = 3);

// The checksum of zip, PNG and others, of all that leaves this solver as bytes.
std::uint32_t crc32(const unsigned char* data, std::size_t size);

class Blob {
public:
    static constexpr std::uint32_t version = 5;

    Blob(const unsigned char* data, std::size_t size);

    std::uint32_t checksum() const { return checksum_; }
    std::vector<std::int32_t> ints(const std::string& name) const;
    std::vector<double> doubles(const std::string& name) const;
    std::string text(const std::string& name) const;

private:
    struct Section {
        std::uint32_t kind;
        std::uint64_t count;
        const unsigned char* data;
    };
    std::uint32_t checksum_ = 0;
    std::map<std::string, Section> sections_;

    const Section& find(const std::string& name, std::uint32_t kind) const;
};

}  // namespace mbd
