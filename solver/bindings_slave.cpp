// The neutral slave in Python: calls give their answer as a number (that of fmi2Status), what has been said waits in
// `messages`. A state is its bytes; nothing in Python owns one.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <utility>

#include "bindings.hpp"
#include "slave.hpp"

using namespace nanobind::literals;
using namespace mbd;

namespace {

using References = std::vector<std::int64_t>;  // pythonfmu hands on those beyond 2^31 as negative numbers
using Doubles = std::vector<double>;
using Message = std::tuple<int, std::string, std::string>;  // answer, category, text

std::vector<unsigned char> copy(const nb::bytes& bytes) {
    const auto* data = static_cast<const unsigned char*>(bytes.data());
    return {data, data + bytes.size()};
}

std::vector<std::uint32_t> wrapped(const References& references) {
    std::vector<std::uint32_t> out;
    for (std::int64_t r : references) out.push_back(static_cast<std::uint32_t>(r));
    return out;
}

// As Python prints it, with what it was raised from: there the user's function is.
std::string traceback(const nb::python_error& error) {
    const nb::object lines = nb::module_::import_("traceback").attr("format_exception")(error.value());
    const auto text = nb::cast<nb::bytes>(nb::str("").attr("join")(lines).attr("encode")("utf-8", "replace"));
    return {text.c_str(), text.size()};
}

class PythonSlave {
public:
    PythonSlave(const nb::bytes& model, const nb::bytes& interface, std::vector<nb::callable> functions)
        : contents_(std::make_shared<const Contents>(copy(model), copy(interface))),
          callables_(contents_->system, std::move(functions)),
          slave_(
              contents_, Slave::Kind::co_simulation,
              [this](Answer answer, const char* category, const std::string& text) {
                  heard_.emplace_back(static_cast<int>(answer), category, text);
              },
              callables_.outside()) {}
    PythonSlave(const PythonSlave&) = delete;
    PythonSlave& operator=(const PythonSlave&) = delete;

    // Calls the slave without the GIL; the exception of a function that made it fail is said with its traceback.
    template <class Call>
    int answer(Call&& call) {
        Answer found = Answer::ok;
        callables_.run([&] { found = call(slave_); });
        if (found >= Answer::discard && callables_.raised())
            heard_.emplace_back(static_cast<int>(found), "logStatusError", traceback(*callables_.raised()));
        return static_cast<int>(found);
    }

    std::vector<Message> messages() { return std::exchange(heard_, {}); }
    const Slave& slave() const { return slave_; }
    const Interface& interface() const { return contents_->interface; }

private:
    std::shared_ptr<const Contents> contents_;
    Callables callables_;
    std::vector<Message> heard_;
    Slave slave_;
};

// Where `get` fails, its values are nan.
auto get(PythonSlave& s, const References& references, Interface::Type type) {
    const auto known = wrapped(references);
    Doubles values(known.size(), std::numeric_limits<double>::quiet_NaN());
    const int answer = s.answer(
        [&](Slave& slave) { return slave.get(known.data(), known.size(), type, values.data(), values.size()); });
    return std::make_pair(answer, values);
}

int set(PythonSlave& s, const References& references, Interface::Type type, const Doubles& values) {
    const auto known = wrapped(references);
    return s.answer(
        [&](Slave& slave) { return slave.set(known.data(), known.size(), type, values.data(), values.size()); });
}

auto get_texts(PythonSlave& s, const References& references) {
    const auto known = wrapped(references);
    std::vector<const char*> values(known.size(), "");
    const int answer =
        s.answer([&](Slave& slave) { return slave.get_texts(known.data(), known.size(), values.data()); });
    return std::make_pair(answer, std::vector<std::string>(values.begin(), values.end()));
}

int set_texts(PythonSlave& s, const References& references, const std::vector<std::string>& values) {
    const auto known = wrapped(references);
    if (values.size() != known.size()) throw ModelError("there are more or fewer texts than references");
    std::vector<const char*> texts;
    for (const auto& value : values) texts.push_back(value.c_str());
    return s.answer([&](Slave& slave) { return slave.set_texts(known.data(), known.size(), texts.data()); });
}

int set_slopes(PythonSlave& s, const References& references, const std::vector<int>& orders, const Doubles& values) {
    const auto known = wrapped(references);
    if (orders.size() != known.size()) throw ModelError("there are more or fewer orders than references");
    return s.answer([&](Slave& slave) {
        return slave.set_slopes(known.data(), known.size(), orders.data(), values.data(), values.size());
    });
}

auto get_rates(PythonSlave& s, const References& references, const std::vector<int>& orders) {
    const auto known = wrapped(references);
    if (orders.size() != known.size()) throw ModelError("there are more or fewer orders than references");
    Doubles values(known.size(), std::numeric_limits<double>::quiet_NaN());
    const int answer = s.answer([&](Slave& slave) {
        return slave.get_rates(known.data(), known.size(), orders.data(), values.data(), values.size());
    });
    return std::make_pair(answer, values);
}

auto differentiate(PythonSlave& s, const References& unknowns, const References& knowns, const Doubles& seed) {
    const auto of = wrapped(unknowns), by = wrapped(knowns);
    Doubles values(of.size(), std::numeric_limits<double>::quiet_NaN());
    const int answer = s.answer([&](Slave& slave) {
        return slave.differentiate(of.data(), of.size(), by.data(), by.size(), seed.data(), seed.size(), values.data(),
                                   values.size());
    });
    return std::make_pair(answer, values);
}

// Empty where there is no state to be saved.
auto save(PythonSlave& s) {
    std::vector<unsigned char> bytes;
    const int answer = s.answer([&](Slave& slave) {
        Slave::Snapshot* snapshot = nullptr;
        std::size_t size = 0;
        Answer found = slave.save(snapshot);
        if (found == Answer::ok) found = slave.size_of(snapshot, size);
        bytes.resize(size);
        if (found == Answer::ok) found = slave.write(snapshot, bytes.data(), size);
        slave.release(snapshot);
        return found;
    });
    return std::make_pair(answer, nb::bytes(bytes.data(), bytes.size()));
}

int restore(PythonSlave& s, const nb::bytes& state) {
    const auto bytes = copy(state);
    return s.answer([&](Slave& slave) {
        Slave::Snapshot* snapshot = nullptr;
        Answer found = slave.read(bytes.data(), bytes.size(), snapshot);
        if (found == Answer::ok) found = slave.restore(snapshot);
        slave.release(snapshot);
        return found;
    });
}

int setup(PythonSlave& s, double start_time, std::optional<double> stop_time, std::optional<double> tolerance) {
    return s.answer([&](Slave& slave) { return slave.setup(start_time, stop_time, tolerance); });
}

int do_step(PythonSlave& s, double time, double size) {
    return s.answer([&](Slave& slave) { return slave.do_step(time, size); });
}

int set_debug_logging(PythonSlave& s, bool on, const std::vector<std::string>& categories) {
    return s.answer([&](Slave& slave) { return slave.set_debug_logging(on, categories); });
}

template <Answer (Slave::*call)()>
int plain(PythonSlave& s) {
    return s.answer([](Slave& slave) { return (slave.*call)(); });
}

}  // namespace

void mbd::bind_slave(nb::module_& m) {
    nb::enum_<Interface::Type>(m, "Type")
        .value("real", Interface::Type::real)
        .value("integer", Interface::Type::integer)
        .value("boolean", Interface::Type::boolean);

    nb::class_<PythonSlave>(m, "Slave")
        .def(nb::init<nb::bytes, nb::bytes, std::vector<nb::callable>>(), "model"_a, "interface"_a,
             "functions"_a = std::vector<nb::callable>{})
        .def_prop_ro("model", [](const PythonSlave& s) { return s.interface().model; })
        .def_prop_ro("guid", [](const PythonSlave& s) { return s.interface().guid; })
        .def_prop_ro("tool", [](const PythonSlave& s) { return s.interface().tool; })
        .def_prop_ro("time", [](const PythonSlave& s) { return s.slave().time(); })
        .def("messages", &PythonSlave::messages)
        .def("set_debug_logging", &set_debug_logging, "on"_a, "categories"_a)
        .def("setup", &setup, "start_time"_a, "stop_time"_a = nb::none(), "tolerance"_a = nb::none())
        .def("enter_initialization", &plain<&Slave::enter_initialization>)
        .def("exit_initialization", &plain<&Slave::exit_initialization>)
        .def("terminate", &plain<&Slave::terminate>)
        .def("reset", &plain<&Slave::reset>)
        .def("get", &get, "references"_a, "type"_a)
        .def("set", &set, "references"_a, "type"_a, "values"_a)
        .def("get_texts", &get_texts, "references"_a)
        .def("set_texts", &set_texts, "references"_a, "values"_a)
        .def("set_slopes", &set_slopes, "references"_a, "orders"_a, "values"_a)
        .def("get_rates", &get_rates, "references"_a, "orders"_a)
        .def("differentiate", &differentiate, "unknowns"_a, "knowns"_a, "seed"_a)
        .def("do_step", &do_step, "time"_a, "size"_a)
        .def("save", &save)
        .def("restore", &restore, "state"_a);
}
