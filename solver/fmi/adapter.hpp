// What the adapters of all FMI versions share: how a slave comes from the resources of its FMU, and that no exception
// leaves C++.
#pragma once
#include <memory>
#include <string>

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

// What `action` answers of a slave; what the adapter itself could not do (memory) is an error.
template <class Action>
Answer answered(Slave& slave, Action&& action) {
    try {
        return action(slave);
    } catch (...) {
        return Answer::error;
    }
}

}  // namespace mbd::fmi
