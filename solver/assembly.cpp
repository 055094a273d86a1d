// Closing the joints: positions and velocities that meet the demands of the start, the nearest ones to what the user
// gave in the metric of the mass (T7.12, T7.14), and axes that point the same way.
#include "assembly.hpp"

#include <limits>

#include "rotation.hpp"

namespace mbd {
namespace {

constexpr double least_damping = 1e-9, greatest_damping = 1e3, rounding = 1e-16;
constexpr double longest_turn = 0.5, longest_move = 1.0;  // of a body in one iteration: rad, model's lengths
constexpr int most_iterations = 200;
constexpr double nearest = 1e-11;  // what still pulls to the guess along the joints: rad, model's lengths
constexpr int most_pulls = 100, most_halvings = 12;
constexpr std::size_t remembered = 5;  // distances from the guess, of which the greatest must not be exceeded
constexpr double half_turn = 3.141592653589793;
constexpr double folded = 1e-12;  // how far axes point the same way, below which that is rounding

using Matrix = Eigen::SparseMatrix<double>;
using Vector = Eigen::VectorXd;

// min d^T M d / 2 - f^T d with A d = -c, where M and the groups of rows of A are scaled to size one: a damping that
// stands for weak springs in place of the rows keeps the matrix regular where rows repeat each other or cannot be met.
class SmallestMotion {
public:
    SmallestMotion(const Matrix& mass, const Matrix& rows, const std::vector<int>& group, const std::vector<char>& held)
        : n_(static_cast<int>(mass.rows())), m_(static_cast<int>(rows.rows())), column_(n_), row_(m_) {
        const Vector diagonal = mass.diagonal();
        for (int k = 0; k < n_; ++k) column_[k] = held[k] ? 0 : 1 / std::sqrt(diagonal[k]);
        scale_rows(rows, group);
        for_each(mass,
                 [&](int r, int c, double value) { entries_.emplace_back(r, c, value * column_[r] * column_[c]); });
        for (int k = 0; k < n_; ++k)
            if (held[k]) entries_.emplace_back(k, k, 1.0);
        for_each(rows, [&](int r, int c, double value) {
            entries_.emplace_back(n_ + r, c, value * row_[r] * column_[c]);
            entries_.emplace_back(c, n_ + r, value * row_[r] * column_[c]);
        });
    }

    // False where even the damped matrix is singular or not finite.
    bool factorise(double damping) {
        damping_ = damping;
        auto entries = entries_;
        for (int k = 0; k < m_; ++k) entries.emplace_back(n_ + k, n_ + k, -damping);
        Matrix K(n_ + m_, n_ + m_);
        K.setFromTriplets(entries.begin(), entries.end());
        lu_.compute(K);
        return lu_.info() == Eigen::Success;
    }

    // The motion that closes: f = 0.
    Vector closing(const Vector& c) const {
        Vector right = Vector::Zero(n_ + m_);
        right.tail(m_) = -row_.cwiseProduct(c);
        return column_.cwiseProduct(Vector(lu_.solve(right)).head(n_));
    }

    // The motion along the joints to which f pulls: c = 0. The second pass takes out what the damping left.
    Vector along(const Vector& f) const {
        Vector right = Vector::Zero(n_ + m_);
        right.head(n_) = column_.cwiseProduct(f);
        const Vector first = lu_.solve(right);
        right.tail(m_) = -damping_ * first.tail(m_);
        return column_.cwiseProduct(Vector(lu_.solve(right)).head(n_));
    }

private:
    template <class F>
    static void for_each(const Matrix& A, F&& f) {
        for (int c = 0; c < A.outerSize(); ++c)
            for (Matrix::InnerIterator e(A, c); e; ++e) f(static_cast<int>(e.row()), c, e.value());
    }
    void scale_rows(const Matrix& rows, const std::vector<int>& group) {
        const int groups = m_ == 0 ? 0 : 1 + *std::max_element(group.begin(), group.end());
        Vector sizes = Vector::Zero(groups), counts = Vector::Zero(groups);
        for (int g : group) counts[g] += 1;
        for_each(rows, [&](int r, int c, double value) { sizes[group[r]] += std::pow(value * column_[c], 2); });
        for (int k = 0; k < m_; ++k) {
            const int g = group[k];
            row_[k] = sizes[g] > 0 ? std::sqrt(counts[g] / sizes[g]) : 1;
        }
    }
    int n_, m_;
    double damping_ = 0;
    Vector column_, row_;
    std::vector<Eigen::Triplet<double>> entries_;
    Eigen::SparseLU<Matrix> lu_;
};

}  // namespace

Instance::Demands Instance::demands(bool velocities) {
    const int nv = system.nv, nc = system.nc;
    Demands d;
    std::vector<Eigen::Triplet<double>> entries;
    std::vector<int> place(nc, -1);
    std::vector<double> values(nc), unused(nc);
    if (velocities)
        system.rates(state_point(), work, values.data(), unused.data());
    else
        system.constraints(state_point(), work, values.data());
    std::vector<double> kept;
    const auto add = [&](double value, bool rotational, const std::string& label, int group, bool drives) {
        kept.push_back(value);
        d.per_size.push_back(rotational ? 1 : 1 / length());
        d.labels.push_back(label);
        d.units.push_back(rotational ? (velocities ? "rad/s" : "rad") : velocities ? "m/s" : "m");
        d.group.push_back(group);
        d.drives.push_back(drives);
        return static_cast<int>(kept.size()) - 1;
    };
    for (int k = 0; k < nc; ++k)
        if (system.level[k] <= (velocities ? 1 : 0) && !is_left_out(k))
            place[k] = add(values[k], system.rotational[nv + k], label(nv + k),
                           2 * system.nodes.of_unknown[nv + k] + system.rotational[nv + k], system.drives[k]);
    evaluate_index1();
    for_each_gradient_entry([&](int row, int col, double value) {
        if (place[row] >= 0) entries.emplace_back(place[row], col, value);
    });

    std::vector<double> conditions(system.conditions.size()), derivatives;
    system.initial_conditions(state_point(), work, conditions.data(), derivatives);
    std::vector<int> condition_place(conditions.size(), -1);
    for (std::size_t k = 0; k < conditions.size(); ++k) {
        const auto& c = system.conditions[k];
        if (c.velocity == velocities && wanted_[k])
            condition_place[k] =
                add(conditions[k], c.rotational, c.label, 2 * system.nodes.count() + static_cast<int>(k), false);
    }
    for (std::size_t e = 0; e < derivatives.size(); ++e) {
        const auto& [condition, col] = system.condition_entries[e];
        if (condition_place[condition] >= 0) entries.emplace_back(condition_place[condition], col, derivatives[e]);
    }
    d.values = Eigen::Map<Vector>(kept.data(), static_cast<Eigen::Index>(kept.size()));
    d.rows.resize(d.values.size(), nv);
    d.rows.setFromTriplets(entries.begin(), entries.end());
    return d;
}

// At the last evaluate_index1(); coordinates without mass count as if they had one of 1.
Matrix Instance::mass_matrix() const {
    std::vector<Eigen::Triplet<double>> entries;
    Vector diagonal = Vector::Zero(system.nv);
    for (std::size_t e = 0; e < work.singles.size(); ++e)
        if (const auto& p = system.pattern.singles[e];  // a spring without direction is no mass
            p.row < system.nv && p.col < system.nv && std::isfinite(work.singles[e])) {
            entries.emplace_back(p.row, p.col, work.singles[e]);
            if (p.row == p.col) diagonal[p.row] += work.singles[e];
        }
    for (int k = 0; k < system.nv; ++k)
        if (!(diagonal[k] > 0)) entries.emplace_back(k, k, 1.0);
    Matrix M(system.nv, system.nv);
    M.setFromTriplets(entries.begin(), entries.end());
    return M;
}

// ---------------------------------------------------------------- positions

// The farthest that a motion takes a body: in the model's lengths, and rad.
Instance::Reach Instance::reach(const Vector& d) const {
    std::vector<double> moved(system.nodes.count(), 0.0), turned(moved);
    for (int k = 0; k < system.nv; ++k) {
        const double size = d[k] / unit(k);
        (system.rotational[k] ? turned : moved)[system.nodes.of_unknown[k]] += size * size;
    }
    const auto largest = [](const std::vector<double>& squares) {
        return squares.empty() ? 0.0 : std::sqrt(*std::max_element(squares.begin(), squares.end()));
    };
    return {largest(moved), largest(turned)};
}

void Instance::move(const Vector& d) {
    for (int k = 0; k < system.nv; ++k) state.q[k] += d[k];
    system.settle(state.q.data());
}

// Gauss-Newton steps along the smallest motion, damped (Levenberg, Marquardt) where a full one would open the joints
// further. Returns what stays open.
Instance::Demands Instance::close_positions(const std::vector<char>& held) {
    const std::vector<double> given = state.q, turns = state.turns;
    double damping = least_damping;
    Demands now = demands(false);
    for (int iteration = 0; iteration < most_iterations && now.largest() > closed; ++iteration) {
        SmallestMotion motion(mass_matrix(), now.rows, now.group, held);
        if (!motion.factorise(damping)) break;
        const Vector d = motion.closing(now.values);
        if (!d.allFinite()) break;
        const Reach far = reach(d);
        const std::vector<double> before = state.q;
        move(d / std::max({1.0, far.moved / longest_move, far.turned / longest_turn}));
        Demands next = demands(false);
        const bool better = next.square() < now.square();  // false for what is not a number
        if (better) {
            damping = std::max(least_damping, damping / 10);
            follow_turns();  // an iteration moves by less than half a turn
            now = std::move(next);
            continue;
        }
        state.q = before;
        if (now.largest() <= accepted) break;  // rounding reached
        demands(false);                        // the stream again at the point kept
        if ((damping *= 10) > greatest_damping) break;
    }
    if (!(now.largest() <= consistent)) state.q = given, state.turns = turns;
    return now;
}

// Half the square of the way from the guess in the metric of the mass, and its slope by small motions from here.
std::pair<double, Vector> Instance::way_from(const Guess& guess) const {
    Vector d(system.nv);
    system.differences(guess.q.data(), state.q.data(), d.data());
    Vector slope = guess.mass * d;
    const double half_square = 0.5 * d.dot(slope);
    system.slopes_by_turns(d.data(), slope.data());
    return {half_square, slope};
}

// A step along the joints, closed again; false (and nothing has moved) where it does not lead nearer than `limit`.
bool Instance::steps_nearer(const Guess& guess, Vector step, double limit, const std::vector<char>& held) {
    const Reach far = reach(step);
    step /= std::max({1.0, far.moved / longest_move, far.turned / longest_turn});
    const std::vector<double> before = state.q, turns = state.turns;
    for (int k = 0; k < most_halvings; ++k, step /= 2) {
        move(step);
        follow_turns();
        if (close_positions(held).largest() <= accepted && way_from(guess).first <= limit) return true;
        state.q = before, state.turns = turns;
    }
    return false;
}

// From a closed pose to the nearest one to the guess: steps along the joints, as the guess pulls, with the lengths of
// Barzilai and Borwein (T7.14).
void Instance::approach(const Guess& guess, const std::vector<char>& held) {
    std::vector<double> heights;
    std::vector<double> before;
    Vector pull, step(system.nv);
    for (int k = 0; k < most_pulls; ++k) {
        const auto [height, slope] = way_from(guess);
        const Demands now = demands(false);
        SmallestMotion motion(guess.mass, now.rows, now.group, held);
        if (!motion.factorise(least_damping)) return;
        const Vector last = pull;
        pull = motion.along(-slope);
        const Reach left = reach(pull);
        if (!(std::max(left.moved, left.turned) > nearest)) return;
        double stride = 1;
        if (k > 0) {
            system.differences(before.data(), state.q.data(), step.data());
            const Vector weighted = guess.mass * step;
            if (const double bend = weighted.dot(last - pull); bend > 0) stride = weighted.dot(step) / bend;
        }
        heights.push_back(height);
        if (heights.size() > remembered) heights.erase(heights.begin());
        before = state.q;
        const double limit = *std::max_element(heights.begin(), heights.end()) * (1 + closed);
        if (!steps_nearer(guess, stride * pull, limit, held)) return;
    }
}

// ---------------------------------------------------------------- axes that point the same way

const double* Instance::sides_at(const double* q) {
    system.monitor(point(state.t, q, state.v.data(), state.a.data(), state.lambda.data(), state.x.data(),
                         state.xdot.data(), state.y.data()),
                   work, monitor_.data());
    return monitor_.data() + system.turns;
}

std::vector<int> Instance::reversed_sides() {
    std::vector<int> reversed;
    if (system.sides == 0) return reversed;
    const double* side = sides_at(state.q.data());
    for (int k = 0; k < system.sides; ++k)
        if (!(side[k] > 0)) reversed.push_back(k);
    return reversed;
}

int Instance::reversed_at(const double* q) {
    for (int k = 0; k < system.sides; ++k) {
        const int row = system.side_rows[k];
        if (row < 0 || !is_active(row)) continue;
        if (sides_at(q)[k] < folded && sides_at(state.q.data())[k] >= folded) return k;
    }
    return -1;
}

// Bodies turned about, by half a turn about one of their axes, that this puts right: quaternions and where they stand.
std::vector<std::pair<int, std::vector<double>>> Instance::turned_about(int side, const std::vector<char>& held) {
    std::vector<std::pair<int, std::vector<double>>> found;
    for (int b = 0; b < system.spatial_bodies(); ++b) {
        if (held[6 * b + 3]) continue;
        const int at = system.nv + 4 * b;
        const std::vector<double> as_it_is(state.q.begin() + at, state.q.begin() + at + 4);
        std::vector<double> e(4);
        for (int axis = 0; axis < 3; ++axis) {
            const double theta[3] = {axis == 0 ? half_turn : 0, axis == 1 ? half_turn : 0, axis == 2 ? half_turn : 0};
            turned(as_it_is.data(), load(theta), e.data());
            std::copy_n(e.begin(), 4, state.q.begin() + at);
            system.monitor(state_point(), work, monitor_.data());
            if (monitor_[system.turns + side] > 0) found.emplace_back(at, e);
        }
        std::copy_n(as_it_is.begin(), 4, state.q.begin() + at);
    }
    return found;
}

// Tries the guess again with the ends of reversed axes flipped; takes the nearest pose with fewer of them.
bool Instance::flip(const Guess& guess, const std::vector<char>& held) {
    const std::vector<int> reversed = reversed_sides();
    const std::vector<double> given = state.q, turns = state.turns;
    std::pair<std::size_t, double> best{reversed.size(), -1};
    std::vector<double> q = given, counted = turns;
    for (int side : reversed)
        for (const auto& [at, e] : turned_about(side, held)) {
            std::copy_n(e.begin(), 4, state.q.begin() + at);
            state.turns = guess.turns;
            if (close_positions(held).largest() <= accepted) {
                approach(guess, held);
                const std::pair<std::size_t, double> found{reversed_sides().size(), way_from(guess).first};
                if (found < best) best = found, q = state.q, counted = state.turns;
            }
            state.q = given, state.turns = turns;
        }
    state.q = q, state.turns = counted;
    return best.first < reversed.size();
}

// ---------------------------------------------------------------- velocities

bool Instance::close_velocities(const std::vector<char>& held, double speed) {
    Demands now = demands(true);
    const double limit = accepted * std::max(speed, now.largest());
    SmallestMotion motion(mass_matrix(), now.rows, now.group, held);
    for (double damping = least_damping; damping > rounding; damping /= 100) {  // a weak one finds a long lever
        if (!motion.factorise(damping)) return false;
        for (int pass = 0; pass < 3; ++pass) {  // the later ones take out what the damping left
            const Vector d = motion.closing(now.values);
            for (int k = 0; k < system.nv; ++k) state.v[k] += d[k];
            v = state.v;
            now = demands(true);
        }
        if (now.largest() <= limit) return true;
    }
    return false;
}

}  // namespace mbd
