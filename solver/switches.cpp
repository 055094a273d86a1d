// Rows that are on or off and states that are set: what an Instance does about them, and impacts (docs/theory.md,
// chapter 9).
#include "switches.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "instance.hpp"

namespace mbd {
namespace {

constexpr double pulls = 1e-9;  // of the largest reaction: less is rounding

[[noreturn]] void damaged(const char* what) { throw ModelError(std::string("compiled model: ") + what); }

}  // namespace

Switches::Switches(const Blob& blob, int rows, int constants, int states) {
    inactive = blob.ints("inactive");
    for (std::size_t k = 0; k < inactive.size(); ++k)
        if (inactive[k] < 0 || inactive[k] >= rows || (k > 0 && inactive[k] <= inactive[k - 1]))
            damaged("a row that is switched off is not there");

    std::istringstream names(blob.text("evnames"));
    const auto table = blob.ints("evtable");
    std::size_t k = 0;
    for (std::string name; std::getline(names, name) && k + 4 <= table.size(); k += 4) {
        const Indicator one{name, table[k], table[k + 1] != 0, table[k + 2], table[k + 3]};
        if (one.kind < 0 || one.kind >= KINDS) damaged("an event is of no known kind");
        if (one.kind == IMPACT && (one.row < 0 || one.row >= rows || one.at < 0 || one.at > constants - 2))
            damaged("an impact refers to what is not there");
        if (one.kind != IMPACT && impacts > 0) damaged("impacts are not the last of the events");
        impacts += one.kind == IMPACT;
        indicators.push_back(one);
    }
    if (k != table.size()) damaged("the table of events has the wrong size");

    const auto raw = blob.ints("actions");
    if (raw.size() % 3) damaged("the table of actions is cut short");
    for (std::size_t a = 0; a < raw.size(); a += 3) {
        if (raw[a] < 0 || raw[a] >= static_cast<int>(indicators.size()) || raw[a + 1] < 0 || raw[a + 1] >= rows)
            damaged("an action refers to what is not there");
        actions.push_back({raw[a], raw[a + 1], raw[a + 2] != 0});
    }

    read_settings(blob, states);
}

void Switches::read_settings(const Blob& blob, int states) {
    std::istringstream labels(blob.text("setlabels"));
    const auto table = blob.ints("setstates");
    std::size_t k = 0;
    for (std::string label; std::getline(labels, label) && k + 2 <= table.size(); k += 2) {
        const Setting one{table[k], table[k + 1], label};
        const int least = settings.empty() ? 0 : settings.back().indicator;
        if (one.indicator < least || one.indicator >= static_cast<int>(indicators.size()) ||
            indicators[one.indicator].kind != EVENT || one.state < 0 || one.state >= states)
            damaged("an event sets what is not there");
        settings.push_back(one);
    }
    if (k != table.size()) damaged("the table of what events set has the wrong size");
}

bool Switches::sets(int indicator) const {
    return std::any_of(settings.begin(), settings.end(), [&](const Setting& s) { return s.indicator == indicator; });
}

// ---------------------------------------------------------------- states that are set

// All values are computed before the first of them counts; where one is not finite, none does.
void Instance::set_states(int indicator) {
    const auto& all = system.switches.settings;
    settings_.resize(all.size());
    system.settings(state_point(), work, settings_.data());
    for (std::size_t k = 0; k < all.size(); ++k)
        if (all[k].indicator == indicator && !std::isfinite(settings_[k]))
            throw StepFailed(all[k].label + " is not finite at t = " + number(state.t, 6) +
                             " s: " + system.culprit_of_setting(work, static_cast<int>(k)) +
                             "; keep it within what it is defined for, by max(), if() or another value");
    for (std::size_t k = 0; k < all.size(); ++k)
        if (all[k].indicator == indicator) state.x[all[k].state] = settings_[k];
}

// ---------------------------------------------------------------- rows on and off

bool Instance::is_active(int row) const {
    return state.inactive.empty() || !std::binary_search(state.inactive.begin(), state.inactive.end(), system.nv + row);
}

// The unknowns left out are those of rows that are off and of rows that repeat others.
void Instance::leave_out() {
    state.dropped = state.inactive;
    for (const auto& r : state.redundancies) state.dropped.push_back(system.nv + r.row);
    std::sort(state.dropped.begin(), state.dropped.end());
}

std::vector<int> Instance::repeating() const {
    std::vector<int> unknowns;
    for (int k : state.dropped)
        if (is_active(k - system.nv)) unknowns.push_back(k);
    return unknowns;
}

// A row at position level that is switched on holds what is there now (T9.1), once the joints are closed.
void Instance::switch_row(int row, bool on) {
    if (is_active(row) == on) return;
    const int unknown = system.nv + row;
    const auto place = std::lower_bound(state.inactive.begin(), state.inactive.end(), unknown);
    if (on) {
        phi_.resize(system.nc);
        if (!closed_pose_.empty()) state.q.swap(closed_pose_);
        system.constraints(state_point(), work, phi_.data());
        if (!closed_pose_.empty()) state.q.swap(closed_pose_);
        state.hold[row] = phi_[row];
        state.inactive.erase(place);
    } else {
        state.hold[row] = state.lambda[row] = 0;
        state.inactive.insert(place, unknown);
        auto& r = state.redundancies;
        r.erase(std::remove_if(r.begin(), r.end(), [&](const Redundancy& one) { return one.row == row; }), r.end());
    }
    leave_out();
}

// Whether an indicator is that of a contact at rest.
bool Instance::rests(const Switches::Indicator& one) const {
    return one.kind == Switches::IMPACT && is_active(one.row);
}

// Whether what indicators say depends on what is reported.
bool Instance::indicators_are_reported() const {
    const auto& all = system.switches.indicators;
    return std::any_of(all.begin(), all.end(), [&](const auto& one) { return is_reported(one); });
}

double Instance::largest_reaction() const {
    double largest = 0;
    for (double l : lambda) largest = std::max(largest, std::fabs(l));
    return largest;
}

// Indicators at the state. That of a contact at rest is what it would have to pull, or that it ends there.
void Instance::indicators(double* out) {
    const auto& all = system.switches.indicators;
    const std::size_t first = all.size() - system.switches.impacts;
    indicators_.resize(system.switches.outputs());
    system.indicators(state_point(), work, indicators_.data());
    std::copy_n(indicators_.begin(), all.size(), out);
    const double largest = largest_reaction();
    for (std::size_t k = first; k < all.size(); ++k)
        if (rests(all[k])) out[k] = std::max(lambda[all[k].row] - pulls * largest, indicators_[all.size() + k - first]);
}

// ---------------------------------------------------------------- impacts

struct Instance::Contact {
    int row;
    bool hits;           // now; or it rests already
    bool touches;        // takes part: what would have to pull lets go
    double speed;        // of the gap before, m/s; negative towards each other
    double restitution;  // 0 where it comes to rest
    double rest_speed;
    bool stays = false;  // although it would have to pull: it would part too slowly
    double asked() const { return hits ? -restitution * speed : 0; }  // speed of the gap after
};

std::vector<Instance::Contact> Instance::contacts(const std::vector<int>& hitting) {
    std::vector<Contact> found;
    for (const auto& one : system.switches.indicators)
        if (one.kind == Switches::IMPACT && is_active(one.row))
            found.push_back({one.row, false, true, 0, 0, constants[one.at + 1]});
    v = state.v;
    system.rates(state_point(), work, index1_.velocity.data(), index1_.gamma.data());
    for (int k : hitting) {
        const auto& one = system.switches.indicators[k];
        const double e = std::clamp(constants[one.at], 0.0, 1.0), rest_speed = constants[one.at + 1];
        const double u = index1_.velocity[one.row];
        found.push_back({one.row, true, true, u, -e * u < rest_speed ? 0 : e, rest_speed});
    }
    return found;
}

// [M G^T; G 0] [dv; impulse] = [0; -(G v + Phi_t)], where rows that hit ask for -(1 + e) times their speed (T9.3).
void Instance::exchange_impulses(const std::vector<Contact>& contacts) {
    for (const auto& c : contacts) switch_row(c.row, c.touches);
    choose_rows();
    v = state.v;
    system.rates(state_point(), work, index1_.velocity.data(), index1_.gamma.data());
    evaluate_index1();
    factorise_index1();
    std::fill(unknowns_.begin(), unknowns_.end(), 0.0);
    for (int k = 0; k < system.nc; ++k) unknowns_[system.nv + k] = -index1_.velocity[k];
    for (const auto& c : contacts)
        if (c.hits) unknowns_[system.nv + c.row] = -(1 + c.restitution) * c.speed;
    mask_rows(unknowns_.data());
    solve(index1_.factor, unknowns_.data());
    for (int k = 0; k < system.nv; ++k) v[k] += unknowns_[k];
}

// Lets go, one after the other, of contacts that would have to pull. In a plastic impact one that would part more
// slowly than it may rest stays: else contacts at rest would set each other off, ever faster.
void Instance::push_only(std::vector<Contact>& contacts) {
    const auto bounces = [](const Contact& c) { return c.restitution > 0; };
    const bool plastic = std::none_of(contacts.begin(), contacts.end(), bounces);
    for (;;) {
        exchange_impulses(contacts);
        if (Contact* unfit = at_odds(contacts)) {
            unfit->touches = false;
            continue;
        }
        Contact* worst = pulled(contacts);
        if (worst == nullptr) return;
        worst->touches = false;
        if (!plastic) continue;
        exchange_impulses(contacts);
        system.rates(state_point(), work, index1_.velocity.data(), index1_.gamma.data());
        if (index1_.velocity[worst->row] < worst->rest_speed) worst->touches = worst->stays = true;
    }
}

// A contact whose row repeats others has no impulse of its own. Where these make its gap open faster than it asks for,
// it parts; where they keep it from doing so, the one that does it most has to let go: a body that rests on a table
// which sinks below the ground hits the ground and parts from the table. Null where all fits.
Instance::Contact* Instance::at_odds(std::vector<Contact>& contacts) {
    if (state.redundancies.empty()) return nullptr;
    system.rates(state_point(), work, index1_.velocity.data(), index1_.gamma.data());
    double fastest = 0;
    for (const auto& c : contacts) fastest = std::max(fastest, std::fabs(c.speed));
    for (auto& c : contacts) {
        const double misfit = index1_.velocity[c.row] - c.asked();
        if (!c.touches || !is_left_out(c.row) || std::fabs(misfit) <= pulls * fastest) continue;
        Contact* const unfit = misfit > 0 ? &c : opposed(contacts, c.row);
        if (unfit != nullptr) return unfit;
    }
    return nullptr;
}

// Of the contacts that a row repeats, the one by which it opens most where that opens.
Instance::Contact* Instance::opposed(std::vector<Contact>& contacts, int row) const {
    double most = 0;
    Contact* found = nullptr;
    for (const auto& r : state.redundancies)
        for (const auto& [kept, factor] : r.repeats)
            for (auto& c : contacts)
                if (r.row == row && c.row == kept && c.touches && factor > most) most = factor, found = &c;
    return found;
}

// The contact that pulls most at the last exchange; null where none does.
Instance::Contact* Instance::pulled(std::vector<Contact>& contacts) const {
    const double* impulse = unknowns_.data() + system.nv;
    double most = 0;
    for (int k = 0; k < system.nc; ++k) most = std::max(most, pulls * std::fabs(impulse[k]));
    Contact* worst = nullptr;
    for (auto& c : contacts)
        if (c.touches && !c.stays && impulse[c.row] > most) most = impulse[c.row], worst = &c;
    return worst;
}

// No contact pulls, and all that hit close their gaps, so that each takes energy or none (T9.4); a plastic impact is a
// projection, which adds none either.
void Instance::collide(const std::vector<int>& hitting) {
    std::vector<Contact> all = contacts(hitting);
    push_only(all);
    state.v = v;
    for (const auto& c : all)
        if (c.hits && c.restitution > 0) switch_row(c.row, false);
}

}  // namespace mbd
