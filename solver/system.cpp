#include "system.hpp"

#include <algorithm>
#include <sstream>

namespace mbd {
namespace {

[[noreturn]] void damaged(const std::string& what) { throw ModelError("compiled model: " + what); }

// A count that later sizes an array: a damaged blob must not make the reader ask for all memory.
constexpr int largest_count = 50'000'000;
constexpr double dearest_program = 1e8;  // multiply-adds of one factorisation; its list takes four bytes each

}  // namespace

// ---------------------------------------------------------------- reading

System::System(const unsigned char* data, std::size_t size) {
    const Blob blob(data, size);
    identity = blob.checksum();
    read_counts(blob);
    read_elements(blob);
    read_programs(blob);
    read_names(blob);
    build_pattern();
    eager_ = Elimination(pattern, n(), nodes, Order::eager, dearest_program);
    patient_ = Elimination(pattern, n(), nodes, Order::patient,
                           std::min(dearest_program, 10.0 * static_cast<double>(eager_.operations()) + 1e4));
    if (!eager_.exists() && n() > 0)
        throw ModelError("the model is too densely coupled: one factorisation would take over 1e8 operations");
    const Elimination& used = elimination(preferred_order());
    const double refactor = static_cast<double>(used.operations() + pattern.singles.size() + 2 * pattern.pairs.size() +
                                                derivative_.size() - residual_.size());
    const double iterate = static_cast<double>(used.solve_operations() + residual_.size() + 20 * (bodies_ + 1) +
                                               10 * (coincident_.size() + inline_.size() + translational_.size()));
    refactor_cost_ = refactor / iterate;
}

void System::read_counts(const Blob& blob) {
    const auto counts = blob.ints("counts");
    int* const targets[] = {&nv,      &nc,       &nx,          &nu,       &np,       &n_constants,
                            &bodies_, &body_at_, &gravity_at_, &start_at, &length_at};
    constexpr std::size_t expected = sizeof targets / sizeof targets[0];
    if (counts.size() != expected + 1) damaged("the table of counts has the wrong size");
    for (std::size_t k = 0; k < expected; ++k) {
        if (counts[k] < 0 || counts[k] > largest_count) damaged("a count is out of range");
        *targets[k] = counts[k];
    }
    linear_ = counts[expected] != 0;
    if (3LL * bodies_ > nv) damaged("more bodies than coordinates");
    const auto fits = [&](long long at, long long count) {
        if (at + count > n_constants) damaged("constants lie outside their table");
    };
    fits(body_at_, 2LL * bodies_);
    fits(gravity_at_, 2);
    fits(start_at, 2LL * nv + nx + nu);
    fits(length_at, 1);
    parameter_defaults = blob.doubles("params");
    if (parameter_defaults.size() != static_cast<std::size_t>(np))
        damaged("the table of parameters has the wrong size");
}

void System::read_elements(const Blob& blob) {
    const auto read = [&](auto kernel, std::vector<Element>& table) {
        using Kernel = decltype(kernel);
        const auto raw = blob.ints(Kernel::section);
        if (raw.size() % 4) damaged("an element table is cut short");
        for (std::size_t k = 0; k < raw.size(); k += 4) {
            const Element e{raw[k], raw[k + 1], raw[k + 2], raw[k + 3]};
            const bool ends = e.i >= -1 && e.i < bodies_ && e.j >= -1 && e.j < bodies_ && (e.i < 0 || e.i != e.j);
            const bool rows = e.row >= 0 && static_cast<long long>(e.row) + Kernel::rows <= nc;
            const bool constants = e.at >= 0 && static_cast<long long>(e.at) + Kernel::constants <= n_constants;
            if (!ends || !rows || !constants) damaged("an element refers to what is not there");
            table.push_back(e);
        }
    };
    read(Coincident{}, coincident_);
    read(Angle{}, angle_);
    read(InLine{}, inline_);
    read(Translational{}, translational_);
    read(Rotational{}, rotational_springs_);
}

void System::read_programs(const Blob& blob) {
    Spaces parameter_only{};
    parameter_only[PARAMETER] = np;
    parameters_ = Tape(blob, "param", parameter_only);
    if (parameters_.outputs() != n_constants) damaged("the parameter program does not fill the constants");

    Spaces all{};
    all[TIME] = 1, all[INPUT] = all[INPUT_RATE] = nu, all[PARAMETER] = np, all[CONSTANT] = n_constants;
    all[Q] = all[V] = all[A] = nv, all[LAMBDA] = nc, all[X] = all[XDOT] = nx;
    residual_ = Tape(blob, "resid", all);
    derivative_ = Tape(blob, "deriv", all);
    constraints_ = Tape(blob, "phi", all);
    rates_ = Tape(blob, "rates", all);
    signals_ = Tape(blob, "signal", all);

    residual_rows_ = blob.ints("rrows");
    for (int row : residual_rows_)
        if (row < 0 || row >= n()) damaged("a program writes a row that is not there");
    constraint_rows_ = blob.ints("crows");
    for (int row : constraint_rows_)
        if (row < 0 || row >= nc) damaged("a program writes a constraint that is not there");
    const auto raw = blob.ints("entries");
    if (raw.size() % 3) damaged("the table of derivatives is cut short");
    for (std::size_t k = 0; k < raw.size(); k += 3) {
        const Entry e{raw[k], raw[k + 1], raw[k + 2]};
        if (e.row < 0 || e.row >= n() || e.col < 0 || e.col >= n() || e.kind < 0 || e.kind >= KINDS)
            damaged("a derivative lies outside the matrix");
        entries_.push_back(e);
    }
    const auto count = [](const auto& v) { return static_cast<int>(v.size()); };
    if (residual_.outputs() != count(residual_rows_) ||
        derivative_.outputs() != count(residual_rows_) + count(entries_) ||
        constraints_.outputs() != count(constraint_rows_) || rates_.outputs() != 2 * count(constraint_rows_))
        damaged("a program has the wrong number of results");

    const auto addresses = blob.ints("address");
    if (addresses.size() % 2) damaged("the table of signals is cut short");
    all[COMPUTED] = signals_.outputs();
    for (std::size_t k = 0; k < addresses.size(); k += 2) {
        const int space = addresses[k], index = addresses[k + 1];
        if (space < 0 || space >= SPACES || index < 0 || index >= all[space])
            damaged("a signal lies outside the state");
        addresses_.emplace_back(space, index);
    }
}

void System::read_names(const Blob& blob) {
    const auto raw = blob.ints("scales");
    if (raw.size() != static_cast<std::size_t>(n())) damaged("the table of scales has the wrong size");
    rotational.assign(raw.begin(), raw.end());
    const auto read_lines = [&](const char* section, std::vector<std::string>& to, int count) {
        std::istringstream lines(blob.text(section));
        for (std::string line; std::getline(lines, line);) to.push_back(line);
        if (to.size() != static_cast<std::size_t>(count)) damaged("a table of names has the wrong size");
    };
    read_lines("labels", labels, n());
    read_lines("cnames", constant_names, n_constants);

    const auto groups = blob.ints("nodes");
    if (groups.size() != static_cast<std::size_t>(n())) damaged("the table of nodes has the wrong size");
    int count = 0;
    for (int g : groups) {
        if (g < 0 || g > count) damaged("nodes are not numbered in order");
        count = std::max(count, g + 1);
    }
    nodes.of_unknown.assign(groups.begin(), groups.end());
    nodes.has_mass.assign(count, 0);
    nodes.is_row.assign(count, 0);
    for (int k = nv; k < nv + nc; ++k) nodes.is_row[groups[k]] = 1;
}

void System::build_pattern() {
    for (int k = 0; k < 3 * bodies_; ++k) pattern.singles.push_back({k, k});
    each_table([&](auto kernel, const std::vector<Element>& table) {
        for (const auto& e : table) decltype(kernel)::pattern(e, nv, pattern);
    });
    for (const auto& e : entries_) pattern.singles.push_back({e.row, e.col});

    for (int k = 0; k < 3 * bodies_; ++k) nodes.has_mass[nodes.of_unknown[k]] = 1;
    for (const auto& e : entries_)  // coordinates with a mass entry, states with their own rate
        if (e.row == e.col && (e.kind == BY_A || (e.row >= nv + nc && e.kind == PLAIN)))
            nodes.has_mass[nodes.of_unknown[e.row]] = 1;
}

// ---------------------------------------------------------------- evaluation

template <class F>
void System::each_table(F&& f) const {
    f(Coincident{}, coincident_);
    f(Angle{}, angle_);
    f(InLine{}, inline_);
    f(Translational{}, translational_);
    f(Rotational{}, rotational_springs_);
}

Workspace System::workspace() const {
    Workspace w;
    const int registers =
        std::max({residual_.size(), derivative_.size(), constraints_.size(), rates_.size(), signals_.size()});
    w.registers.resize(registers);
    w.cs.resize(2 * bodies_);
    w.singles.resize(pattern.singles.size());
    w.pairs.resize(pattern.pairs.size());
    w.solve_work.resize(n());
    return w;
}

void System::constants(const double* parameters, double* c, std::vector<double>& registers) const {
    registers.resize(parameters_.size());
    Point point;
    point.at[PARAMETER] = parameters;
    parameters_.run(point, registers.data());
    for (int k = 0; k < n_constants; ++k) c[k] = parameters_.output(registers.data(), k);
}

void System::angles(const double* q, double* cs) const {
    for (int b = 0; b < bodies_; ++b) {
#ifdef __GLIBC__  // one reduction of the argument for both
        ::sincos(q[3 * b + 2], cs + 2 * b + 1, cs + 2 * b);
#else
        cs[2 * b] = std::cos(q[3 * b + 2]);
        cs[2 * b + 1] = std::sin(q[3 * b + 2]);
#endif
    }
}

template <bool Derivatives>
void System::evaluate(const Point& point, const Coefficients& z, Workspace& w, double* r) const {
    const double *c = point.at[CONSTANT], *a = point.at[A];
    angles(point.at[Q], w.cs.data());
    std::fill(r, r + n(), 0.0);
    Evaluation e{point.at[Q],      point.at[V],   a, point.at[LAMBDA], c, w.cs.data(), r, r + nv, z.ca, z.cv, z.cq,
                 w.singles.data(), w.pairs.data()};

    const double *mass = c + body_at_, gx = c[gravity_at_], gy = c[gravity_at_ + 1];
    for (int b = 0; b < bodies_; ++b, mass += 2) {
        r[3 * b] = mass[0] * (a[3 * b] - gx);
        r[3 * b + 1] = mass[0] * (a[3 * b + 1] - gy);
        r[3 * b + 2] = mass[1] * a[3 * b + 2];
        if constexpr (Derivatives) {
            e.single[0] = e.single[1] = z.ca * mass[0];
            e.single[2] = z.ca * mass[1];
            e.single += 3;
        }
    }
    each_table([&](auto kernel, const std::vector<Element>& table) {
        for (const auto& element : table) decltype(kernel)::template evaluate<Derivatives>(element, e);
    });

    const Tape& tape = Derivatives ? derivative_ : residual_;
    if (tape.size() == 0) return;
    tape.run(point, w.registers.data());
    const int rows = static_cast<int>(residual_rows_.size());
    for (int k = 0; k < rows; ++k) r[residual_rows_[k]] += tape.output(w.registers.data(), k);
    if constexpr (Derivatives) {
        const double factor[KINDS] = {z.ca, z.cv, z.cq, z.cx, 1.0};
        for (std::size_t k = 0; k < entries_.size(); ++k)
            *e.single++ = factor[entries_[k].kind] * tape.output(w.registers.data(), rows + static_cast<int>(k));
    }
}

void System::residual(const Point& point, Workspace& w, double* r) const { evaluate<false>(point, {1, 0, 0, 0}, w, r); }

void System::residual_and_derivative(const Point& point, const Coefficients& z, Workspace& w, double* r) const {
    evaluate<true>(point, z, w, r);
}

void System::constraints(const Point& point, Workspace& w, double* phi) const {
    const double *q = point.at[Q], *c = point.at[CONSTANT];
    angles(q, w.cs.data());
    std::fill(phi, phi + nc, 0.0);
    for (const auto& e : coincident_) Coincident::value(e, q, w.cs.data(), c, phi);
    for (const auto& e : angle_) Angle::value(e, q, w.cs.data(), c, phi);
    for (const auto& e : inline_) InLine::value(e, q, w.cs.data(), c, phi);
    constraints_.run(point, w.registers.data());
    for (std::size_t k = 0; k < constraint_rows_.size(); ++k)
        phi[constraint_rows_[k]] = constraints_.output(w.registers.data(), static_cast<int>(k));
}

void System::rates(const Point& point, Workspace& w, double* velocity, double* gamma) const {
    angles(point.at[Q], w.cs.data());
    std::fill(velocity, velocity + nc, 0.0);
    std::fill(gamma, gamma + nc, 0.0);
    Rates z{point.at[Q], point.at[V], point.at[CONSTANT], w.cs.data(), velocity, gamma};
    for (const auto& e : coincident_) Coincident::rates(e, z);
    for (const auto& e : angle_) Angle::rates(e, z);
    for (const auto& e : inline_) InLine::rates(e, z);
    rates_.run(point, w.registers.data());
    const int rows = static_cast<int>(constraint_rows_.size());
    for (int k = 0; k < rows; ++k) {
        velocity[constraint_rows_[k]] = rates_.output(w.registers.data(), k);
        gamma[constraint_rows_[k]] = rates_.output(w.registers.data(), rows + k);
    }
}

void System::signals(const Point& point, Workspace& w, double* out) const {
    signals_.run(point, w.registers.data());
    for (std::size_t k = 0; k < addresses_.size(); ++k) {
        const auto [space, index] = addresses_[k];
        out[k] = space == COMPUTED ? signals_.output(w.registers.data(), index) : point.at[space][index];
    }
}

}  // namespace mbd
