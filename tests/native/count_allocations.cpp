// Counts allocations between steps, of derivatives and of model exchange: once everything has its size, nothing is
// allocated any more. Usage: count_allocations BLOB END_TIME STEP SCHEME OPTION...   (STEP 0 = error-controlled)
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <vector>

#include "driver.hpp"
#include "exchange.hpp"
#include "schemes/table.hpp"
#include "sensitivity.hpp"

static long allocations = 0;

void* operator new(std::size_t size) {
    ++allocations;
    if (void* p = std::malloc(size ? size : 1)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

// Allocations of all derivatives at what is reported, after the first ones.
static long of_derivatives(const mbd::System& system, mbd::Instance& instance) {
    mbd::Sensitivity sensitivity(system);
    const std::vector<double> inputs(system.nu, 1.0), parameters(system.np, 1.0);
    std::vector<double> signals(system.signal_count());
    long before = 0;
    for (int turn = 0; turn < 2; ++turn) {
        instance.report();
        before = allocations;
        sensitivity.look(instance);
        sensitivity.in_time(signals.data());
        mbd::Sensitivity::Direction direction;
        direction.u = inputs.data(), direction.p = parameters.data();
        sensitivity.along(direction, signals.data());
    }
    return allocations - before;
}

// Allocations of explicit Euler steps in the hands of an integrator outside, after the first one.
static long of_exchange(const mbd::System& system, double step) {
    mbd::Instance instance(system);
    mbd::Exchange exchange(instance);
    std::vector<double> x(exchange.state_count()), slope(x.size()), z(exchange.indicator_count());
    instance.start({});
    exchange.start(1e-3);
    exchange.update();
    exchange.states(x.data());
    long before = 0;
    for (int k = 1; k <= 10; ++k) {
        exchange.derivatives(slope.data());
        for (std::size_t j = 0; j < x.size(); ++j) x[j] += step * slope[j];
        exchange.set_time(k * step);
        exchange.set_states(x.data());
        exchange.indicators(z.data());
        exchange.completed();
        if (k == 1) before = allocations;
    }
    return allocations - before;
}

int main(int count, char** argv) {
    std::ifstream file(argv[1], std::ios::binary);
    const std::string blob((std::istreambuf_iterator<char>(file)), {});
    const mbd::System system(reinterpret_cast<const unsigned char*>(blob.data()), blob.size());
    mbd::Instance instance(system);
    mbd::DriverOptions options;
    options.step = std::atof(argv[3]);
    std::vector<double> of_scheme;
    for (int k = 5; k < count; ++k) of_scheme.push_back(std::atof(argv[k]));
    mbd::Driver driver(instance, mbd::make_scheme(argv[4], system, of_scheme), options);
    const double end = std::atof(argv[2]);
    instance.start({});
    driver.start();
    driver.advance(end / 2);
    const long before = allocations, steps = driver.statistics.steps;
    for (int k = 1; k <= 64; ++k) driver.advance(end / 2 + k * (end / 128));
    const long of_steps = allocations - before;
    std::printf("%ld %ld %ld %ld %ld\n", of_steps, driver.statistics.steps - steps, driver.statistics.fallbacks,
                of_derivatives(system, instance), of_exchange(system, 1e-4 * end));
}
