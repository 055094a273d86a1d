// What a Slave runs, for the files that Slave is written in.
#pragma once
#include "slave.hpp"

namespace mbd {

// An instance of the model and what advances it.
struct Slave::Run {
    Run(const System& system, std::unique_ptr<Scheme> scheme, const DriverOptions& options, const Outside& outside)
        : instance(system), driver(instance, std::move(scheme), options) {
        instance.work.outside = outside;
    }
    Instance instance;
    Driver driver;
};

}  // namespace mbd
