// One instance of an exported model behind any FMI: lifecycle, get and set, steps with rollback, states as values and
// as bytes. Knows no FMI function, no file and no Python; whatever goes wrong becomes an Answer and a message.
//
// Inputs act at once: what is read between two steps belongs to the inputs as they are set. A slope that is set holds
// for the next step; after that the input goes on by its rate, which is a variable where the model feels it, else 0.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver.hpp"
#include "interface.hpp"

namespace mbd {

class Exchange;

// What the resources of an FMU hold; const, and so to be shared by instances.
struct Contents {
    using Bytes = std::vector<unsigned char>;
    Contents(const Bytes& model, const Bytes& interface);
    const System system;
    const Interface interface;
};

enum class Answer { ok, warning, discard, error, fatal };  // numbers of fmi2Status and fmi3Status

// Something that the environment may not do now or not in this way; nothing has changed.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Slave {
public:
    enum class Kind { co_simulation, model_exchange };
    // `step` is the step mode of co-simulation; foresight and progress: within a step, while the environment is asked
    // for inputs to come or told of an internal step; `broken`: an unexpected error left the instance in an unknown
    // state
    enum class Mode { instantiated, initialization, step, event, continuous, foresight, progress, terminated, broken };
    // What the environment may call; slave.cpp has the table of the modes in which each is allowed.
    enum class Call {
        setup,
        enter_initialization,
        exit_initialization,
        get,
        get_starts,
        set,
        set_slopes,
        get_rates,
        do_step,
        get_status,
        interrupt,
        handle_events,
        resume,
        differentiate,
        save,
        restore,
        reset,
        terminate,
        enter_event,
        discrete_states,
        enter_continuous,
        completed_step,
        set_time,
        set_continuous_states,
        get_derivatives,
        get_event_indicators,
        get_continuous_states,
        get_nominals,
    };
    // Hears messages: answer, category (logStatusError, logStatusWarning, logStatusDiscard, logStatusFatal, logEvents,
    // logSolver), text.
    using Hear = std::function<void(Answer, const char* category, const std::string& text)>;

    Slave(std::shared_ptr<const Contents> contents, Kind kind, Hear hear, Outside outside = {});
    ~Slave();
    Slave(const Slave&) = delete;
    Slave& operator=(const Slave&) = delete;

    // ---- lifecycle
    Answer setup(double start_time, std::optional<double> stop_time, std::optional<double> tolerance);
    Answer enter_initialization();
    Answer exit_initialization();
    Answer terminate();
    Answer reset();

    // ---- values: doubles whatever the type is (booleans 0 or 1, enumerations from 1), arrays element after element
    Answer get(const std::uint32_t* references, std::size_t count, Interface::Type type, double* values,
               std::size_t values_count);
    Answer set(const std::uint32_t* references, std::size_t count, Interface::Type type, const double* values,
               std::size_t values_count);
    // of what has them, before anything is computed (FMI 3)
    Answer get_starts(const std::uint32_t* references, std::size_t count, Interface::Type type, double* values,
                      std::size_t values_count);
    Answer get_texts(const std::uint32_t* references, std::size_t count, const char** values);
    Answer set_texts(const std::uint32_t* references, std::size_t count, const char* const* values);
    // time derivatives of inputs, of order 1
    Answer set_slopes(const std::uint32_t* references, std::size_t count, const int* orders, const double* values,
                      std::size_t values_count);
    // time derivatives of outputs, of order 1
    Answer get_rates(const std::uint32_t* references, std::size_t count, const int* orders, double* values,
                     std::size_t values_count);
    // values := d unknowns / d knowns * seed
    Answer differentiate(const std::uint32_t* unknowns, std::size_t unknown_count, const std::uint32_t* knowns,
                         std::size_t known_count, const double* seed, std::size_t seed_count, double* values,
                         std::size_t values_count);
    // values := (d unknowns / d knowns)^T seed
    Answer differentiate_adjoint(const std::uint32_t* unknowns, std::size_t unknown_count, const std::uint32_t* knowns,
                                 std::size_t known_count, const double* seed, std::size_t seed_count, double* values,
                                 std::size_t values_count);

    // ---- steps
    Answer do_step(double time, double size);
    double time() const;
    Mode mode() const { return mode_; }

    // ---- steps with pauses, and the event mode of co-simulation (FMI 3; slave_pauses.cpp)
    struct Pauses {
        bool at_events = false;  // the step may end where something occurs
        // Before every internal step, at the time where it is likely to end: inputs that are set then go there
        // straight.
        std::function<void(double ahead)> before;
        // After every internal step; returns the time up to which the step shall go on, at most.
        std::function<double(double time)> after;
    };
    struct Reached {
        double time = 0;
        bool early = false, event_waits = false;
    };
    Answer do_step(double time, double size, const Pauses& pauses, Reached& reached);
    // Events at which a step ends happen in the event mode only, when the environment says so.
    void use_event_mode(bool on) { event_mode_ = on; }
    Answer enter_event_mode();
    Answer update_discrete_states();
    Answer enter_step_mode();

    // ---- model exchange (slave_exchange.cpp)
    Answer enter_event();
    Answer enter_continuous();
    // Lets happen what occurs; `next_time`: when something jumps next at the latest, the largest number where
    // nothing is known.
    Answer discrete_states(bool& states_changed, double& next_time);
    Answer completed_step(bool& event_wanted);
    Answer set_time(double time);
    Answer set_continuous_states(const double* values, std::size_t count);
    Answer get_continuous_states(double* values, std::size_t count);
    Answer get_nominals(double* values, std::size_t count);
    Answer get_derivatives(double* values, std::size_t count);
    Answer get_event_indicators(double* values, std::size_t count);

    // ---- states
    struct Snapshot;             // all that the continuation depends on
    Answer save(Snapshot*& to);  // makes one where `to` is null, else overwrites it
    Answer restore(const Snapshot* from);
    void release(Snapshot*& snapshot);
    Answer size_of(const Snapshot* snapshot, std::size_t& size);
    Answer write(const Snapshot* snapshot, unsigned char* to, std::size_t size);
    Answer read(const unsigned char* from, std::size_t size, Snapshot*& to);

    // ---- messages
    // Which debugging categories are heard (none named: all); messages about failures always are.
    Answer set_debug_logging(bool on, const std::vector<std::string>& categories);
    Answer refuse(const std::string& why);  // says why; error
    Answer lack(const std::string& what);   // says what there is not; discard
    // Runs `action`, which may be called in the modes of `call`; whatever it throws becomes an answer and a message.
    template <class Action>
    Answer attempt(Call call, Action&& action) {
        try {
            admit(call);
            action();
            return Answer::ok;
        } catch (...) {
            return translated();
        }
    }

    const Contents& contents() const { return *contents_; }

private:
    struct Run;
    struct Derivatives;
    struct Numbers {  // that the environment has set
        double start_time = 0;
        std::optional<double> stop_time, tolerance;
        std::vector<double> given;   // of every variable that can be set; inputs as they were when they were set
        std::vector<double> slopes;  // of inputs, as they are now
        std::vector<char> fresh;     // slopes that have been set for the next step, whatever the rates are
        std::vector<char> waiting;   // inputs that the solver has not been told of
    };

    std::shared_ptr<const Contents> contents_;
    const Interface& interface_;
    Kind kind_;
    Hear hear_;
    Outside outside_;
    Mode mode_ = Mode::instantiated;
    bool event_mode_ = false;  // is used by the environment
    std::vector<const Interface::Variable*> settings_;
    std::vector<int> input_places_, rate_places_;  // of the inputs and their rates, among what can be set; or -1
    std::vector<int> unfelt_;                      // how often inputs have been moved without a rate
    Numbers numbers_;
    std::unique_ptr<Run> run_;     // none until something asks for results
    std::vector<double> signals_;  // at the present time
    bool current_ = false;         // whether they are
    State before_;                 // what all_or_nothing() does
    double failed_ = 0;            // size of the step that was taken back, unless something has changed since
    bool hears_events_ = false, hears_solver_ = false;
    std::size_t told_ = 0;  // occurrences

    void admit(Call call) const;
    Answer translated();
    void say(Answer answer, const char* category, const std::string& text);
    Numbers standard() const;

    // ---- variables
    using Found = std::vector<const Interface::Variable*>;
    const Interface::Variable& variable(std::uint32_t reference, Interface::Type type) const;
    Found variables(const std::uint32_t* references, std::size_t count, Interface::Type type,
                    std::size_t elements) const;
    void check_settable(const Interface::Variable& v) const;
    void check_value(const Interface::Variable& v, double value) const;
    void take(const Interface::Variable& v, const double* values);
    template <class Change>
    void move(const Interface::Variable& v, Change&& change);
    void change_parameters(const Found& found, const double* values);
    double value_of(const Interface::Variable& v, int element);
    [[noreturn]] void refuse_odd(const Interface::Variable& v, int element, double value);
    double input(int index) const;
    double rate_given(std::size_t index) const;
    void lead(int index, double slope);
    void warn_of_unfelt(std::size_t index);
    double setting(Interface::Setting which) const { return numbers_.given[settings_[which]->place]; }
    bool is_changed(const Interface::Variable& v, int element = 0) const;

    // ---- the run
    bool prepares() const { return mode_ == Mode::instantiated || mode_ == Mode::initialization; }
    Run& run();  // started where it is not
    std::unique_ptr<Run> made() const;
    const std::string& scheme() const;
    bool follows_tolerance() const;
    DriverOptions driver_options() const;
    std::vector<double> scheme_options() const;
    double option_value(const Interface::Option& wanted, const Interface::Variable& v) const;
    StartOptions start_options(Run& run) const;
    void forget();
    template <class Action>
    void all_or_nothing(Action&& action);  // where it fails, the state of the run is what it was
    void tell_inputs();
    void hold_inputs();
    const std::vector<double>& signals();
    void check_step(double time, double size) const;
    void advance(double to, const Pauses& pauses);
    void advance_pausing(double to, const Pauses& pauses);
    void pause(Mode mode, const std::function<void()>& call);
    void lead_inputs(double ahead);
    void check_no_event_waits(const char* what) const;
    void tell_events();
    void tell_gaps();
    std::string statistics() const;

    Derivatives& derivatives();  // at the present point
    void check_computed(const Interface::Variable& v) const;
    std::vector<unsigned char> as_bytes(const Snapshot& s) const;
    std::unique_ptr<Snapshot> from_bytes(const unsigned char* data, std::size_t size) const;

    // ---- model exchange
    std::vector<double> rates_;  // of continuous states, for one call of get()
    Exchange& exchange();
    template <class Action>
    Answer exchanged(Call call, Action&& action);
    double rate(int index);
    bool gives_state(const Interface::Variable& v) const;
    void set_state(const Interface::Variable& v, double value);
    bool is_quaternion(const Interface::Variable& v) const;
    double quaternion(const Interface::Variable& v);
};

}  // namespace mbd
