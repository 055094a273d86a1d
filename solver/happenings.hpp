// What happens at an event (docs/theory.md, chapter 9): which indicators occur, with hysteresis, and what follows from
// that at once. The driver and model exchange share it; knows no steps and no scheme.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "instance.hpp"

namespace mbd {

// A time at which something may jump, and how far before and after it the two sides surely hold.
struct Break {
    double at, margin;
};

class Happenings {
public:
    using Action = std::function<void()>;
    // `report` makes what is reported at the state consistent; `restart` starts the motion anew after what has
    // happened.
    Happenings(Instance& instance, Action report, Action restart)
        : instance_(instance), report_(std::move(report)), restart_(std::move(restart)) {}

    bool any() const { return instance_.system.switches.any(); }
    void forget();                     // what has occurred: a run begins
    void take_sides();                 // of crossings at the start: as they are
    void restore(const State& saved);  // what has occurred after that state is forgotten
    void see();                        // the indicators at the state
    double excess() const;             // positive where one of them occurs
    // What the environment watches in place of indicator k: it has a sign at any time, and changes it where that occurs
    // or may occur again.
    double watched(std::size_t k) const;
    void remember_sides(bool moved);
    // Whether something that depends on reactions may have been true within the step of size h that has just been made,
    // and is no more: errors of q, v and X say nothing of it (T9.11).
    bool depend_on_reactions() const { return any() && instance_.indicators_are_reported(); }
    bool may_have_occurred(double h) const;
    void remember_slopes(double h);
    // Whether something is true at the state that was not; inputs, parameters or a start may have made it so.
    bool found();
    void act();  // all that occurs at this time, in the order of the model; what follows from it at once, after that
    // The next time after t at which something may jump; infinite where there is none.
    Break next_break(double t);

    // What has occurred since the start, or since a state of another motion was restored: time, and the name of an
    // event, impact or crossing.
    const std::vector<std::pair<double, std::string>>& occurrences() const { return occurrences_; }

private:
    Instance& instance_;
    const Action report_, restart_;
    std::vector<std::pair<double, std::string>> occurrences_;
    long before_ = 0;                 // of State::events, those that are not listed
    std::vector<double> indicators_;  // at the state
    std::vector<int> now_;            // what occurs there
    std::vector<double> breaks_;

    double excess(std::size_t k) const;
    double followed(std::size_t k) const;
    bool gather(bool first);
    void rearm();
    void happen();
    void set_states();
    void note(const std::string& name);
};

}  // namespace mbd
