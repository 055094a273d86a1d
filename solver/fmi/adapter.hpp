// What the adapters of all FMI versions share: how a slave comes from the resources of its FMU, arguments that have to
// be there, numbers of other C types, states behind handles, and that no exception leaves C++.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "../slave.hpp"
#include "resources.hpp"

namespace mbd::fmi {

struct Wish {
    const char* resources;  // where the environment has unpacked them
    const char* guid;       // that it has read in the XML
    Slave::Kind kind;
    bool logging;
};

inline std::unique_ptr<Slave> slave_from(const Wish& wish, const Slave::Hear& hear) {
    if (!wish.resources) throw ModelError("the environment has not said where the FMU's resources are");
    const auto contents = std::make_shared<const Contents>(read_resource(wish.resources, "model.mbd"),
                                                           read_resource(wish.resources, "interface.mbd"));
    const std::string& own = contents->interface.guid;
    if (!wish.guid || own != wish.guid)
        throw ModelError("the guid '" + std::string(wish.guid ? wish.guid : "") + "' is not that of this FMU, '" + own +
                         "': modelDescription.xml and resources belong to different FMUs; unpack the file anew");
    auto slave = std::make_unique<Slave>(contents, wish.kind, hear);
    slave->set_debug_logging(wish.logging, {});
    return slave;
}

// What `make` returns, or null after the reason has been told.
template <class Make>
auto made(const Slave::Hear& hear, Make&& make) -> decltype(make()) {
    const char* category = "logStatusError";
    try {
        return make();
    } catch (const std::exception& reason) {
        hear(Answer::error, category, reason.what());
    } catch (...) {
        hear(Answer::error, category, "unexpected error");
    }
    return nullptr;
}

// What `action` answers of a slave; what the adapter itself refuses or could not do (memory) is an error.
template <class Action>
Answer answered(Slave& slave, Action&& action) {
    try {
        try {
            return action(slave);
        } catch (const std::exception& reason) {
            return slave.refuse(reason.what());
        }
    } catch (...) {
        return Answer::error;
    }
}

// # begins the name of a variable in a message [FMI 2.0, 2.1.5] and a value reference [FMI 3.0, 2.3.1].
inline std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out.append(c == '#' ? 2 : 1, c);
    return out;
}

inline std::vector<std::string> categories(const char* const* texts, std::size_t count) {
    if (count > 0 && (!texts || std::find(texts, texts + count, nullptr) != texts + count))
        throw Refused("log categories are missing");
    return {texts, texts + count};
}

// ---------------------------------------------------------------- numbers of the environment's type

template <class T>
Answer set_as(Slave& s, const std::uint32_t* references, std::size_t count, Interface::Type type, const T* values,
              std::size_t size) {
    if (size > 0 && !values) throw Refused("values are missing");
    if constexpr (std::is_same_v<T, double>) {
        return s.set(references, count, type, values, size);
    } else {
        const std::vector<double> numbers(values, values + size);
        return s.set(references, count, type, numbers.data(), size);
    }
}

// `get` fills `size` numbers.
template <class T, class Get>
Answer get_as(T* values, std::size_t size, Get&& get) {
    if (size > 0 && !values) throw Refused("room for values is missing");
    if constexpr (std::is_same_v<T, double>) {
        return get(values);
    } else {
        std::vector<double> numbers(size);
        const Answer answer = get(numbers.data());
        if (answer == Answer::ok)
            std::transform(numbers.begin(), numbers.end(), values, [](double x) { return static_cast<T>(x); });
        return answer;
    }
}

// ---------------------------------------------------------------- states, of which the environment holds handles

inline Slave::Snapshot* snapshot(void* handle) { return static_cast<Slave::Snapshot*>(handle); }

// What `fill` does to the snapshot behind a handle, or to a new one.
template <class Fill>
Answer filled(void** handle, Fill&& fill) {
    if (!handle) throw Refused("room for the state is missing");
    Slave::Snapshot* to = snapshot(*handle);
    const Answer answer = fill(to);
    *handle = to;
    return answer;
}

inline Answer save_state(Slave& s, void** handle) {
    return filled(handle, [&](Slave::Snapshot*& to) { return s.save(to); });
}
inline Answer read_state(Slave& s, const unsigned char* bytes, std::size_t size, void** handle) {
    return filled(handle, [&](Slave::Snapshot*& to) { return s.read(bytes, size, to); });
}
inline Answer free_state(Slave& s, void** handle) {
    if (!handle) return Answer::ok;
    return filled(handle, [&](Slave::Snapshot*& gone) {
        s.release(gone);
        return Answer::ok;
    });
}
inline Answer size_of_state(Slave& s, void* handle, std::size_t* size) {
    if (!size) throw Refused("room for the size is missing");
    return s.size_of(snapshot(handle), *size);
}

}  // namespace mbd::fmi
