// The border between Python and the solver; bindings*.cpp know Python, no other file does. Numbers and bytes cross, no
// names of elements: nothing here changes when a joint, a force or a scheme is added.
#include "bindings.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <memory>

#include "bytes.hpp"
#include "driver.hpp"
#include "reduced.hpp"
#include "schemes/table.hpp"
#include "sensitivity.hpp"
#include "settling.hpp"
#include "yardstick.hpp"

using namespace nanobind::literals;
using namespace mbd;

namespace {

// Python may want to stop a long run (Ctrl-C): looked at between steps.
bool interrupted(void*) {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// A System, an Instance of it and the driver that advances it.
class Simulation {
public:
    Simulation(std::shared_ptr<System> system, const std::string& scheme, const std::vector<double>& options,
               const DriverOptions& driver, std::vector<nb::callable> functions)
        : system_(std::move(system)),
          scheme_(scheme),
          callables_(*system_, std::move(functions)),
          instance(*system_),
          driver(instance, make_scheme(scheme, *system_, options), driver) {
        instance.work.outside = callables_.outside();
    }
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    template <class F>
    void run(F&& f) {
        callables_.run(std::forward<F>(f));
    }

    Sensitivity& sensitivity() {
        if (!sensitivity_) sensitivity_ = std::make_unique<Sensitivity>(*system_);
        return *sensitivity_;
    }

    std::shared_ptr<System> system_;
    const std::string scheme_;
    Callables callables_;
    Instance instance;
    Driver driver;

private:
    std::unique_ptr<Sensitivity> sensitivity_;
};

void check(const Input& given, int wanted, const char* name) {
    if (static_cast<int>(given.shape(0)) == wanted) return;
    throw ModelError(std::string(name) + " has " + std::to_string(given.shape(0)) + " components, the model has " +
                     std::to_string(wanted));
}

Point point_at(Instance& i, double t, const Input& q, const Input& v, const Input& a, const Input& lambda,
               const Input& x, const Input& xdot, const Input& y) {
    const System& s = i.system;
    check(q, s.nq(), "q"), check(v, s.nv, "v"), check(a, s.nv, "a"), check(lambda, s.nc, "lam");
    check(x, s.nx, "x"), check(xdot, s.nx, "xdot"), check(y, s.ny, "y");
    return i.point(t, q.data(), v.data(), a.data(), lambda.data(), x.data(), xdot.data(), y.data());
}

nb::dict statistics(const Simulation& m) {
    const Statistics& s = m.driver.statistics;
    nb::dict d;
    d["steps"] = s.steps, d["rejected"] = s.rejected, d["iterations"] = s.iterations, d["residuals"] = s.residuals;
    d["jacobians"] = s.jacobians, d["factorisations"] = s.factorisations, d["pivoting_fallbacks"] = s.fallbacks;
    d["constraint_checks"] = s.constraint_checks, d["extra_iterations"] = s.extra_iterations,
    d["restarts"] = s.restarts, d["repartitions"] = s.repartitions, d["corrected_steps"] = s.corrected_steps,
    d["partitioned_steps"] = s.partitioned_steps, d["row_choices"] = s.row_choices;
    d["failed_iterations"] = s.failed_iterations;
    d["events"] = m.instance.state.events;
    d["worst_position_violation"] = s.worst_position_violation;
    d["worst_velocity_violation"] = m.instance.worst_velocity_violation;
    return d;
}

nb::bytes to_bytes(const State& state) {
    Writer content;
    write(state, content);
    const auto whole = sealed(content.bytes, state.model);
    return nb::bytes(whole.data(), whole.size());
}

// Checked against its own model when it is restored.
State from_bytes(nb::bytes data) {
    Reader content = opened(static_cast<const unsigned char*>(data.data()), data.size());
    State state = read_state(content);
    content.end();
    return state;
}

std::vector<std::int32_t> places(const Pattern& pattern, bool rows) {
    std::vector<std::int32_t> out;
    for (const auto& p : pattern.singles) out.push_back(rows ? p.row : p.col);
    for (const auto& p : pattern.pairs) out.push_back(rows ? p.row : p.col);
    for (const auto& p : pattern.pairs) out.push_back(rows ? p.col : p.row);
    return out;
}

}  // namespace

// Where the unknowns of implicit partitioning lead from the state with the trapezoidal rule, for tests: the unknowns,
// q, v, a* and lambda* there, and the derivative of the residual a - a* by rows.
nb::tuple reduced(Simulation& sim, double h, const std::vector<double>& unknowns, bool simplified) {
    Instance& i = sim.instance;
    const State& st = i.state;
    Reduced z(i.system);
    std::vector<double> r(i.system.n());
    i.system.residual_and_derivative(i.state_point(), {1, 0, 0, 0, 0}, i.work, r.data());
    if (!z.partition.choose(i)) throw StepFailed("no coordinates are independent here");
    z.from = st.q.data();
    for (int k = 0; k < i.system.nv; ++k) {
        z.q_fixed[k] = st.q[k] + h * (st.v[k] + h / 4 * st.a[k]);
        z.v_fixed[k] = st.v[k] + h / 2 * st.a[k];
    }
    z.a = st.a, z.x = st.x, z.x_fixed = st.x, z.xdot = st.xdot;
    z.begin(i, st.t + h, {h * h / 4, h / 2, h / 2});
    Order order = st.order;
    if (unknowns.size() != z.unknowns().size())
        throw ModelError(std::to_string(z.unknowns().size()) + " coordinates are unknown");
    for (std::size_t k = 0; k < unknowns.size(); ++k) z.a[z.unknowns()[k]] = unknowns[k];
    if (z.place(i, order) != Reduced::Outcome::done || !z.derive(i, simplified))
        throw StepFailed("there is no motion with these accelerations");
    const auto& J = z.derivative();
    std::vector<double> rows;
    for (Eigen::Index row = 0; row < J.rows(); ++row)
        for (Eigen::Index col = 0; col < J.cols(); ++col) rows.push_back(J(row, col));
    return nb::make_tuple(z.unknowns(), own(std::vector<double>(z.pose())), own(std::vector<double>(z.v)),
                          own(std::vector<double>(z.index1.a)), own(std::vector<double>(z.index1.lambda)),
                          own(std::move(rows)));
}

NB_MODULE(_solver, m) {
    constexpr auto owned = nb::rv_policy::automatic;  // arrays own their numbers
    m.doc() = "native core of mbdfmu";
#ifdef NDEBUG  // what a script still holds when it ends is no fault of the core, and a host's output is not ours
    nb::set_leak_warnings(false);
#endif
    nb::exception<ModelError>(m, "NativeModelError", PyExc_ValueError);
    Callables::step_failed = nb::exception<StepFailed>(m, "NativeStepFailed", PyExc_RuntimeError).ptr();

    bind_slave(m);

    nb::class_<System>(m, "System")
        .def("__init__",
             [](System* self, nb::bytes blob) {
                 const auto* data = static_cast<const unsigned char*>(blob.data());
                 const std::size_t size = blob.size();
                 nb::gil_scoped_release release;
                 new (self) System(data, size);
             })
        .def_ro("nv", &System::nv)
        .def_prop_ro("nq", &System::nq)
        .def_ro("nc", &System::nc)
        .def_ro("nx", &System::nx)
        .def_ro("ny", &System::ny)
        .def_ro("nu", &System::nu)
        .def_ro("np", &System::np)
        .def_prop_ro("n", &System::n)
        .def_ro("labels", &System::labels)
        .def_prop_ro("levels", [](const System& s) { return std::vector<int>(s.level.begin(), s.level.end()); })
        .def_prop_ro(
            "rows", [](const System& s) { return own(places(s.pattern, true)); }, owned)
        .def_prop_ro(
            "cols", [](const System& s) { return own(places(s.pattern, false)); }, owned)
        .def("moved",
             [](const System& s, Input q, Input increment) {
                 check(q, s.nq(), "q"), check(increment, s.nv, "increment");
                 std::vector<double> to(q.data(), q.data() + s.nq());
                 for (int k = 0; k < s.nv; ++k) to[k] += increment.data()[k];
                 s.settle(to.data());
                 return own(std::move(to));
             })
        .def_prop_ro("refactor_cost", &System::refactor_cost)
        .def_prop_ro("elimination_operations",
                     [](const System& s) { return s.elimination(s.preferred_order()).operations(); })
        .def_prop_ro("elimination_values", [](const System& s) { return s.elimination(s.preferred_order()).values(); });

    nb::class_<State>(m, "State")
        .def_ro("t", &State::t)
        .def_ro("h", &State::h)
        .def_ro("t_input", &State::t_input)
        .def_prop_ro(
            "q", [](const State& s) { return copy(s.q); }, owned)
        .def_prop_ro(
            "v", [](const State& s) { return copy(s.v); }, owned)
        .def_prop_ro(
            "a", [](const State& s) { return copy(s.a); }, owned)
        .def_prop_ro(
            "lam", [](const State& s) { return copy(s.lambda); }, owned)
        .def_prop_ro(
            "x", [](const State& s) { return copy(s.x); }, owned)
        .def_prop_ro(
            "xdot", [](const State& s) { return copy(s.xdot); }, owned)
        .def_prop_ro(
            "y", [](const State& s) { return copy(s.y); }, owned)
        .def_prop_ro(
            "turns", [](const State& s) { return copy(s.turns); }, owned)
        .def_prop_ro(
            "u", [](const State& s) { return copy(s.u); }, owned)
        .def_prop_ro(
            "udot", [](const State& s) { return copy(s.udot); }, owned)
        .def_prop_ro(
            "parameters", [](const State& s) { return copy(s.parameters); }, owned)
        .def_prop_ro("dropped", [](const State& s) { return s.dropped; })
        .def("__copy__", [](const State& s) { return State(s); })
        .def("to_bytes", &to_bytes)
        .def_static("from_bytes", &from_bytes, "data"_a)
        .def("__getstate__", &to_bytes)
        .def("__setstate__", [](State& s, nb::bytes data) { new (&s) State(from_bytes(data)); });

    nb::class_<Simulation>(m, "Simulation")
        .def(
            "__init__",
            [](Simulation* self, std::shared_ptr<System> system, const std::string& scheme,
               const std::vector<double>& options, double tolerance, double step, double first_step,
               double largest_step, double smallest_step, double most_steps, std::vector<nb::callable> functions) {
                new (self) Simulation(std::move(system), scheme, options,
                                      {tolerance, step, first_step, largest_step, smallest_step, most_steps},
                                      std::move(functions));
            },
            "system"_a, "scheme"_a, "options"_a, "tolerance"_a, "step"_a, "first_step"_a, "largest_step"_a,
            "smallest_step"_a, "most_steps"_a, "functions"_a = std::vector<nb::callable>{})
        .def("set_parameter", [](Simulation& s, int k, double value) { s.instance.set_parameter(k, value); })
        .def("change_parameter", [](Simulation& s, int k, double value) { s.driver.change_parameter(k, value); })
        .def(
            "start",
            [](Simulation& s, bool correct, const std::vector<std::pair<int, double>>& q,
               const std::vector<std::pair<int, double>>& v, const std::vector<double>& positions, bool open,
               double time, const std::vector<std::pair<int, double>>& inputs) {
                const auto count = static_cast<int>(positions.size());
                if (count != 0 && count != s.system_->nq())
                    throw ModelError("the start positions have the wrong length");
                for (const auto* given : {&q, &v})
                    for (const auto& [k, value] : *given)
                        if (k < 0 || k >= s.system_->nv || !std::isfinite(value))
                            throw ModelError("a start value is not finite or belongs to no coordinate");
                s.run([&] {
                    s.instance.start({correct, q, v, positions, open, time, inputs});
                    s.driver.start();
                    s.instance.report();
                });
            },
            "correct"_a = false, "q"_a = std::vector<std::pair<int, double>>{},
            "v"_a = std::vector<std::pair<int, double>>{}, "positions"_a = std::vector<double>{}, "open"_a = false,
            "time"_a = 0.0, "inputs"_a = std::vector<std::pair<int, double>>{})
        .def(
            "settle",
            [](Simulation& s, double tolerance, long limit) {
                Settling settling(s.instance, {tolerance, limit});
                bool arrived = false;
                s.run([&] { arrived = settling.run(interrupted, nullptr); });
                if (PyErr_Occurred()) throw nb::python_error();  // as in `advance`
                return nb::make_tuple(arrived, settling.steps, settling.iterations);
            },
            "tolerance"_a, "limit"_a)
        .def("place",
             [](Simulation& s, const std::vector<double>& q, const std::vector<double>& x,
                const std::vector<double>& turns) {
                 const System& system = *s.system_;
                 const auto count = [](const std::vector<double>& given) { return static_cast<int>(given.size()); };
                 if (count(q) != system.nq() || count(x) != system.nx || count(turns) != system.turns)
                     throw ModelError("the positions have the wrong length");
                 s.run([&] { s.instance.place(q, x, turns); });
             })
        // for analyses of motions that are known: a point of one, and going on from what is reported there
        .def("pose",
             [](Simulation& s, double t, Input q, Input v, Input x) {
                 const System& system = *s.system_;
                 check(q, system.nq(), "q"), check(v, system.nv, "v"), check(x, system.nx, "x");
                 s.run([&] { s.instance.pose(t, q.data(), v.data(), x.data()); });
             })
        .def("adopt", [](Simulation& s) { s.run([&] { s.instance.restart(); }); })
        .def("exchange_rows_anywhere",
             [](Simulation& s) {
                 bool changed = false;
                 s.run([&] { changed = s.instance.exchange_rows_anywhere(); });
                 return changed;
             })
        .def("exchange_rows",
             [](Simulation& s, Input lam) {
                 check(lam, s.system_->nc, "lam");
                 State& state = s.instance.state;
                 state.lambda.assign(lam.data(), lam.data() + s.system_->nc);
                 bool changed = false;
                 s.run([&] { changed = s.instance.exchange_rows(); });
                 return nb::make_tuple(changed, copy(state.lambda));
             })
        .def("stand_still", [](Simulation& s) { s.run([&] { s.instance.stand_still(); }); })
        .def(
            "set_in_motion",
            [](Simulation& s, const std::vector<std::pair<int, double>>& v) {
                StartOptions options;
                options.correct = true, options.v = v;
                s.run([&] {
                    s.instance.set_in_motion(options);
                    s.driver.start();
                    s.instance.report();
                });
            },
            "v"_a)
        .def("set_input", [](Simulation& s, int k, double value, double slope) { s.driver.set_input(k, value, slope); })
        .def(
            "advance",
            [](Simulation& s, double t, long limit) {
                bool arrived = false;
                s.run([&] { arrived = s.driver.advance(t, interrupted, nullptr, limit); });
                if (PyErr_Occurred()) throw nb::python_error();  // the KeyboardInterrupt that `interrupted` found
                return arrived;
            },
            "t"_a, "limit"_a = 0)
        .def("catch_up", [](Simulation& s) { s.run([&] { s.driver.catch_up(); }); })
        .def("report", [](Simulation& s) { s.run([&] { s.driver.report(); }); })
        .def("signals",
             [](Simulation& s) {
                 std::vector<double> out(s.system_->signal_count());
                 s.instance.signals(out.data());
                 return own(std::move(out));
             })
        .def(
            "why_not_finite", [](Simulation& s, int signal) { return s.instance.why_not_finite(signal); }, "signal"_a)
        // How what is reported changes: signals, a, lam, xdot, y along a direction, and signals along the motion.
        .def(
            "sensitivity",
            [](Simulation& s, double t, Input q, Input v, Input x, Input u, Input udot, Input p, double gain) {
                const System& system = *s.system_;
                check(q, system.nv, "q"), check(v, system.nv, "v"), check(x, system.nx, "x");
                check(u, system.nu, "u"), check(udot, system.nu, "udot"), check(p, system.np, "p");
                std::vector<double> signals(system.signal_count());
                Sensitivity& found = s.sensitivity();
                s.run([&] {
                    found.look(s.instance, gain);
                    found.along({t, q.data(), v.data(), x.data(), u.data(), udot.data(), p.data()}, signals.data());
                });
                return nb::make_tuple(own(std::move(signals)), copy(found.a()), copy(found.lambda()),
                                      copy(found.xdot()), copy(found.y()));
            },
            "t"_a, "q"_a, "v"_a, "x"_a, "u"_a, "udot"_a, "p"_a, "gain"_a = 0.0)
        .def("signal_rates",
             [](Simulation& s) {
                 std::vector<double> rates(s.system_->signal_count());
                 s.run([&] {
                     s.sensitivity().look(s.instance);
                     s.sensitivity().in_time(rates.data());
                 });
                 return own(std::move(rates));
             })
        .def("save", [](const Simulation& s) { return State(s.instance.state); })
        .def("restore", [](Simulation& s, const State& state) { s.run([&] { s.driver.restore(state); }); })
        .def_prop_ro("time", [](const Simulation& s) { return s.instance.state.t; })
        .def_prop_ro("set_by_motions", [](const Simulation& s) { return s.instance.set_by_motions(); })
        .def_prop_ro("given_up", [](const Simulation& s) { return s.instance.given_up(); })
        .def_prop_ro("redundancies",
                     [](const Simulation& s) {
                         std::vector<std::pair<int, std::vector<std::pair<int, double>>>> found;
                         for (const auto& r : s.instance.state.redundancies) found.emplace_back(r.row, r.repeats);
                         return found;
                     })
        .def_prop_ro("events", [](const Simulation& s) { return s.driver.occurrences(); })
        .def_prop_ro("system", [](const Simulation& s) { return s.system_; })
        .def_prop_ro("length", [](const Simulation& s) { return s.instance.length(); })
        .def_prop_ro("statistics", &statistics)
        .def_prop_ro("jumps", [](const Simulation& s) { return s.driver.jumps(); })
        .def_prop_ro("blow_note", [](const Simulation& s) { return s.driver.blow_note(s.scheme_); })
        .def_prop_ro("blow_at", [](const Simulation& s) { return s.driver.blow_at(); })
        .def_prop_ro("gap_note", [](const Simulation& s) { return s.driver.gap_note(s.scheme_); })
        .def_prop_ro("failed_at",  // the unknown at which iterations failed most often
                     [](const Simulation& m) {
                         const auto& at = m.driver.statistics.failed_at;
                         return std::max_element(at.begin(), at.end()) - at.begin();
                     })
        .def_prop_ro(
            "v", [](const Simulation& s) { return copy(s.instance.v); }, owned, "reported velocities, on G v = -Phi_t")
        .def_prop_ro(
            "a", [](const Simulation& s) { return copy(s.instance.a); }, owned, "reported accelerations, index 1")
        .def_prop_ro(
            "lam", [](const Simulation& s) { return copy(s.instance.lambda); }, owned, "reported multipliers, index 1")
        .def_prop_ro(
            "xdot", [](const Simulation& s) { return copy(s.instance.xdot); }, owned,
            "reported rates of states, index 1")
        .def_prop_ro(
            "y", [](const Simulation& s) { return copy(s.instance.y); }, owned,
            "reported variables and forces, index 1")
        // ---- evaluation at any point, for schemes and analyses written in Python
        .def("residual",
             [](Simulation& s, double t, Input q, Input v, Input a, Input lam, Input x, Input xdot, Input y) {
                 const Point p = point_at(s.instance, t, q, v, a, lam, x, xdot, y);
                 std::vector<double> r(s.system_->n());
                 s.system_->residual(p, s.instance.work, r.data());
                 return own(std::move(r));
             })
        .def("derivative",
             [](Simulation& s, double t, Input q, Input v, Input a, Input lam, Input x, Input xdot, Input y, double ca,
                double cv, double cq, double cx) {
                 const Point p = point_at(s.instance, t, q, v, a, lam, x, xdot, y);
                 std::vector<double> r(s.system_->n());
                 Workspace& w = s.instance.work;
                 s.system_->residual_and_derivative(p, {ca, cv, cq, cx, cv != 0 ? cx / cv : 0}, w, r.data());
                 std::vector<double> values(w.singles);
                 values.insert(values.end(), w.pairs.begin(), w.pairs.end());
                 values.insert(values.end(), w.pairs.begin(), w.pairs.end());
                 return own(std::move(values));
             })
        .def("constraints",
             [](Simulation& s, double t, Input q) {
                 check(q, s.system_->nq(), "q");
                 const std::vector<double> zero(
                     std::max({s.system_->nv, s.system_->nc, s.system_->nx, s.system_->ny, 1}));
                 const double* z = zero.data();
                 std::vector<double> phi(s.system_->nc);
                 s.system_->constraints(s.instance.point(t, q.data(), z, z, z, z, z, z), s.instance.work, phi.data());
                 return own(std::move(phi));
             })
        .def("rates",
             [](Simulation& s, double t, Input q, Input v) {
                 check(q, s.system_->nq(), "q"), check(v, s.system_->nv, "v");
                 const std::vector<double> zero(
                     std::max({s.system_->nv, s.system_->nc, s.system_->nx, s.system_->ny, 1}));
                 const double* z = zero.data();
                 std::vector<double> velocity(s.system_->nc), gamma(s.system_->nc);
                 s.system_->rates(s.instance.point(t, q.data(), v.data(), z, z, z, z, z), s.instance.work,
                                  velocity.data(), gamma.data());
                 return nb::make_tuple(own(std::move(velocity)), own(std::move(gamma)));
             })
        .def("reduced", &reduced, "h"_a, "unknowns"_a, "simplified"_a)
        // places and values of (Phi')_q, (Phi'')_q and (Phi'')_v, a place after the other
        .def("rate_derivatives",
             [](Simulation& s, double t, Input q, Input v, Input a, Input x, Input xdot) {
                 const System& system = *s.system_;
                 check(q, system.nq(), "q"), check(v, system.nv, "v"), check(a, system.nv, "a");
                 check(x, system.nx, "x"), check(xdot, system.nx, "xdot");
                 const std::vector<double> zero(std::max({system.nc, system.ny, 1}));
                 const double* z = zero.data();
                 Workspace& w = s.instance.work;
                 system.rate_derivatives(s.instance.point(t, q.data(), v.data(), a.data(), z, x.data(), xdot.data(), z),
                                         w);
                 std::vector<std::int32_t> rows, cols;
                 std::vector<double> values;
                 for (const auto& p : system.rate_pattern) rows.push_back(p.row), cols.push_back(p.col);
                 for (const auto& e : w.rate_entries)
                     values.insert(values.end(), {e.velocity_q, e.acceleration_q, e.acceleration_v});
                 return nb::make_tuple(own(std::move(rows)), own(std::move(cols)), own(std::move(values)));
             })
        // seconds for one factorisation and one solve at the state: the elimination program, then Eigen SparseLU
        // (benchmarks)
        .def("factorisation_times",
             [](Simulation& s, int repeats) {
                 const Yardstick y = compare_factorisations(s.instance, repeats);
                 return nb::make_tuple(y.factorise, y.solve, y.sparse_factorise, y.sparse_solve);
             })
        // seconds at the state for one residual, one with its derivative, the rates of constraints, and how they change
        // (benchmarks)
        .def("evaluation_times",
             [](Simulation& s, int repeats) {
                 const Evaluations e = time_evaluations(s.instance, repeats);
                 return nb::make_tuple(e.residual, e.derivative, e.rates, e.rate_derivatives);
             })
        // the elimination program against an independent solver: solves with the matrix at the state
        .def("solve", [](Simulation& s, Input rhs, double ca, double cv, double cq, double cx) {
            Instance& i = s.instance;
            std::vector<double> r(i.system.n()), x(rhs.data(), rhs.data() + rhs.shape(0));
            if (static_cast<int>(x.size()) != i.system.n()) throw ModelError("the right side has the wrong length");
            i.system.residual_and_derivative(i.state_point(), {ca, cv, cq, cx, cv != 0 ? cx / cv : 0}, i.work,
                                             r.data());
            Factor factor;
            Order order = i.system.preferred_order();
            if (!i.factorise(factor, order)) throw StepFailed("the matrix is singular");
            i.solve(factor, x.data());
            return nb::make_tuple(own(std::move(x)), !factor.pivoting);
        });
}
