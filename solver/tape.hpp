// Programs of user equations: a flat list of instructions in single-assignment form.
//
// mbdfmu/expressions writes them, derivatives included, so that nothing here differentiates or knows a name.
// Instruction k writes register k and reads only registers before it; Tape's constructor checks that, so run() need
// not.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "blob.hpp"
#include "curves.hpp"

namespace mbd {

// Where a LOAD reads and where a signal lies. The order is shared with mbdfmu/lowering.py.
enum Space : int {
    TIME,
    INPUT,
    INPUT_RATE,
    PARAMETER,
    Q,
    V,
    A,
    LAMBDA,
    X,
    XDOT,
    CONSTANT,
    ROTATION,
    TURN,
    ALGEBRAIC,
    OUTSIDE,
    COMPUTED,
    SPACES
};
using Spaces = std::array<int, SPACES>;  // how many numbers each space holds

// One evaluation point: where the numbers of each space are.
struct Point {
    std::array<const double*, SPACES> at{};
    const double* hold = nullptr;  // of every constraint row, what its value is held at; null where that is 0
};

class Tape {
public:
    Tape() = default;
    Tape(const Blob& blob, const std::string& name, const Spaces& sizes);

    int size() const { return static_cast<int>(code_.size()); }
    int outputs() const { return static_cast<int>(outputs_.size()); }

    // registers: size() numbers owned by the caller
    void run(const Point& point, double* registers) const;
    double output(const double* registers, int k) const { return registers[outputs_[k]]; }
    // The operation, with its operands, that made an output of the last run not finite.
    std::string culprit(const double* registers, int output) const;
    // An operation below an output that had no finite slope in the last run, with its operand; empty where all have.
    std::string steep(const double* registers, int output) const;

private:
    struct Instruction {
        std::int32_t op, a, b, c;
    };
    std::vector<Instruction> code_;
    std::vector<double> constants_;
    std::vector<std::int32_t> outputs_;
    std::shared_ptr<const Curves> curves_;  // where an instruction reads them
};

}  // namespace mbd
