// Laws that jump to and fro while nothing gets ahead, as sign(v) of a body that it holds (docs/theory.md, T9.15): error
// control follows every jump, in steps without end.
#pragma once
#include <string>
#include <vector>

#include "gaps.hpp"
#include "instance.hpp"

namespace mbd {

class Chatter {
public:
    explicit Chatter(Instance& instance);

    // The try number `tries`, of size h from the state to `end`.
    void see(double h, const Gaps::End& end, long tries);
    // Tries in which the law that jumped last has done no more than that, and since when.
    long length() const { return length_; }
    void forget();  // another motion begins
    double begin() const { return jumps_.empty() ? 0 : jumps_[at_].begin; }
    std::string label() const { return instance_.system.jump_label(at_); }

private:
    struct Jump {
        double met, begin = 0;    // when: the last time, and the first one of those that follow each other
        double from = 0, to = 0;  // its sides
        long first = 0;           // try
    };
    Instance& instance_;
    std::vector<Jump> jumps_;
    std::vector<double> sides_, sides_at_end_, sides_ahead_;
    std::vector<double> ahead_;  // velocities to which the accelerations lead
    std::size_t at_ = 0;
    long length_ = 0;

    double hardest() const;
};

}  // namespace mbd
