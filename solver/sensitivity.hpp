// How everything that is reported changes with inputs, parameters and time, and along tangent directions of positions,
// velocities and states, all else held (docs/theory.md, chapter 20). Evaluates copies: the instance that is looked at
// keeps its last bit. Allocates when it is made, but where rows repeat others or pivots are lost.
#pragma once
#include <vector>

#include "instance.hpp"

namespace mbd {

class Sensitivity {
public:
    explicit Sensitivity(const System& system);
    Sensitivity(const Sensitivity&) = delete;
    Sensitivity& operator=(const Sensitivity&) = delete;

    // What moves; what is null stays. Positions move by tangent increments: of a spatial body the rotation about its
    // own axes. Inputs follow their slopes where time moves; `u` comes on top of that.
    struct Direction {
        double t = 0;
        const double *q = nullptr, *v = nullptr, *x = nullptr, *u = nullptr, *udot = nullptr, *p = nullptr;
    };

    // At what `instance` has reported, until it is looked at anew; with gaps fed back where it has accelerated so by a
    // `gain`, 1/s (T20.11). StepFailed where the system of index 1 is singular.
    void look(const Instance& instance, double gain = 0);
    // The change of all signals (System::signal_count() numbers, or null) along a direction. Positions are not made
    // consistent again, and velocities with rows of velocities only, which inputs and parameters may drive (T20.5);
    // with a gain not even these. StepFailed where there is no such change.
    void along(const Direction& direction, double* signals);
    // The same along the motion: dt = 1, dq = v, dv = a, dX = Xdot. These are the rates of all signals.
    void in_time(double* signals);

    // ---- by the last direction
    const std::vector<double>& a() const { return a_; }
    const std::vector<double>& lambda() const { return lambda_; }  // 0 in rows that repeat others
    const std::vector<double>& xdot() const { return xdot_; }
    const std::vector<double>& y() const { return y_; }

private:
    struct Differences {
        std::vector<double> at[4];  // values at -2, -1, 1 and 2 steps
        std::vector<double> slope, trial;
        explicit Differences(int n) : slope(n), trial(n) {
            for (auto& values : at) values.resize(n);
        }
    };

    const System& s_;
    Instance here_, moved_;  // copies: as reported, but for reactions with 0 in rows left out; and shifted from there
    Factor factor_, projection_;
    Direction direction_;
    double gain_ = 0;
    double size_ = 0;      // of the direction, in the scales of what moves
    bool shared_ = false;  // reactions, among rows that repeat each other
    bool rolls_ = false;   // there are rows of velocities
    std::vector<double> velocity_, gamma_, gaps_, change_, v_, a_, lambda_, xdot_, y_;
    Differences rows_, speeds_, shown_;

    [[noreturn]] void refuse(const char* why) const;
    double size_of(const Direction& d) const;
    void shift(double s);
    void turn_to(const Direction& direction);
    void rows(double* out);
    void feed_back(const Point& p, double* held);
    void speeds(double* out);
    bool drives(const Direction& d);
    Direction with_velocities(Direction d);
    void factorise();
    void show(double s, double* out);
    template <class F>
    void differentiate(F&& value, Differences& found);
    // both return how much their slopes are in doubt; what is not finite has none
    template <class F>
    double between_both_sides(F&& value, Differences& found);
    template <class F>
    double on_the_side_ahead(F&& value, Differences& found);
    static double take_slopes(Differences& found, double s);
};

}  // namespace mbd
