// What a Slave runs, for the files that Slave is written in.
#pragma once
#include "exchange.hpp"
#include "sensitivity.hpp"
#include "slave.hpp"

namespace mbd {

// A step or an evaluation that failed and has been taken back: it may be tried another way.
struct Discarded : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline std::string in_seconds(double t) { return number(t, 17) + " s"; }

// The direction of a derivative and what it gives.
struct Slave::Derivatives {
    explicit Derivatives(const System& system)
        : sensitivity(system),
          inputs(system.nu),
          slopes(system.nu),
          parameters(system.np),
          signals(system.signal_count()),
          rates(system.continuous_states()),
          states(system) {}
    Sensitivity sensitivity;
    std::vector<double> inputs, slopes, parameters, signals, rates;
    Exchange::Direction states;

    void along(const Found& moving, const double* seed, const std::optional<Exchange>& exchange);
};

// An instance of the model and what advances it: the driver or, where an integrator outside does, the exchange with it.
struct Slave::Run {
    Run(const System& system, std::unique_ptr<Scheme> scheme, const DriverOptions& options, const Outside& outside,
        Kind kind)
        : instance(system), driver(instance, std::move(scheme), options), tolerance(options.tolerance) {
        instance.work.outside = outside;
        if (kind == Kind::model_exchange) exchange.emplace(instance);
    }
    Instance instance;
    Driver driver;
    std::unique_ptr<Derivatives> derivatives;  // none until they are asked for
    double tolerance;
    std::optional<Exchange> exchange;

    void start(const StartOptions& options) {
        instance.start(options);
        if (exchange)
            exchange->start(tolerance);
        else
            driver.start();
        report();
    }
    void report() {
        if (exchange)
            exchange->evaluate();
        else
            driver.report();
    }
    void restore(const State& saved) {
        if (exchange)
            exchange->restore(saved);
        else
            driver.restore(saved);
    }
    void set_input(int index, double value, double slope) {
        if (exchange)
            exchange->set_input(index, value, slope);
        else
            driver.set_input(index, value, slope);
    }
    void change_parameter(int index, double value) {
        if (exchange)
            exchange->change_parameter(index, value);
        else
            driver.change_parameter(index, value);
    }
    double time() const { return exchange ? exchange->time() : instance.state.t; }
    const std::vector<std::pair<double, std::string>>& occurrences() const {
        return exchange ? exchange->occurrences() : driver.occurrences();
    }
};

template <class Action>
void Slave::all_or_nothing(Action&& action) {
    before_ = run_->instance.state;
    try {
        action();
    } catch (...) {
        run_->restore(before_);
        throw;
    }
}

}  // namespace mbd
