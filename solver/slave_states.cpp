// States of a slave: saved, restored, as bytes.
#include <algorithm>
#include <cmath>

#include "bytes.hpp"
#include "slave_run.hpp"

namespace mbd {

struct Slave::Snapshot {
    std::uint32_t model = 0, interface = 0;
    Kind kind = Kind::co_simulation;
    Mode mode = Mode::instantiated;
    Numbers numbers;
    std::optional<State> state;  // none before the start
};

Answer Slave::save(Snapshot*& to) {
    return attempt(Call::save, [&] {
        if (run_ && !prepares()) tell_inputs();
        Snapshot now{contents_->system.identity, interface_.identity, kind_, mode_, numbers_, std::nullopt};
        if (run_ && !prepares()) now.state = run_->instance.state;
        if (to)
            *to = std::move(now);
        else
            to = new Snapshot(std::move(now));
    });
}

Answer Slave::restore(const Snapshot* from) {
    return attempt(Call::restore, [&] {
        if (!from) throw Refused("there is no state to be restored");
        if (from->model != contents_->system.identity || from->interface != interface_.identity || from->kind != kind_)
            throw Refused("the state to be restored belongs to another FMU");
        std::unique_ptr<Run> fresh;
        const auto same_settings = [&] {
            return from->numbers.tolerance == numbers_.tolerance &&
                   std::all_of(settings_.begin(), settings_.end(), [&](const auto* v) {
                       return from->numbers.given[v->place] == numbers_.given[v->place];
                   });
        };
        const bool same = run_ && same_settings();
        Numbers before = std::exchange(numbers_, from->numbers);
        try {
            if (from->state) {
                if (!same) fresh = made();
                (fresh ? *fresh : *run_).restore(*from->state);
            }
        } catch (...) {
            numbers_ = std::move(before);
            throw;
        }
        if (fresh) run_ = std::move(fresh);
        if (!from->state) run_.reset();
        mode_ = from->mode;
        current_ = false;
        failed_ = 0;
    });
}

void Slave::release(Snapshot*& snapshot) {
    delete snapshot;
    snapshot = nullptr;
}

// ---------------------------------------------------------------- as bytes

namespace {

std::vector<int> as_wholes(const std::vector<char>& flags) { return {flags.begin(), flags.end()}; }

void write_optional(Writer& to, const std::optional<double>& x) {
    to.flag(x.has_value());
    if (x) to.number(*x);
}

std::optional<double> read_optional(Reader& from, const char* what) {
    if (!from.flag(what)) return std::nullopt;
    return from.number(what);
}

std::vector<char> read_flags(Reader& from, const char* what, std::size_t count) {
    std::vector<char> flags;
    for (int x : from.wholes(what)) flags.push_back(x != 0);
    if (flags.size() != count) throw ModelError(std::string("the saved state has another number of ") + what);
    return flags;
}

std::vector<double> read_finite(Reader& from, const char* what, std::size_t count) {
    std::vector<double> values = from.numbers(what);
    if (values.size() != count) throw ModelError(std::string("the saved state has another number of ") + what);
    for (double x : values)
        if (!std::isfinite(x)) throw ModelError(std::string("the saved state has ") + what + " that are not finite");
    return values;
}

}  // namespace

std::vector<unsigned char> Slave::as_bytes(const Snapshot& s) const {
    Writer to;
    to.whole(s.model);
    to.whole(static_cast<int>(s.kind));
    to.whole(static_cast<int>(s.mode));
    to.number(s.numbers.start_time);
    write_optional(to, s.numbers.stop_time);
    write_optional(to, s.numbers.tolerance);
    to.numbers(s.numbers.given);
    to.numbers(s.numbers.slopes);
    to.wholes(as_wholes(s.numbers.fresh));
    to.wholes(as_wholes(s.numbers.waiting));
    to.flag(s.state.has_value());
    if (s.state) mbd::write(*s.state, to);
    return sealed(to.bytes, interface_.identity);
}

Answer Slave::size_of(const Snapshot* snapshot, std::size_t& size) {
    return attempt(Call::save, [&] {
        if (!snapshot) throw Refused("there is no state to be written");
        size = as_bytes(*snapshot).size();
    });
}

Answer Slave::write(const Snapshot* snapshot, unsigned char* to, std::size_t size) {
    return attempt(Call::save, [&] {
        if (!snapshot || !to) throw Refused("there is no state to be written, or no room for it");
        const auto bytes = as_bytes(*snapshot);
        if (bytes.size() > size)
            throw Refused("the state takes " + std::to_string(bytes.size()) + " bytes, found room for " +
                          std::to_string(size));
        std::copy(bytes.begin(), bytes.end(), to);
    });
}

Answer Slave::read(const unsigned char* from, std::size_t size, Snapshot*& to) {
    return attempt(Call::restore, [&] {
        if (!from) throw Refused("there are no bytes of a state");
        auto found = from_bytes(from, size);
        if (to)
            *to = std::move(*found);
        else
            to = found.release();
    });
}

std::unique_ptr<Slave::Snapshot> Slave::from_bytes(const unsigned char* data, std::size_t size) const {
    Reader from = opened(data, size, interface_.identity);
    auto found = std::make_unique<Snapshot>();
    Snapshot& s = *found;
    s.interface = interface_.identity;
    s.model = static_cast<std::uint32_t>(from.whole("model", 0, 0xFFFFFFFFll));
    s.kind = static_cast<Kind>(from.whole("kind", 0, static_cast<int>(Kind::model_exchange)));
    s.mode = static_cast<Mode>(from.whole("mode", 0, static_cast<int>(Mode::terminated)));
    s.numbers.start_time = from.finite("start time");
    s.numbers.stop_time = read_optional(from, "stop time");
    s.numbers.tolerance = read_optional(from, "tolerance");
    s.numbers.given = read_finite(from, "values", interface_.starts.size());
    s.numbers.slopes = read_finite(from, "slopes", input_places_.size());
    s.numbers.fresh = read_flags(from, "slopes", input_places_.size());
    s.numbers.waiting = read_flags(from, "inputs", input_places_.size());
    if (from.flag("state")) s.state = mbd::read(from, contents_->system);
    from.end();
    for (const auto& v : interface_.variables)
        for (int e = 0; v.settable() && e < v.size; ++e) check_value(v, s.numbers.given[v.place + e]);
    const bool begun = s.mode != Mode::instantiated && s.mode != Mode::initialization;
    const Mode of_the_other = s.kind == Kind::co_simulation ? Mode::continuous : Mode::step;
    if (begun != s.state.has_value() || s.mode == of_the_other || s.mode == Mode::foresight || s.mode == Mode::progress)
        throw Refused("the saved state does not fit its mode");
    return found;
}

}  // namespace mbd
