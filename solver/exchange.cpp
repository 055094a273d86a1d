#include "exchange.hpp"

#include "bytes.hpp"

namespace mbd {
namespace {

// Gaps die away by exp(-1) in the time in which the model moves by a unit of length or angle over this (T20.11).
constexpr double gain_over_pace = 0.5;
constexpr double least_gain = std::numeric_limits<double>::min();  // of a model at rest
constexpr double changed = 2;                                      // the gain is adapted where it is off by this factor
constexpr double open_enough = 10;      // times the tolerance: then joints are closed at the end of a step
constexpr double least_open = 1e-10;    // what rounding may leave, with a margin
constexpr double greatest_open = 1e-4;  // of the model's length
constexpr double closed = 1e-12;        // what is left as it is at an event
constexpr double at_no_time = std::numeric_limits<double>::max();
constexpr double alike = 1e-9;  // times, relative

}  // namespace

Exchange::Exchange(Instance& instance)
    : instance_(instance),
      system_(instance.system),
      happenings_(
          instance, [this] { accelerate(true); }, [this] { restart(); }),
      index1_(instance.system),
      projection_(instance.system),
      before_(state_count()),
      after_(state_count()),
      gaps_(instance) {}

// ---------------------------------------------------------------- lifecycle

void Exchange::start(double tolerance) {
    State& s = instance_.state;
    s.memory.assign(memory_size(), 0.0);
    memory(TIME) = memory(COMPLETED) = s.t;
    memory(PASSED) = s.t - 2 * instant(s.t);
    memory(TOLERANCE) = tolerance;
    take_quaternions();
    happenings_.forget();
    pass_breaks();
    instance_.restart();
    memory(PACE) = pace();
    for (int k = 0; k < system_.nv; ++k)  // from rest, accelerations show it
        memory(PACE) = std::max(memory(PACE), std::sqrt(std::fabs(s.a[k]) / instance_.unit(k)));
    memory(GAIN) = std::max(gain_over_pace * memory(PACE), least_gain);
    forget_places();
    if (happenings_.any()) happenings_.take_sides();
}

void Exchange::forget_places() { fresh_ = last_.known = earlier_.known = false; }

void Exchange::restore(const State& saved) {
    check(saved, system_);
    if (saved.memory.size() != memory_size()) throw ModelError("the saved state is not one of a model exchange");
    const State before = instance_.state;
    instance_.state = saved;
    try {
        instance_.let_time_run();
        instance_.update();
    } catch (...) {
        instance_.state = before;
        instance_.update();
        throw;
    }
    happenings_.restore(saved);
    forget_places();
}

void Exchange::set_input(int index, double value, double rate) {
    State& s = instance_.state;
    s.u[index] = value, s.udot[index] = rate;
    fresh_ = false;
}

void Exchange::change_parameter(int index, double value) {
    instance_.change_parameter(index, value);
    look_ahead();
    fresh_ = false;
}

// ---------------------------------------------------------------- time and states

// A break has two sides: until it is passed the model sees times right before it, then times right after it.
void Exchange::show_time() {
    const double passed = memory(PASSED), next = memory(NEXT), t = memory(TIME);
    double seen = t;
    if (t >= next - instant(next)) seen = next - instant(next);
    if (t <= passed + instant(passed)) seen = passed + instant(passed);
    if (seen != instance_.state.t) fresh_ = false;
    instance_.state.t = instance_.state.t_input = seen;  // inputs are what they are set to, whatever their rates
}

void Exchange::set_time(double t) {
    memory(TIME) = t;
    show_time();
}

void Exchange::set_states(const double* x) {
    State& s = instance_.state;
    const std::size_t count = state_count();
    for (std::size_t k = 0; k < count; ++k)
        if (!std::isfinite(x[k]))
            throw ModelError("continuous state number " + std::to_string(k + 1) + " is not finite");
    for (int k = 0; k < system_.nv; ++k)
        if (!is_theta(k)) s.q[k] = *x++;
    std::copy_n(x, 4 * system_.spatial_bodies(), quaternions());
    std::copy_n(x, 4 * system_.spatial_bodies(), s.q.data() + system_.nv);
    normalise(system_, s.q.data());
    x += 4 * system_.spatial_bodies();
    std::copy_n(x, system_.nv, s.v.data());
    std::copy_n(x + system_.nv, system_.nx, s.x.data());
    fresh_ = false;
}

void Exchange::set_state(int space, int place, double value) {
    State& s = instance_.state;
    if (space == 1 && place >= system_.nv) {
        quaternions()[place - system_.nv] = value;
        std::copy_n(quaternions(), 4 * system_.spatial_bodies(), s.q.data() + system_.nv);
        normalise(system_, s.q.data());
    } else {
        (space == 1 ? s.q : space == 2 ? s.v : s.x)[place] = value;
    }
    fresh_ = false;
}

void Exchange::states(double* x) const {
    const State& s = instance_.state;
    for (int k = 0; k < system_.nv; ++k)
        if (!is_theta(k)) *x++ = s.q[k];
    x = std::copy_n(quaternions(), 4 * system_.spatial_bodies(), x);
    x = std::copy(s.v.begin(), s.v.end(), x);
    std::copy(s.x.begin(), s.x.end(), x);
}

void Exchange::nominals(double* x) const {
    for (int k = 0; k < system_.nv; ++k)
        if (!is_theta(k)) *x++ = instance_.unit(k);
    x = std::fill_n(x, 4 * system_.spatial_bodies(), 1.0);
    for (int k = 0; k < system_.nv; ++k) *x++ = instance_.unit(k) * std::max(1.0, memory(PACE));
    std::copy(system_.nominal.begin(), system_.nominal.end(), x);
}

void Exchange::take_quaternions() {
    const auto& q = instance_.state.q;
    std::copy(q.begin() + system_.nv, q.end(), quaternions());
}

// ---------------------------------------------------------------- the right side

void Exchange::accelerate(bool with_reactions) {
    with_reactions = with_reactions && !instance_.state.redundancies.empty();
    if (fresh_ && (with_reactions_ || !with_reactions)) return;
    instance_.accelerate(memory(GAIN), with_reactions);
    fresh_ = true, with_reactions_ = with_reactions;
}

void Exchange::evaluate() { accelerate(true); }

// The steps are the integrator's, and what it tries is all that is known of them: from one place to a later one nothing
// passes through a gap (9.6). Where it goes back it has refused a step.
void Exchange::look_at_gaps() {
    if (!gaps_.any()) return;
    const State& s = instance_.state;
    const double t = memory(TIME);
    if (last_.known && last_.t < t) std::swap(last_, earlier_);
    if (earlier_.t >= t) earlier_.known = false;
    last_ = {true, t, s.q, s.v, s.x};
    if (!earlier_.known) return;
    const double clear =
        gaps_.part(earlier_.end(), earlier_.t, last_.end(), t - earlier_.t, memory(TOLERANCE) * instance_.length());
    if (clear == 1) return;
    last_.known = false;
    throw StepFailed("bodies pass through each other or meet unseen between t = " + number(earlier_.t, 6) + " s and " +
                     number(t, 6) + " s: " + gaps_.passed() + "; take smaller steps, of " +
                     number(clear * (t - earlier_.t), 2) + " s there");
}

// Rotations: e' = e o (0, omega)/2 + gain/2 (1 - |e|^2) e, where the norm is stable (T20.12).
void Exchange::derivatives(double* to) {
    look_at_gaps();
    accelerate(false);
    const State& s = instance_.state;
    for (int k = 0; k < system_.nv; ++k)
        if (!is_theta(k)) *to++ = s.v[k];
    for (int b = 0; b < system_.spatial_bodies(); ++b, to += 4) {
        const double* e = quaternions() + 4 * b;
        const Vec omega = load(s.v.data() + 6 * b + 3), u = load(e + 1), d = 0.5 * (e[0] * omega + cross(u, omega));
        const double back = 0.5 * memory(GAIN) * (1 - e[0] * e[0] - dot(u, u));
        to[0] = back * e[0] - 0.5 * dot(u, omega);
        to[1] = back * u.x + d.x, to[2] = back * u.y + d.y, to[3] = back * u.z + d.z;
    }
    to = std::copy(instance_.a.begin(), instance_.a.end(), to);
    std::copy(instance_.xdot.begin(), instance_.xdot.end(), to);
}

// d(theta) = 2 H^T de / |e|, where e' = H omega / 2 (T20.14).
void Exchange::turn(Direction& d) const {
    for (int b = 0; b < system_.spatial_bodies(); ++b) {
        const double *e = quaternions() + 4 * b, *de = d.e.data() + 4 * b;
        const Vec u = load(e + 1), du = load(de + 1);
        const Vec turned = (2 / (e[0] * e[0] + dot(u, u))) * (e[0] * du - de[0] * u - cross(u, du));
        double* to = d.q.data() + 6 * b + 3;
        to[0] = turned.x, to[1] = turned.y, to[2] = turned.z;
    }
}

void Exchange::change_of_derivatives(const Direction& d, const std::vector<double>& a, const std::vector<double>& xdot,
                                     double* to) const {
    for (int k = 0; k < system_.nv; ++k)
        if (!is_theta(k)) *to++ = d.v[k];
    const auto product = [](const double* e, const double* omega, double factor, double* sum) {
        const Vec u = load(e + 1), w = load(omega), turned = e[0] * w + cross(u, w);
        sum[0] -= factor * dot(u, w), sum[1] += factor * turned.x, sum[2] += factor * turned.y,
            sum[3] += factor * turned.z;
    };
    for (int b = 0; b < system_.spatial_bodies(); ++b, to += 4) {
        const double *e = quaternions() + 4 * b, *de = d.e.data() + 4 * b;
        double norm = 0, along = 0;
        for (int k = 0; k < 4; ++k) norm += e[k] * e[k], along += e[k] * de[k];
        for (int k = 0; k < 4; ++k) to[k] = memory(GAIN) * (0.5 * (1 - norm) * de[k] - along * e[k]);
        product(de, instance_.state.v.data() + 6 * b + 3, 0.5, to);
        product(e, d.v.data() + 6 * b + 3, 0.5, to);
    }
    to = std::copy(a.begin(), a.end(), to);
    std::copy(xdot.begin(), xdot.end(), to);
}

// Events are looked for where the joints are closed, as they are at an event: so that closing them brings nothing
// about.
void Exchange::see() {
    if (system_.nc == 0 || drift() <= closed) return happenings_.see();
    struct AsTried {
        Exchange& e;
        ~AsTried() { e.instance_.state = e.tried_, e.fresh_ = false; }
    };
    tried_ = instance_.state;
    const AsTried again{*this};
    project();
    happenings_.see();
}

void Exchange::indicators(double* z) {
    if (!happenings_.any()) return;
    see();
    for (std::size_t k = 0; k < indicator_count(); ++k) z[k] = happenings_.watched(k);
}

// ---------------------------------------------------------------- joints that open

double Exchange::norm_error() const {
    double worst = 0;
    for (int b = 0; b < system_.spatial_bodies(); ++b) {
        const double* e = quaternions() + 4 * b;
        worst = std::max(worst, std::fabs(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3] - 1) / 2);
    }
    return worst;
}

// How far joints are open, in units of length and angle, and how fast they open, over the pace of the motion.
double Exchange::drift() {
    if (system_.nc == 0) return norm_error();
    const State& s = instance_.state;
    index1_.look(instance_, {s.t, s.q.data(), s.v.data(), s.x.data()});
    const double speed = instance_.worst(index1_.velocity.data()).scaled / std::max(pace(), 1.0);
    return std::max({norm_error(), instance_.position_violation().scaled, speed});
}

// The least motion in the metric of the mass, by (T12.7); false where there is none with these rows.
bool Exchange::projected() {
    State& s = instance_.state;
    const Motion m{s.t, s.q.data(), s.v.data(), s.x.data()};
    index1_.lambda = s.lambda, index1_.xdot = s.xdot, index1_.y = s.y;
    return index1_.factorise(instance_, m.place(), s.order) &&
           projection_.arrive(instance_, index1_, m) == Status::done;
}

// Where that fails another choice of rows may be due, as at a pose where joints repeat each other.
void Exchange::project() {
    State& s = instance_.state;
    const auto q = s.q, v = s.v;
    if (system_.nc > 0 && !projected()) {
        s.q = q, s.v = v, instance_.v = v;
        if (!instance_.choose_rows() || !projected()) {
            s.q = q, s.v = v;
            const Violation worst = instance_.position_violation();
            throw StepFailed("the joints could not be closed at t = " + number(s.t) +
                             " s; most open: " + instance_.label(system_.nv + worst.row) + ", " + number(worst.value) +
                             "; take smaller steps, or a smaller tolerance");
        }
    }
    take_quaternions();
    fresh_ = false;
}

// ---------------------------------------------------------------- between steps

// 1/s at which units of length and angle are travelled.
double Exchange::pace() const {
    double most = 0;
    for (int k = 0; k < system_.nv; ++k) most = std::max(most, std::fabs(instance_.state.v[k]) / instance_.unit(k));
    return most;
}

// Follows the pace up at once and down over its own time.
void Exchange::adapt_gain(double elapsed) {
    double& gain = memory(GAIN);
    const double wanted = std::max(gain_over_pace * pace(), gain / (1 + gain * elapsed));
    if (wanted <= changed * gain && gain <= changed * wanted) return;
    gain = wanted;
    fresh_ = false;
}

bool Exchange::completed() {
    State& s = instance_.state;
    accelerate(false);
    instance_.adopt();
    instance_.follow_turns();
    if (instance_.exchange_rows()) fresh_ = false;
    const double elapsed = memory(TIME) - memory(COMPLETED);
    s.last_step = std::max(0.0, elapsed);
    memory(COMPLETED) = memory(TIME);
    bool occurs = false;
    if (happenings_.any()) {
        see();
        occurs = happenings_.excess() > 0;
        if (!occurs) happenings_.remember_sides(s.last_step > 0);
    }
    adapt_gain(s.last_step);
    return occurs || at_break() || drift() > std::clamp(open_enough * memory(TOLERANCE), least_open, greatest_open);
}

void Exchange::look_ahead() {
    memory(NEXT) = std::min(happenings_.next_break(memory(PASSED)).at, at_no_time);
    show_time();
}

// Whether a break waits; environments take times for equal that differ a little.
bool Exchange::at_break() const {
    const double until = memory(TIME) + std::max(instant(memory(TIME)), alike * std::fabs(memory(TIME)));
    return memory(NEXT) < at_no_time && until >= memory(NEXT);
}

// All breaks up to the time; whether there was one.
bool Exchange::pass_breaks() {
    bool passed = false;
    for (look_ahead(); at_break(); look_ahead()) memory(PASSED) = memory(NEXT), passed = true;
    if (passed) instance_.state.restart_pending = true;
    return passed;
}

void Exchange::restart() {
    instance_.restart();
    instance_.state.restart_pending = false;
    take_quaternions();
    fresh_ = false;
}

// Right sides jump at breaks: states that are said to have changed keep integrators from going on with what they have
// computed beyond.
Exchange::Update Exchange::update() {
    states(before_.data());
    const bool passed = pass_breaks();
    if (drift() > closed) project();
    if (instance_.state.restart_pending) restart();
    if (happenings_.found()) happenings_.act();
    instance_.follow_turns();
    adapt_gain(0);
    last_.known = earlier_.known = false;
    states(after_.data());
    return {passed || before_ != after_, memory(NEXT)};
}

}  // namespace mbd
