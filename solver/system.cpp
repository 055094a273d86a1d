#include "system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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
    read_functions(blob);
    read_programs(blob);
    read_names(blob);
    read_conditions(blob);
    read_switches(blob);
    read_gaps(blob);
    read_rate_pattern(blob);
    build_pattern();
    eager_ = Elimination(pattern, n(), nodes, Order::eager, dearest_program);
    patient_ = Elimination(pattern, n(), nodes, Order::patient,
                           std::min(dearest_program, 10.0 * static_cast<double>(eager_.operations()) + 1e4));
    if (!eager_.exists() && n() > 0)
        throw ModelError("the model is too densely coupled: one factorisation would take over 1e8 operations");
    const Elimination& used = elimination(preferred_order());
    const double refactor = static_cast<double>(used.operations() + pattern.singles.size() + 2 * pattern.pairs.size() +
                                                derivative_.size() - residual_.size());
    const double iterate =
        static_cast<double>(used.solve_operations() + residual_.size() + 20 * (bodies_ + 1) + 60 * spatial_ +
                            10 * (coincident_.size() + inline_.size() + translational_.size()) +
                            40 * coincident3_.size() + 60 * perpendicular_.size() + 80 * in_plane_.size());
    refactor_cost_ = refactor / iterate;
}

void System::read_counts(const Blob& blob) {
    const auto counts = blob.ints("counts");
    int* const targets[] = {&nv,       &nc,       &nx,          &ny,       &nu,        &np,    &n_constants, &bodies_,
                            &spatial_, &body_at_, &gravity_at_, &start_at, &length_at, &turns, &sides};
    constexpr std::size_t expected = sizeof targets / sizeof targets[0];
    if (counts.size() != expected + 2) damaged("the table of counts has the wrong size");
    for (std::size_t k = 0; k < expected; ++k) {
        if (counts[k] < 0 || counts[k] > largest_count) damaged("a count is out of range");
        *targets[k] = counts[k];
    }
    linear_ = counts[expected] != 0;
    forces_see_accelerations = counts[expected + 1] != 0;
    if (3LL * bodies_ + 6LL * spatial_ > nv) damaged("more bodies than coordinates");
    if (bodies_ > 0 && spatial_ > 0) damaged("planar and spatial bodies in one model");
    const auto fits = [&](long long at, long long count) {
        if (at + count > n_constants) damaged("constants lie outside their table");
    };
    fits(body_at_, 2LL * bodies_ + static_cast<long long>(SpatialBody::constants) * spatial_);
    fits(gravity_at_, 3);
    fits(start_at, 2LL * nv + 4LL * spatial_ + nx + nu + turns + ny);
    fits(length_at, 1);
    parameter_defaults = blob.doubles("params");
    if (parameter_defaults.size() != static_cast<std::size_t>(np))
        damaged("the table of parameters has the wrong size");
    const auto bounded = blob.ints("bounds");
    const auto limits = blob.doubles("limits");
    if (bounded.size() % 2 || limits.size() != bounded.size()) damaged("the table of bounds has the wrong size");
    for (std::size_t k = 0; k < bounded.size(); k += 2) {
        if (bounded[k] < 0 || bounded[k] >= n_constants) damaged("a bound refers to what is not there");
        bounds.push_back({bounded[k], bounded[k + 1] != 0, limits[k], limits[k + 1]});
    }
    nominal = blob.doubles("nominal");
    if (nominal.size() != static_cast<std::size_t>(nx)) damaged("the table of nominal values has the wrong size");
    for (double x : nominal)
        if (!(x > 0 && x < 1e300)) damaged("a nominal value is not positive");
}

void System::read_elements(const Blob& blob) {
    const auto read = [&](auto kernel, std::vector<Element>& table, int bodies) {
        using Kernel = decltype(kernel);
        const auto raw = blob.ints(Kernel::section);
        if (raw.size() % 4) damaged("an element table is cut short");
        for (std::size_t k = 0; k < raw.size(); k += 4) {
            const Element e{raw[k], raw[k + 1], raw[k + 2], raw[k + 3]};
            const bool ends = e.i >= -1 && e.i < bodies && e.j >= -1 && e.j < bodies && (e.i < 0 || e.i != e.j);
            const bool rows = e.row >= 0 && static_cast<long long>(e.row) + Kernel::rows <= nc;
            const bool constants = e.at >= 0 && static_cast<long long>(e.at) + Kernel::constants <= n_constants;
            if (!ends || !rows || !constants) damaged("an element refers to what is not there");
            table.push_back(e);
        }
    };
    read(Coincident{}, coincident_, bodies_);
    read(Angle{}, angle_, bodies_);
    read(InLine{}, inline_, bodies_);
    read(Translational{}, translational_, bodies_);
    read(Rotational{}, rotational_springs_, bodies_);
    read(PlanarBushing{}, bushings_, bodies_);
    read(Coincident3{}, coincident3_, spatial_);
    read(Perpendicular{}, perpendicular_, spatial_);
    read(InPlane{}, in_plane_, spatial_);
    read(SpatialBushing{}, bushings3_, spatial_);
}

Spaces System::spaces() const {
    Spaces all{};
    all[TIME] = 2, all[INPUT] = all[INPUT_RATE] = nu, all[PARAMETER] = np, all[CONSTANT] = n_constants;
    all[Q] = nq(), all[V] = all[A] = nv, all[LAMBDA] = nc, all[X] = all[XDOT] = nx;
    all[ROTATION] = 9 * spatial_, all[TURN] = turns, all[ALGEBRAIC] = ny, all[OUTSIDE] = outside_;
    return all;
}

void System::read_functions(const Blob& blob) {
    const auto raw = blob.ints("functions");
    if (raw.size() % 3) damaged("the table of functions is cut short");
    long long inputs = 0;
    for (std::size_t k = 0; k < raw.size(); k += 3) {
        const Function f{raw[k], raw[k + 1], raw[k + 2], outside_};
        if (std::min({f.inputs, f.parameters, f.values}) < 0 || std::max({f.inputs, f.parameters, f.values}) > 10'000)
            damaged("a function has an impossible number of inputs or values");
        inputs += f.inputs + f.parameters;
        if (outside_ + static_cast<long long>(f.values) * (1 + f.inputs) > largest_count)
            damaged("a function has too many derivatives");
        outside_ += f.values * (1 + f.inputs);
        functions.push_back(f);
    }
    function_inputs_ = Tape(blob, "inputs", spaces());
    if (function_inputs_.outputs() != inputs) damaged("the inputs of functions have the wrong number");
}

void System::read_programs(const Blob& blob) {
    Spaces parameter_only{};
    parameter_only[PARAMETER] = np;
    parameters_ = Tape(blob, "param", parameter_only);
    if (parameters_.outputs() != n_constants) damaged("the parameter program does not fill the constants");

    Spaces all = spaces();
    residual_ = Tape(blob, "resid", all);
    forces_have_kinks = residual_.has_kinks();
    derivative_ = Tape(blob, "deriv", all);
    constraints_ = Tape(blob, "phi", all);
    rates_ = Tape(blob, "rates", all);
    slopes_of_inputs_count =
        residual_.loads(INPUT_RATE) || rates_.loads(INPUT_RATE) || function_inputs_.loads(INPUT_RATE);
    monitor_ = Tape(blob, "monitor", all);
    signals_ = Tape(blob, "signal", all);
    written_ = Tape(blob, "written", all);
    efforts_ = Tape(blob, "efforts", all);
    jumps_ = written_.jumps();

    residual_rows_ = blob.ints("rrows");
    for (int row : residual_rows_)
        if (row < 0 || row >= n()) damaged("a program writes a row that is not there");
    constraint_rows_ = blob.ints("crows");
    rate_rows_ = blob.ints("raterows");
    for (const auto* rows : {&constraint_rows_, &rate_rows_})
        for (int row : *rows)
            if (row < 0 || row >= nc) damaged("a program writes a constraint that is not there");
    const auto raw = blob.ints("entries");
    if (raw.size() % 3) damaged("the table of derivatives is cut short");
    for (std::size_t k = 0; k < raw.size(); k += 3) {
        const Entry e{raw[k], raw[k + 1], raw[k + 2], 3};
        if (e.row < 0 || e.row >= n() || e.col < 0 || e.col >= n() || e.kind < 0 || e.kind >= KINDS)
            damaged("a derivative lies outside the matrix");
        entries_.push_back(e);
    }
    const auto count = [](const auto& v) { return static_cast<int>(v.size()); };
    if (residual_.outputs() != count(residual_rows_) ||
        derivative_.outputs() != count(residual_rows_) + count(entries_) ||
        constraints_.outputs() != count(constraint_rows_) || monitor_.outputs() != turns + sides)
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
    read_lines("sides", side_labels, sides);
    side_rows = blob.ints("siderows");
    if (side_rows.size() != static_cast<std::size_t>(sides)) damaged("the table of sides has the wrong size");
    for (int row : side_rows) {
        if (row < -1 || row >= nc) damaged("a side belongs to no row");
        branches_meet = branches_meet || row >= 0;
    }
    read_lines("wlabels", written_labels_, written_.outputs());
    read_lines("elabels", effort_labels_, efforts_.outputs());
    int elements = 0;
    each_table([&](auto, const std::vector<Element>& table) { elements += static_cast<int>(table.size()); });
    read_lines("enames", element_labels_, elements);
    const auto levels = blob.ints("levels");
    if (levels.size() != static_cast<std::size_t>(nc)) damaged("the table of levels has the wrong size");
    for (int l : levels) {
        if (l < 0 || l > 2) damaged("a constraint has no known level");
        level.push_back(static_cast<char>(l));
    }
    const auto is_held = blob.ints("held");
    if (is_held.size() != static_cast<std::size_t>(nv)) damaged("the table of held coordinates has the wrong size");
    held.assign(is_held.begin(), is_held.end());
    const auto driving = blob.ints("drives");
    if (driving.size() != static_cast<std::size_t>(nc)) damaged("the table of motions has the wrong size");
    drives.assign(driving.begin(), driving.end());
    const auto turning = blob.ints("periodic");
    for (int row : turning)
        if (row < 0 || row >= nc || level[row] != 0) damaged("a row that is none counts full turns");
    periodic.assign(turning.begin(), turning.end());

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

// Conditions on the start: their labels and kinds, their program (values, then derivatives) and where these belong.
void System::read_conditions(const Blob& blob) {
    std::istringstream lines(blob.text("clabels"));
    const auto kinds = blob.ints("ckinds"), entries = blob.ints("centries");
    std::size_t k = 0;
    for (std::string line; std::getline(lines, line) && k + 3 <= kinds.size(); k += 3)
        conditions.push_back({line, kinds[k] != 0, kinds[k + 1] != 0, kinds[k + 2] != 0});
    if (k != kinds.size() || entries.size() % 2) damaged("the table of start conditions has the wrong size");
    for (std::size_t e = 0; e < entries.size(); e += 2) {
        if (entries[e] < 0 || entries[e] >= static_cast<int>(conditions.size()) || entries[e + 1] < 0 ||
            entries[e + 1] >= nv)
            damaged("a start condition refers to what is not there");
        condition_entries.push_back({entries[e], entries[e + 1]});
    }
    conditions_ = Tape(blob, "cond", spaces());
    if (conditions_.outputs() != static_cast<int>(conditions.size() + condition_entries.size()))
        damaged("the program of the start conditions has the wrong number of results");
}

void System::read_switches(const Blob& blob) {
    switches = Switches(blob, nc, n_constants, nx);
    indicators_ = Tape(blob, "events", spaces());
    if (indicators_.outputs() != switches.outputs())
        damaged("the program of the events has the wrong number of results");
    breaks_ = Tape(blob, "breaks", spaces());
    if (breaks_.outputs() % 3 != 0) damaged("the table of breaks is cut short");
    settings_ = Tape(blob, "set", spaces());
    if (settings_.outputs() != static_cast<int>(switches.settings.size()))
        damaged("the program of what events set has the wrong number of results");
}

void System::read_gaps(const Blob& blob) {
    const auto table = blob.ints("gaptable");
    std::istringstream names(blob.text("gapnames"));
    std::size_t k = 0;
    for (std::string name; std::getline(names, name) && k + 3 <= table.size(); k += 3)
        gaps.push_back({name, table[k], table[k + 1] != 0, table[k + 2] != 0 && !gaps.empty()});
    gaps_ = Tape(blob, "gaps", spaces());
    if (k != table.size() || gaps_.outputs() != 3 * static_cast<int>(gaps.size()))
        damaged("the program of the gaps has the wrong number of results");
    for (const Gap& one : gaps)
        if (one.extent < -1 || one.extent >= n_constants) damaged("a gap refers to what is not there");
}

// The places that kernels fill, then those of the program's rows.
void System::read_rate_pattern(const Blob& blob) {
    each_joint_table([&](auto kernel, const std::vector<Element>& table) {
        for (const auto& e : table) decltype(kernel)::pattern(e, nv, rate_pattern);
    });
    first_of_program_ = rate_pattern.size();
    const int rows = static_cast<int>(rate_rows_.size());
    const auto whole = blob.ints("bendrows");
    if (rates_.outputs() != 2 * rows + static_cast<int>(whole.size()))
        damaged("the program of rates has the wrong number of results");
    const std::vector<double> still(std::max(nq(), 9 * spatial_) + 1);
    Point anywhere;
    anywhere.at.fill(still.data());
    for (int k = 0; k < rows; ++k) {
        const auto own = std::find(whole.begin(), whole.end(), rate_rows_[k]);
        const int place = own == whole.end() ? rows + k : 2 * rows + static_cast<int>(own - whole.begin());
        RateRow row{rates_.below(k), rates_.below(place), own != whole.end(), 0};
        std::vector<int> columns;
        const auto note = [&](int space, int index) {
            each_cause(anywhere, space, index, [&](int column, double) { columns.push_back(column); });
        };
        rates_.each_load(row.speed, note);
        rates_.each_load(row.second, note);
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        for (int column : columns) rate_pattern.push_back({nv + rate_rows_[k], column});
        row.end = rate_pattern.size();
        rates_of_program_.push_back(std::move(row));
    }
}

void System::build_pattern() {
    for (int k = 0; k < 3 * bodies_; ++k) pattern.singles.push_back({k, k});
    for (int b = 0; b < spatial_; ++b) SpatialBody::pattern(b, pattern);
    each_table([&](auto kernel, const std::vector<Element>& table) {
        for (const auto& e : table) decltype(kernel)::pattern(e, nv, pattern);
    });
    for (auto& e : entries_) {
        pattern.singles.push_back({e.row, e.col});
        if (e.row >= nv && e.row < nv + nc) e.level = level[e.row - nv];
    }

    for (int k = 0; k < 3 * bodies_ + 6 * spatial_; ++k) nodes.has_mass[nodes.of_unknown[k]] = 1;
    for (std::size_t k = 0; k + 2 < entries_.size(); ++k) {  // lowering writes the three of a body in a row
        const Entry& e = entries_[k];
        const bool rate = e.kind == BY_A || e.kind == BY_V;
        if (rate && e.col < 6 * spatial_ && e.col % 6 == 3)
            tangent_entries_.push_back({static_cast<int>(k), e.col / 6});
    }
    for (const auto& e : entries_)  // coordinates with a mass entry, states with their own rate
        if (e.row == e.col && (e.kind == BY_A || (e.row >= nv + nc && e.kind == PLAIN)))
            nodes.has_mass[nodes.of_unknown[e.row]] = 1;
    leave_out_rates();
}

// Index 1 solves for accelerations: it asks for no derivative by positions or velocities but the rows' own.
void System::leave_out_rates() {
    double factor[4][KINDS];
    kind_factors({1, 0, 0, 0, 1}, factor);
    std::vector<char> wanted(derivative_.outputs(), 1);
    for (std::size_t k = 0; k < entries_.size(); ++k)
        wanted[residual_rows_.size() + k] = factor[entries_[k].level][entries_[k].kind] != 0;
    derivative1_ = derivative_.only(wanted);
}

// ---------------------------------------------------------------- tables and constants

template <class F>
void System::each_table(F&& f) const {
    f(Coincident{}, coincident_);
    f(Angle{}, angle_);
    f(InLine{}, inline_);
    f(Translational{}, translational_);
    f(Rotational{}, rotational_springs_);
    f(PlanarBushing{}, bushings_);
    f(Coincident3{}, coincident3_);
    f(Perpendicular{}, perpendicular_);
    f(InPlane{}, in_plane_);
    f(SpatialBushing{}, bushings3_);
}

// Tables of the rows that second derivatives leave something of.
template <class F>
void System::each_joint_table(F&& f) const {
    f(rates::Coincident<PlaneBodies>{}, coincident_);
    f(rates::InPlane<PlaneBodies>{}, inline_);
    f(rates::Coincident<SpaceBodies>{}, coincident3_);
    f(rates::Perpendicular<SpaceBodies>{}, perpendicular_);
    f(rates::InPlane<SpaceBodies>{}, in_plane_);
}

Workspace System::workspace() const {
    Workspace w;
    w.registers.resize(
        std::max({residual_.size(), derivative_.size(), constraints_.size(), rates_.size(), monitor_.size(),
                  conditions_.size(), signals_.size(), indicators_.size(), gaps_.size(), settings_.size(),
                  written_.size(), efforts_.size(), function_inputs_.size(), breaks_.size()}));
    w.outside_values.resize(outside_);
    w.outside_inputs.resize(function_inputs_.outputs());
    w.turned_by.assign(nq(), std::numeric_limits<double>::quiet_NaN());
    w.cs.resize(2 * bodies_);
    w.rotations.resize(9 * spatial_);
    w.inverse_tangents.resize(9 * spatial_);
    w.singles.resize(pattern.singles.size());
    w.pairs.resize(pattern.pairs.size());
    w.solve_work.resize(2 * n());  // of two right sides
    w.unused_rows.resize(nc);
    w.rate_entries.resize(rate_pattern.size());
    w.partials.resize(2 * rates_.size());
    w.adjoints.resize(rates_.size());
    w.rate_places.resize(n());
    w.still.resize(nv);
    w.complex_singles.resize(pattern.singles.size());
    w.complex_solve_work.resize(n());
    return w;
}

void System::constants(const double* parameters, double* c, std::vector<double>& registers) const {
    registers.resize(parameters_.size());
    Point point;
    point.at[PARAMETER] = parameters;
    parameters_.run(point, registers.data());
    for (int k = 0; k < n_constants; ++k) c[k] = parameters_.output(registers.data(), k);
}

std::string System::culprit_of_constant(const std::vector<double>& registers, int k) const {
    return parameters_.culprit(registers.data(), k);
}

void System::check_bounds(const double* c) const {
    for (const auto& b : bounds) {
        const double x = c[b.constant];
        if (!std::isfinite(x) || (x <= b.most && (b.positive ? x > b.least : x >= b.least))) continue;
        const std::string allowed = b.least <= -1e300 ? "be at most " + number(b.most)
                                    : b.most < 1e300  ? "lie between " + number(b.least) + " and " + number(b.most)
                                    : b.least > 0     ? "be at least " + number(b.least)
                                    : b.positive      ? "be positive"
                                                      : "be zero or positive";
        throw ModelError(constant_names[b.constant] + " must " + allowed + ", found " + number(x, 6) +
                         " for these parameters");
    }
}

namespace {
Eigen::Matrix3d inertia(const double* c) {  // from the constants of a spatial body
    Eigen::Matrix3d J;
    J << c[1], c[4], c[5], c[4], c[2], c[6], c[5], c[6], c[3];
    return J;
}
}  // namespace

void System::divide_by_masses(const double* c, double* r) const {
    c += body_at_;
    for (int b = 0; b < bodies_; ++b, c += 2, r += 3) r[0] /= c[0], r[1] /= c[0], r[2] /= c[1];
    for (int b = 0; b < spatial_; ++b, c += SpatialBody::constants, r += 6) {
        for (int k = 0; k < 3; ++k) r[k] /= c[0];
        Eigen::Map<Eigen::Vector3d> torque(r + 3);
        torque = inertia(c).inverse() * torque;
    }
}

void System::check_masses(const double* c) const {
    const auto refuse = [&](int coordinate, const std::string& what) {
        throw ModelError(body_of(coordinate) + ": " + what);
    };
    const auto shown = [](double x) { return number(x, 6); };
    c += body_at_;
    for (int b = 0; b < bodies_; ++b, c += 2) {
        if (!(c[0] > 0)) refuse(3 * b, "mass must be positive, found " + shown(c[0]));
        if (!(c[1] > 0)) refuse(3 * b, "inertia must be positive, found " + shown(c[1]));
    }
    for (int b = 0; b < spatial_; ++b, c += SpatialBody::constants) {
        if (!(c[0] > 0)) refuse(6 * b, "mass must be positive, found " + shown(c[0]));
        const Eigen::Vector3d principal = Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(inertia(c)).eigenvalues();
        if (!(principal[0] > 0))
            refuse(6 * b, "inertia must be positive about every axis, found principal values " + shown(principal[0]) +
                              ", " + shown(principal[1]) + ", " + shown(principal[2]) +
                              "; give rods a radius, or correct the products of inertia");
    }
}

void System::check_orientations(const double* c) const {
    for (int b = 0; b < spatial_; ++b) {
        const double* e = c + start_at + nv + 4 * b;
        const double square = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3];
        if (!(std::fabs(square - 1) < 1e-6))
            throw ModelError(
                body_of(6 * b) +
                ": the start orientation is no rotation for these numbers; its parts are zero or too large");
    }
}

// ---------------------------------------------------------------- orientations

void System::turn(const double* from, double* q) const {
    for (int b = 0; b < spatial_; ++b) turned(from + nv + 4 * b, load(q + 6 * b + 3), q + nv + 4 * b);
}

void System::settle(double* q) const {
    turn(q, q);
    settle_turned(q);
}

void System::settle_turned(double* q) const {
    for (int b = 0; b < spatial_; ++b) std::fill_n(q + 6 * b + 3, 3, 0.0);
}

void System::increments(const double* q, double* unknowns) const {
    for (int b = 0; b < spatial_; ++b) {
        double T[9], *u = unknowns + 6 * b + 3;
        inverse_tangent(load(q + 6 * b + 3), T);
        const Vec d = to_ground(T, load(u));
        u[0] = d.x, u[1] = d.y, u[2] = d.z;
    }
}

void System::differences(const double* from, const double* to, double* d) const {
    for (int k = 0; k < nv; ++k) d[k] = to[k] - from[k];
    for (int b = 0; b < spatial_; ++b) {
        const Vec theta = turn_between(from + nv + 4 * b, to + nv + 4 * b);
        d[6 * b + 3] = theta.x, d[6 * b + 4] = theta.y, d[6 * b + 5] = theta.z;
    }
}

void System::slopes_by_turns(const double* d, double* slopes) const {
    for (int b = 0; b < spatial_; ++b) {
        double T[9], *u = slopes + 6 * b + 3;
        inverse_tangent(load(d + 6 * b + 3), T);
        const Vec turned_slope = to_body(T, load(u));
        u[0] = turned_slope.x, u[1] = turned_slope.y, u[2] = turned_slope.z;
    }
}

Point System::prepared(const Point& point, Workspace& w) const {
    Point p = point;
    p.at[ROTATION] = w.rotations.data();
    p.at[OUTSIDE] = w.outside_values.data();
    const double* q = point.at[Q];
    if (std::equal(w.turned_by.begin(), w.turned_by.end(), q)) return p;  // asked for other things at the same place
    std::copy_n(q, nq(), w.turned_by.begin());
    for (int b = 0; b < bodies_; ++b) {
#ifdef __GLIBC__  // one reduction of the argument for both
        ::sincos(q[3 * b + 2], &w.cs[2 * b + 1], &w.cs[2 * b]);
#else
        w.cs[2 * b] = std::cos(q[3 * b + 2]);
        w.cs[2 * b + 1] = std::sin(q[3 * b + 2]);
#endif
    }
    for (int b = 0; b < spatial_; ++b) rotation_matrix(q + nv + 4 * b, &w.rotations[9 * b]);
    return p;
}

// ---------------------------------------------------------------- evaluation

void System::planar_bodies(const Point& point, bool derivatives, Evaluation& e) const {
    const double *c = point.at[CONSTANT], *mass = c + body_at_, gx = c[gravity_at_], gy = c[gravity_at_ + 1];
    const double* a = point.at[A];
    for (int b = 0; b < bodies_; ++b, mass += 2) {
        double* r = e.force + 3 * b;
        r[0] = mass[0] * (a[3 * b] - gx);
        r[1] = mass[0] * (a[3 * b + 1] - gy);
        r[2] = mass[1] * a[3 * b + 2];
        if (derivatives) {
            e.single[0] = e.single[1] = e.ca * mass[0];
            e.single[2] = e.ca * mass[1];
            e.single += 3;
        }
    }
}

// What fails gives values that are not finite, which ends the step.
void System::call_outside(const Point& point, Workspace& w, bool derivatives) const {
    if (w.outside.call == nullptr)
        throw ModelError("the model calls functions in Python, which are not here; start it from Python");
    function_inputs_.run(point, w.registers.data());
    for (std::size_t k = 0; k < w.outside_inputs.size(); ++k)
        w.outside_inputs[k] = function_inputs_.output(w.registers.data(), static_cast<int>(k));
    const double* input = w.outside_inputs.data();
    for (std::size_t k = 0; k < functions.size(); ++k) {
        const Function& f = functions[k];
        double *values = w.outside_values.data() + f.first, *slopes = derivatives ? values + f.values : nullptr;
        if (!w.outside.call(w.outside.context, static_cast<int>(k), *point.at[TIME], input, input + f.inputs, values,
                            slopes))
            std::fill_n(values, f.values, std::numeric_limits<double>::quiet_NaN());
        input += f.inputs + f.parameters;
    }
}

// The hot elements.
template <bool Derivatives>
Evaluation System::run_kernels(const Point& point, const Coefficients& z, Workspace& w, double* r, double* singles,
                               double* pairs) const {
    const double *c = point.at[CONSTANT], *q = point.at[Q];
    std::fill(r, r + n(), 0.0);
    if constexpr (Derivatives)
        for (int b = 0; b < spatial_; ++b) inverse_tangent(load(q + 6 * b + 3), &w.inverse_tangents[9 * b]);
    Evaluation e{q,
                 point.at[V],
                 point.at[A],
                 point.at[LAMBDA],
                 c,
                 w.cs.data(),
                 w.rotations.data(),
                 w.inverse_tangents.data(),
                 r,
                 r + nv,
                 z.ca,
                 z.cv,
                 z.cq,
                 singles,
                 pairs};
    planar_bodies(point, Derivatives, e);
    const Vec gravity = load(c + gravity_at_);
    for (int b = 0; b < spatial_; ++b)
        SpatialBody::evaluate<Derivatives>(b, c + body_at_ + SpatialBody::constants * b, gravity, e);
    each_table([&](auto kernel, const std::vector<Element>& table) {
        for (const auto& element : table) decltype(kernel)::template evaluate<Derivatives>(element, e);
    });
    return e;
}

template <bool Derivatives>
void System::evaluate(const Point& point, const Coefficients& z, Workspace& w, double* r) const {
    if (!functions.empty()) call_outside(point, w, Derivatives);
    const Evaluation e = run_kernels<Derivatives>(point, z, w, r, w.singles.data(), w.pairs.data());

    const bool index1 = z.cv == 0 && z.cq == 0 && z.cx == 0;
    const Tape& tape = !Derivatives ? residual_ : index1 ? derivative1_ : derivative_;
    if ((Derivatives ? derivative_ : residual_).size() == 0) return;
    tape.run(point, w.registers.data());
    const int rows = static_cast<int>(residual_rows_.size());
    for (int k = 0; k < rows; ++k) r[residual_rows_[k]] += tape.output(w.registers.data(), k);
    if constexpr (Derivatives) {
        double factor[4][KINDS];
        kind_factors(z, factor);
        for (std::size_t k = 0; k < entries_.size(); ++k) {
            const Entry& entry = entries_[k];
            const double counts = factor[entry.level][entry.kind];  // what counts for nothing may be infinite
            e.single[k] = counts == 0 ? 0 : counts * tape.output(w.registers.data(), rows + static_cast<int>(k));
        }
        for (const auto& [entry, body] : tangent_entries_) {
            const Vec d = to_body(&w.inverse_tangents[9 * body], load(e.single + entry));
            e.single[entry] = d.x, e.single[entry + 1] = d.y, e.single[entry + 2] = d.z;
        }
    }
}

void System::residual_and_powers(const Point& given, const PowerStream& stream, Workspace& w, double* r) const {
    const Point point = prepared(given, w);
    if (!functions.empty()) call_outside(point, w, true);
    constexpr Coefficients by_power[3] = {{1, 0, 0, 0, 1}, {0, 1, 0, 0, 1}, {0, 0, 1, 0, 1}};
    std::size_t first = 0;          // of the entries of expressions
    for (int k = 2; k >= 0; --k) {  // the residual is the last one's, and the same in all
        const Evaluation e = run_kernels<true>(point, by_power[k], w, r, stream.singles[k], stream.pairs);
        first = static_cast<std::size_t>(e.single - stream.singles[k]);
        std::fill_n(e.single, entries_.size(), 0.0);
    }
    if (derivative_.size() == 0) return;
    derivative_.run(point, w.registers.data());
    const int rows = static_cast<int>(residual_rows_.size());
    for (int k = 0; k < rows; ++k) r[residual_rows_[k]] += derivative_.output(w.registers.data(), k);
    // by kind (BY_A, BY_V, BY_Q, BY_X, PLAIN), of rows of level 0, 1, 2 and others; a row divided by what its own
    // level counts has no lower power
    constexpr int power[4][KINDS] = {{0, 0, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 1, 2, 1, 0}, {0, 1, 2, 1, 0}};
    for (std::size_t k = 0; k < entries_.size(); ++k)
        stream.singles[power[entries_[k].level][entries_[k].kind]][first + k] =
            derivative_.output(w.registers.data(), rows + static_cast<int>(k));
}

// How much a derivative counts in a constraint row of level 0, 1, 2, and (last) in any other row.
void System::kind_factors(const Coefficients& z, double (&factor)[4][KINDS]) {
    const double plain[KINDS] = {z.ca, z.cv, z.cq, z.cx, 1.0}, own[4] = {z.cq, z.cv, z.ca, 1.0};
    constexpr int natural[4] = {BY_Q, BY_V, BY_A, PLAIN};
    for (int l = 0; l < 4; ++l)
        for (int kind = 0; kind < KINDS; ++kind) {
            const double ratio = own[l] != 0 ? plain[kind] / own[l] : 0;
            factor[l][kind] = kind == natural[l] || kind == PLAIN ? 1.0 : ratio;
        }
    factor[1][BY_X] = z.xv;
}

void System::take_holds(const Point& point, double* phi) const {
    if (point.hold != nullptr)
        for (int k = 0; k < nc; ++k) phi[k] -= point.hold[k];
}

void System::residual(const Point& point, Workspace& w, double* r) const {
    evaluate<false>(prepared(point, w), {1, 0, 0, 0, 0}, w, r);
    take_holds(point, r + nv);
}

void System::residual_and_derivative(const Point& point, const Coefficients& z, Workspace& w, double* r) const {
    evaluate<true>(prepared(point, w), z, w, r);
    take_holds(point, r + nv);
}

void System::constraints(const Point& given, Workspace& w, double* phi) const {
    const Point point = prepared(given, w);
    const double *q = point.at[Q], *c = point.at[CONSTANT], *cs = w.cs.data(), *R = w.rotations.data();
    std::fill(phi, phi + nc, 0.0);
    for (const auto& e : coincident_) Coincident::value(e, q, cs, c, phi);
    for (const auto& e : angle_) Angle::value(e, q, cs, c, phi);
    for (const auto& e : inline_) InLine::value(e, q, cs, c, phi);
    for (const auto& e : coincident3_) Coincident3::value(e, q, R, c, phi);
    for (const auto& e : perpendicular_) Perpendicular::value(e, q, R, c, phi);
    for (const auto& e : in_plane_) InPlane::value(e, q, R, c, phi);
    constraints_.run(point, w.registers.data());
    for (std::size_t k = 0; k < constraint_rows_.size(); ++k)
        phi[constraint_rows_[k]] = constraints_.output(w.registers.data(), static_cast<int>(k));
    take_holds(point, phi);
}

void System::rates_of_joints(const Point& point, Workspace& w, double* velocity, double* gamma) const {
    std::fill(velocity, velocity + nc, 0.0);
    std::fill(gamma, gamma + nc, 0.0);
    Rates z{point.at[Q], point.at[V], point.at[CONSTANT], w.cs.data(), w.rotations.data(), velocity, gamma};
    for (const auto& e : coincident_) Coincident::rates(e, z);
    for (const auto& e : angle_) Angle::rates(e, z);
    for (const auto& e : inline_) InLine::rates(e, z);
    for (const auto& e : coincident3_) Coincident3::rates(e, z);
    for (const auto& e : perpendicular_) Perpendicular::rates(e, z);
    for (const auto& e : in_plane_) InPlane::rates(e, z);
}

void System::rates(const Point& given, Workspace& w, double* velocity, double* gamma) const {
    const Point point = prepared(given, w);
    rates_of_joints(point, w, velocity, gamma);
    rates_.run(point, w.registers.data());
    const int rows = static_cast<int>(rate_rows_.size());
    for (int k = 0; k < rows; ++k) {
        velocity[rate_rows_[k]] = rates_.output(w.registers.data(), k);
        gamma[rate_rows_[k]] = rates_.output(w.registers.data(), rows + k);
    }
}

void System::speeds(const Point& point, Workspace& w, double* velocity) const {
    speeds_of(prepared(point, w), w, velocity);
}

void System::residual_and_speeds(const Point& given, Workspace& w, double* r, double* velocity) const {
    const Point point = prepared(given, w);
    evaluate<false>(point, {1, 0, 0, 0, 0}, w, r);
    take_holds(point, r + nv);
    speeds_of(point, w, velocity);
}

void System::speeds_of(const Point& point, Workspace& w, double* velocity) const {
    rates_of_joints(point, w, velocity, w.unused_rows.data());
    const int rows = static_cast<int>(rate_rows_.size());
    rates_.run_for(point, w.registers.data(), rows);
    for (int k = 0; k < rows; ++k) velocity[rate_rows_[k]] = rates_.output(w.registers.data(), k);
}

void System::rate_derivatives(const Point& given, Workspace& w) const {
    const Point point = prepared(given, w);
    const Moves z{point.at[Q], point.at[V], point.at[A], point.at[CONSTANT], w.cs.data(), w.rotations.data()};
    RateEntry* to = w.rate_entries.data();
    each_joint_table([&](auto kernel, const std::vector<Element>& table) {
        for (const auto& e : table) decltype(kernel)::evaluate(e, z, to);
    });
    if (rates_of_program_.empty()) return;
    std::fill(to, w.rate_entries.data() + w.rate_entries.size(), RateEntry{});
    differentiate_rates(point, w);
    each_rate_row(w, [&](const RateRow& row) {
        add_slopes(point, row.speed, 1, {&RateEntry::velocity_q, nullptr}, w);
        add_slopes(point, row.second, row.whole ? 1 : -1, {&RateEntry::acceleration_q, &RateEntry::acceleration_v}, w);
    });
    // (G a)_q, as speeds are G v and what no velocity changes
    for (const double sign : {1.0, -1.0}) {
        Point other = point;
        other.at[V] = sign > 0 ? point.at[A] : w.still.data();
        differentiate_rates(other, w);
        each_rate_row(w, [&](const RateRow& row) {
            if (!row.whole) add_slopes(other, row.speed, sign, {&RateEntry::acceleration_q, nullptr}, w);
        });
    }
}

void System::differentiate_rates(const Point& point, Workspace& w) const {
    rates_.run(point, w.registers.data());
    rates_.partials(w.registers.data(), w.partials.data());
}

template <class F>
void System::each_rate_row(Workspace& w, F&& f) const {
    std::size_t place = first_of_program_;
    for (const RateRow& row : rates_of_program_) {
        for (; place < row.end; ++place) w.rate_places[rate_pattern[place].col] = static_cast<int>(place);
        f(row);
    }
}

// Adds the derivatives of one result of the program of rates, `count` times, to the entries of its row.
void System::add_slopes(const Point& point, const std::vector<std::int32_t>& order, double count, SlopeKinds kinds,
                        Workspace& w) const {
    rates_.backwards(order, w.partials.data(), w.adjoints.data(), [&](int space, int index, double slope) {
        const auto kind = space == V ? kinds.by_v : kinds.by_q;
        if (kind == nullptr) return;
        each_cause(point, space, index, [&](int column, double weight) {
            w.rate_entries[w.rate_places[column]].*kind += count * weight * slope;
        });
    });
}

// A quaternion and a rotation matrix move with the small rotations of their body (T7.2).
template <class F>
void System::each_cause(const Point& point, int space, int index, F&& f) const {
    if (space == V || (space == Q && index < nv)) {
        f(index, 1.0);
    } else if (space == X) {
        f(nv + nc + index, 1.0);
    } else if (space == Q) {
        const int body = (index - nv) / 4, k = (index - nv) % 4;
        const double* e = point.at[Q] + nv + 4 * body;
        const double half[4][3] = {
            {-e[1], -e[2], -e[3]}, {e[0], -e[3], e[2]}, {e[3], e[0], -e[1]}, {-e[2], e[1], e[0]}};
        for (int axis = 0; axis < 3; ++axis) f(6 * body + 3 + axis, 0.5 * half[k][axis]);
    } else if (space == ROTATION) {
        const int body = index / 9, m = index % 3;
        const double* row = point.at[ROTATION] + index - m;
        f(6 * body + 3 + (m + 1) % 3, -row[(m + 2) % 3]);
        f(6 * body + 3 + (m + 2) % 3, row[(m + 1) % 3]);
    }
}

void System::monitor(const Point& given, Workspace& w, double* out) const {
    if (turns + sides == 0) return;
    monitor_.run(prepared(given, w), w.registers.data());
    for (int k = 0; k < turns + sides; ++k) out[k] = monitor_.output(w.registers.data(), k);
}

void System::initial_conditions(const Point& given, Workspace& w, double* values,
                                std::vector<double>& derivatives) const {
    conditions_.run(prepared(given, w), w.registers.data());
    const int count = static_cast<int>(conditions.size());
    for (int k = 0; k < count; ++k) values[k] = conditions_.output(w.registers.data(), k);
    derivatives.resize(condition_entries.size());
    for (std::size_t k = 0; k < derivatives.size(); ++k)
        derivatives[k] = conditions_.output(w.registers.data(), count + static_cast<int>(k));
}

void System::breaks(const Point& point, Workspace& w, double* out) const {
    breaks_.run(point, w.registers.data());
    for (int k = 0; k < breaks_.outputs(); ++k) out[k] = breaks_.output(w.registers.data(), k);
}

void System::indicators(const Point& given, Workspace& w, double* out) const {
    indicators_.run(prepared(given, w), w.registers.data());
    for (int k = 0; k < indicators_.outputs(); ++k) out[k] = indicators_.output(w.registers.data(), k);
}

void System::look_at_gaps(const Point& given, Workspace& w, std::size_t count, double* out) const {
    const int wanted = static_cast<int>(count);
    gaps_.run_for(prepared(given, w), w.registers.data(), wanted);
    for (int k = 0; k < wanted; ++k) out[k] = gaps_.output(w.registers.data(), k);
}

void System::settings(const Point& given, Workspace& w, double* out) const {
    settings_.run(prepared(given, w), w.registers.data());
    for (int k = 0; k < settings_.outputs(); ++k) out[k] = settings_.output(w.registers.data(), k);
}

std::string System::culprit_of_setting(const Workspace& w, int k) const {
    return settings_.culprit(w.registers.data(), k);
}

std::string System::culprit_of_signal(const Point& given, Workspace& w, int signal) const {
    const auto [space, index] = addresses_.at(signal);
    if (space != COMPUTED) return number(given.at[space][index]);
    signals_.run(prepared(given, w), w.registers.data());
    return signals_.culprit(w.registers.data(), index);
}

std::string System::odd_element(const Point& point, Workspace& w) const {
    constexpr double too_large = 1e100;  // beyond it squares are infinite soon
    const auto odd = [](double x) { return !(std::fabs(x) < too_large); };
    const auto because =
        " is not finite or far too large: where its ends coincide it has no direction, and its "
        "values must not be too large; begin elsewhere, give it an axis, or take a bushing";
    efforts_.run(point, w.registers.data());
    for (int k = 0; k < efforts_.outputs(); ++k)
        if (odd(efforts_.output(w.registers.data(), k))) return effort_labels_[k] + because;
    std::vector<double> r(n());
    const Evaluation e = run_kernels<false>(point, {}, w, r.data(), nullptr, nullptr);
    std::string found;
    std::size_t k = 0;
    each_table([&](auto kernel, const std::vector<Element>& table) {
        for (const auto& element : table) {
            Evaluation alone = e;
            std::fill(r.begin(), r.end(), 0.0);
            decltype(kernel)::template evaluate<false>(element, alone);
            if (found.empty() && std::any_of(r.begin(), r.end(), odd)) found = element_labels_[k] + because;
            ++k;
        }
    });
    return found;
}

void System::look_at_jumps(const Point& given, Workspace& w, double* out) const {
    written_.run(prepared(given, w), w.registers.data());
    for (std::size_t k = 0; k < jumps_.size(); ++k) out[k] = written_.side(w.registers.data(), jumps_[k]);
}

std::string System::jump_label(std::size_t jump) const {
    for (int k = 0; k < written_.outputs(); ++k) {
        const auto below = written_.below(k);
        if (std::find(below.begin(), below.end(), jumps_[jump]) != below.end()) return written_labels_[k];
    }
    return "a law";
}

std::string System::not_finite(const Point& given, Workspace& w) const {
    written_.run(prepared(given, w), w.registers.data());
    for (int k = 0; k < written_.outputs(); ++k)
        if (!std::isfinite(written_.output(w.registers.data(), k)))
            return written_labels_[k] + " is not finite: " + written_.culprit(w.registers.data(), k);
    if (const std::string found = odd_element(prepared(given, w), w); !found.empty()) return found;
    written_.run(prepared(given, w), w.registers.data());
    for (int k = 0; k < written_.outputs(); ++k)
        if (const std::string found = written_.steep(w.registers.data(), k); !found.empty())
            return written_labels_[k] + " has no finite slope: " + found;
    return "";
}

void System::signals(const Point& given, Workspace& w, double* out) const {
    const Point point = prepared(given, w);
    signals_.run(point, w.registers.data());
    for (std::size_t k = 0; k < addresses_.size(); ++k) {
        const auto [space, index] = addresses_[k];
        out[k] = space == COMPUTED ? signals_.output(w.registers.data(), index) : point.at[space][index];
    }
}

}  // namespace mbd
