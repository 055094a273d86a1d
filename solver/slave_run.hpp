// What a Slave runs, for the files that Slave is written in.
#pragma once
#include "sensitivity.hpp"
#include "slave.hpp"

namespace mbd {

// The direction of a derivative and what it gives.
struct Slave::Derivatives {
    explicit Derivatives(const System& system)
        : sensitivity(system), inputs(system.nu), parameters(system.np), signals(system.signal_count()) {}
    Sensitivity sensitivity;
    std::vector<double> inputs, parameters, signals;
};

// An instance of the model and what advances it.
struct Slave::Run {
    Run(const System& system, std::unique_ptr<Scheme> scheme, const DriverOptions& options, const Outside& outside)
        : instance(system), driver(instance, std::move(scheme), options) {
        instance.work.outside = outside;
    }
    Instance instance;
    Driver driver;
    std::unique_ptr<Derivatives> derivatives;  // none until they are asked for
};

}  // namespace mbd
