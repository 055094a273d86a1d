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
#include <utility>
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
    // The same program with no more than what some of its outputs need; the others have no value in it.
    Tape only(const std::vector<char>& wanted) const;
    int outputs() const { return static_cast<int>(outputs_.size()); }
    bool loads(Space space) const;  // whether it reads any number of that space
    bool has_kinks() const;         // or jumps
    // The instructions whose value may jump, and on which side of it one is in the last run.
    std::vector<std::int32_t> jumps() const;
    double side(const double* registers, std::int32_t jump) const;

    // registers: size() numbers owned by the caller
    void run(const Point& point, double* registers) const { run(point, registers, size()); }
    // only as far as the first outputs need
    void run_for(const Point& point, double* registers, int outputs) const;
    double output(const double* registers, int k) const { return registers[outputs_[k]]; }
    // The operation, with its operands, that made an output of the last run not finite.
    std::string culprit(const double* registers, int output) const;
    // ---- derivatives of outputs by what the program loads, backwards (T14.3)
    // Of every instruction by its first two operands (of a choice: by its last two), after a run; 2 size() numbers.
    void partials(const double* registers, double* partials) const;
    // The instructions that an output depends on by more than a choice, the output's own first.
    std::vector<std::int32_t> below(int output) const;
    // f(space, index) for every number that these load
    template <class F>
    void each_load(const std::vector<std::int32_t>& order, F&& f) const {
        for (const std::int32_t k : order)
            if (is_load(code_[k])) f(code_[k].a, code_[k].b);
    }
    // Adds the derivative by every number loaded: found(space, index, derivative). `order` is `below` of the output;
    // `adjoints` holds size() zeros, and does so again afterwards.
    template <class F>
    void backwards(const std::vector<std::int32_t>& order, const double* partials, double* adjoints, F&& found) const {
        if (!order.empty()) adjoints[order.front()] = 1;
        for (const std::int32_t k : order) {
            const double weight = adjoints[k];
            adjoints[k] = 0;
            if (weight == 0) continue;
            if (const Instruction& i = code_[k]; is_load(i)) {
                found(i.a, i.b, weight);
            } else {
                const auto [first, second] = operands(i);
                if (first >= 0) adjoints[first] += weight * partials[2 * k];
                if (second >= 0) adjoints[second] += weight * partials[2 * k + 1];
            }
        }
    }
    // An operation below an output that had no finite slope in the last run, with its operand; empty where all have.
    std::string steep(const double* registers, int output) const;

private:
    struct Instruction {
        std::int32_t op, a, b, c;
    };
    static bool is_load(const Instruction& i);
    static std::pair<std::int32_t, std::int32_t> operands(const Instruction& i);  // -1 where there is none
    void run(const Point& point, double* registers, int count) const;
    std::vector<Instruction> code_;
    std::vector<double> constants_;
    std::vector<std::int32_t> outputs_;
    std::shared_ptr<const Curves> curves_;  // where an instruction reads them
};

}  // namespace mbd
