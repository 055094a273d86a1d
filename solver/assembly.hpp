// What assembly has to meet, and how near to that counts as met (docs/theory.md, 7.5).
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "instance.hpp"

namespace mbd {

// A start is consistent as written when every joint closes to this fraction of the model's length.
constexpr double consistent = 1e-6;
constexpr double closed = 1e-13;    // what the correction aims for
constexpr double accepted = 1e-10;  // and what it must reach

// What the start has to meet at one level, at the state as it stands.
struct Instance::Demands {
    Eigen::SparseMatrix<double> rows;  // by the coordinates (or velocities)
    Eigen::VectorXd values;            // to become zero
    std::vector<double> per_size;      // of every value: 1/length for lengths, 1 for angles
    std::vector<std::string> labels;   // of the values
    std::vector<const char*> units;
    std::vector<char> drives;  // rows of motions
    std::vector<int> group;    // rows of one joint in one unit: components of vectors, whose axes are anybody's choice

    std::string shown(int k) const { return number(values[k]) + " " + units[k]; }

    double square() const {
        double sum = 0;
        for (int k = 0; k < values.size(); ++k) sum += std::pow(values[k] * per_size[k], 2);
        return sum;
    }
    double size(int k) const { return k < 0 ? 0 : std::fabs(values[k] * per_size[k]); }
    int worst(bool without_motions = false) const {  // -1 where there is none
        int worst = -1;
        for (int k = 0; k < values.size(); ++k)
            if (!(without_motions && drives[k]) && (worst < 0 || !(size(k) <= size(worst)))) worst = k;
        return worst;
    }
    double largest() const { return size(worst()); }
};

// The pose that assembly starts from, and the metric of the way from there.
struct Instance::Guess {
    std::vector<double> q, turns;
    Eigen::SparseMatrix<double> mass;
};

}  // namespace mbd
