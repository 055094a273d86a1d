// A model as ordinary differential equations for an integrator outside (docs/theory.md, 20.2): continuous states, their
// derivatives by the index-1 system with weak stabilisation, indicators of events, and what happens at events. Knows no
// FMI; whoever owns it sees to the order of calls.
//
// Continuous states, in this order: coordinates without the rotations theta of spatial bodies; the quaternions of
// these; all velocities; the states X. Everything else that goes on from step to step (rows on and off, sides of
// indicators, turns, time of breaks) changes at events and at completed steps only, and stands in Instance::state.
#pragma once
#include <vector>

#include "gaps.hpp"
#include "happenings.hpp"
#include "instance.hpp"
#include "schemes/treatments.hpp"

namespace mbd {

class Exchange {
public:
    explicit Exchange(Instance& instance);
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    std::size_t state_count() const { return system_.continuous_states(); }
    std::size_t indicator_count() const { return system_.switches.indicators.size(); }

    // ---- lifecycle
    void start(double tolerance);      // at a consistent state; `tolerance`: that of the integrator, relative
    void restore(const State& saved);  // of the same model
    void set_input(int index, double value, double rate);  // finite
    void change_parameter(int index, double value);

    // ---- the motion as the integrator tries it
    void set_time(double t);  // finite
    void set_states(const double* x);
    void set_state(int space, int place, double value);  // in q (1; with quaternions), v (2) or X (3)
    double time() const { return memory(TIME); }
    double quaternion(int k) const { return quaternions()[k]; }  // component k of all, as it has been set
    void states(double* x) const;
    void nominals(double* x) const;
    void derivatives(double* xdot);  // StepFailed where the equations have no value
    void indicators(double* z);
    void evaluate();  // what is reported belongs to the time, states and inputs that are set

    // A change of the states: coordinates (thetas as rotations about body axes), quaternions, v, X.
    struct Direction {
        explicit Direction(const System& s) : q(s.nv), e(4 * s.spatial_bodies()), v(s.nv), x(s.nx) {}
        std::vector<double> q, e, v, x;
    };
    void turn(Direction& d) const;  // d.q gets the rotations that d.e means
    // The change of all derivatives along it, where accelerations and rates of X change by `a` and `xdot`.
    void change_of_derivatives(const Direction& d, const std::vector<double>& a, const std::vector<double>& xdot,
                               double* to) const;

    // ---- what changes between steps
    // The integrator has accepted a step. True where update() is wanted: joints are open, something occurs, or may
    // jump.
    bool completed();
    struct Update {
        bool states_changed;  // or what they do
        double next_time;     // the largest number where nothing is known to jump
    };
    Update update();  // at an event: lets happen what occurs, and closes joints

    const std::vector<std::pair<double, std::string>>& occurrences() const { return happenings_.occurrences(); }
    double gain() const { return memory(GAIN); }

private:
    // What the state remembers besides, in State::memory; the quaternions as they are set follow.
    enum Memory { TIME, COMPLETED, PASSED, NEXT, GAIN, PACE, TOLERANCE, QUATERNIONS };
    Instance& instance_;
    const System& system_;
    Happenings happenings_;
    Index1 index1_;
    Projection projection_;
    bool fresh_ = false, with_reactions_ = false;  // what is reported
    std::vector<double> before_, after_;
    // Where the integrator has asked for derivatives: last, and last before the time at which it stands.
    struct Place {
        bool known = false;
        double t = 0;
        std::vector<double> q, v, x;
        Gaps::End end() const { return {q.data(), v.data(), x.data()}; }
    };
    Gaps gaps_;
    Place last_, earlier_;
    State tried_;  // where the integrator stands, while it is looked where joints are closed

    std::size_t memory_size() const { return QUATERNIONS + 4 * static_cast<std::size_t>(system_.spatial_bodies()); }
    // Whether a coordinate is a rotation; spatial bodies come first, each with three positions and three of these.
    bool is_theta(int k) const { return k < 6 * system_.spatial_bodies() && k % 6 >= 3; }
    double memory(Memory what) const { return instance_.state.memory[what]; }
    double& memory(Memory what) { return instance_.state.memory[what]; }
    void accelerate(bool with_reactions);
    void look_at_gaps();
    void forget_places();
    void look_ahead();
    void show_time();
    bool at_break() const;
    bool pass_breaks();
    void take_quaternions();
    double* quaternions() { return instance_.state.memory.data() + QUATERNIONS; }
    const double* quaternions() const { return instance_.state.memory.data() + QUATERNIONS; }
    double norm_error() const;
    double drift();
    bool projected();
    void project();
    void see();
    void restart();
    double pace() const;
    void adapt_gain(double elapsed);
};

}  // namespace mbd
