// What is switched while a model moves: constraint rows that are on or off, states that are set, the indicators that
// say when, and what they do (docs/theory.md, chapter 9). Tables only; solver/switches.cpp applies them,
// solver/events.cpp finds the time.
#pragma once
#include <string>
#include <vector>

#include "blob.hpp"

namespace mbd {

struct Switches {
    // EVENT: positive where the condition is true; occurs when it becomes true.
    // CROSSING: a change of its sign either way starts the motion anew, no more.
    // IMPACT: positive where a gap is closed and closing.
    enum Kind { EVENT, CROSSING, IMPACT, KINDS };
    struct Indicator {
        std::string name;
        int kind;
        bool reported;  // depends on accelerations, multipliers or rates of states, which are to be consistent
        int row, at;    // of an impact: its constraint row, and the constants restitution, rest speed
    };
    struct Action {
        int indicator, row;
        bool on;
    };
    struct Setting {
        int indicator, state;
        std::string label;  // in messages
    };
    std::vector<int> inactive;  // rows that are off at the start, sorted
    std::vector<Indicator> indicators;
    std::vector<Action> actions;
    std::vector<Setting> settings;  // sorted by indicator; the values are a program of the System

    Switches() = default;
    Switches(const Blob& blob, int rows, int constants, int states);

    int outputs() const { return static_cast<int>(indicators.size()) + impacts; }
    int impacts = 0;  // the last of the indicators; after them follows where contact at rest ends
    bool any() const { return !indicators.empty(); }
    bool sets(int indicator) const;  // whether it sets states

private:
    void read_settings(const Blob& blob, int states);
};

}  // namespace mbd
