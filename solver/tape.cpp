#include "tape.hpp"

#include <algorithm>
#include <cmath>

namespace mbd {
namespace {

// Numbers are shared with mbdfmu/expressions/opcodes.py.
enum Op : std::int32_t {
    CONST,
    LOAD,
    ADD,
    SUB,
    MUL,
    DIV,
    NEG,
    POW,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    ATAN2,
    SINH,
    COSH,
    TANH,
    EXP,
    LOG,
    SQRT,
    ABS,
    SIGN,
    MIN,
    MAX,
    SELECT,
    LT,
    LE,
    EQ,
    AND,
    OR,
    NOT,
    FLOOR,
    SQUARE,
    LOOKUP,
    ALL,
    ANY,
    OPS
};

constexpr int arity[OPS] = {0, 0, 2, 2, 2, 2, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1,
                            1, 1, 1, 1, 2, 2, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2};

constexpr const char* written[OPS] = {"",     "",     "+",     "-",      "*",      "/",    "-",    "^",    "sin", "cos",
                                      "tan",  "asin", "acos",  "atan",   "atan2",  "sinh", "cosh", "tanh", "exp", "log",
                                      "sqrt", "abs",  "sign",  "min",    "max",    "if",   "<",    "<=",   "==",  "and",
                                      "or",   "not",  "floor", "square", "lookup", "and",  "or"};

// What has no value (nan) decides nothing: what is decided by it has no value either, so that a root of something
// negative is found where the result is used. Only the other side of `and` and `or` may make up for it.
bool known(double a) { return a == a; }

double truth(bool holds, double a, double b) { return holds ? 1 : known(a) && known(b) ? 0 : a + b; }

double sign(double a) { return known(a) ? (a > 0) - (a < 0) : a; }

double smaller(double a, double b) { return b < a || !known(b) ? b : a; }

double larger(double a, double b) { return b > a || !known(b) ? b : a; }

// Indicators of `and` and `or`, positive where they are true: one side may decide alone.
double all_of(double a, double b) {
    const double one = known(a) ? a : b;
    return known(a) && known(b) ? smaller(a, b) : one <= 0 ? one : a + b;
}

double any_of(double a, double b) {
    const double one = known(a) ? a : b;
    return known(a) && known(b) ? larger(a, b) : one > 0 ? one : a + b;
}

double select(double condition, double a, double b) { return condition == 0 ? b : known(condition) ? a : condition; }

double both(double a, double b) { return a == 0 || b == 0 ? 0 : known(a) && known(b) ? 1 : a + b; }

double either(double a, double b) {
    const bool first = a != 0 && known(a), second = b != 0 && known(b);
    return first || second ? 1 : known(a) && known(b) ? 0 : a + b;
}

}  // namespace

Tape::Tape(const Blob& blob, const std::string& name, const Spaces& sizes) : constants_(blob.doubles(name + ".num")) {
    const auto raw = blob.ints(name + ".ops");
    outputs_ = blob.ints(name + ".out");
    const auto bad = [&](const char* what) { throw ModelError("compiled model: program '" + name + "' " + what); };
    if (raw.size() % 4) bad("is cut short");
    code_.resize(raw.size() / 4);
    for (std::int32_t k = 0; k < size(); ++k) {
        const Instruction i{raw[4 * k], raw[4 * k + 1], raw[4 * k + 2], raw[4 * k + 3]};
        if (i.op < 0 || i.op >= OPS) bad("has an unknown instruction");
        if (i.op == CONST) {
            if (i.a < 0 || i.a >= static_cast<std::int32_t>(constants_.size()))
                bad("reads a constant that is not there");
        } else if (i.op == LOAD) {
            if (i.a < 0 || i.a >= SPACES || i.b < 0 || i.b >= sizes[i.a]) bad("reads a variable that is not there");
        } else {
            const std::int32_t operands[] = {i.a, i.b, i.c};
            for (int n = 0; n < arity[i.op]; ++n)
                if (operands[n] < 0 || operands[n] >= k) bad("reads a result before it is computed");
        }
        if (i.op == LOOKUP) {
            if (!curves_) curves_ = std::make_shared<const Curves>(blob);
            if (i.b < 0 || i.b >= curves_->size()) bad("reads a curve that is not there");
            if (i.c < 0 || i.c > Curves::highest_order) bad("takes a derivative that curves do not have");
        }
        code_[k] = i;
    }
    for (auto r : outputs_)
        if (r < 0 || r >= size()) bad("returns a result that is not there");
}

Tape Tape::only(const std::vector<char>& wanted) const {
    std::vector<std::int32_t> place(code_.size(), -1);  // -1: not needed; else 0, and then the register
    for (std::size_t k = 0; k < wanted.size(); ++k)
        if (wanted[k]) place[outputs_[k]] = 0;
    const auto each_operand = [](Instruction& i, auto&& f) {
        std::int32_t* const all[] = {&i.a, &i.b, &i.c};
        for (int n = 0; n < arity[i.op]; ++n) f(*all[n]);
    };
    for (int k = size() - 1; k >= 0; --k) {
        Instruction i = code_[k];
        if (place[k] == 0) each_operand(i, [&](std::int32_t& from) { place[from] = 0; });
    }
    Tape some = *this;
    some.code_.clear();
    for (int k = 0; k < size(); ++k) {
        if (place[k] < 0) continue;
        Instruction i = code_[k];
        each_operand(i, [&](std::int32_t& from) { from = place[from]; });
        place[k] = static_cast<std::int32_t>(some.code_.size());
        some.code_.push_back(i);
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k) some.outputs_[k] = wanted[k] ? place[outputs_[k]] : 0;
    return some;
}

void Tape::run_for(const Point& point, double* r, int outputs) const {
    const auto begin = outputs_.begin();
    run(point, r, outputs > 0 ? *std::max_element(begin, begin + outputs) + 1 : 0);
}

void Tape::run(const Point& point, double* r, int count) const {
    const Instruction* i = code_.data();
    for (int k = 0; k < count; ++k, ++i) {
        switch (i->op) {
            case CONST:
                r[k] = constants_[i->a];
                break;
            case LOAD:
                r[k] = point.at[i->a][i->b];
                break;
            case ADD:
                r[k] = r[i->a] + r[i->b];
                break;
            case SUB:
                r[k] = r[i->a] - r[i->b];
                break;
            case MUL:
                r[k] = r[i->a] * r[i->b];
                break;
            case DIV:
                r[k] = r[i->a] / r[i->b];
                break;
            case NEG:
                r[k] = -r[i->a];
                break;
            case POW:
                r[k] = std::pow(r[i->a], r[i->b]);
                break;
            case SIN:
                r[k] = std::sin(r[i->a]);
                break;
            case COS:
                r[k] = std::cos(r[i->a]);
                break;
            case TAN:
                r[k] = std::tan(r[i->a]);
                break;
            case ASIN:
                r[k] = std::asin(r[i->a]);
                break;
            case ACOS:
                r[k] = std::acos(r[i->a]);
                break;
            case ATAN:
                r[k] = std::atan(r[i->a]);
                break;
            case ATAN2:
                r[k] = std::atan2(r[i->a], r[i->b]);
                break;
            case SINH:
                r[k] = std::sinh(r[i->a]);
                break;
            case COSH:
                r[k] = std::cosh(r[i->a]);
                break;
            case TANH:
                r[k] = std::tanh(r[i->a]);
                break;
            case EXP:
                r[k] = std::exp(r[i->a]);
                break;
            case LOG:
                r[k] = std::log(r[i->a]);
                break;
            case SQRT:
                r[k] = std::sqrt(r[i->a]);
                break;
            case ABS:
                r[k] = std::fabs(r[i->a]);
                break;
            case SIGN:
                r[k] = sign(r[i->a]);
                break;
            case MIN:
                r[k] = smaller(r[i->a], r[i->b]);
                break;
            case MAX:
                r[k] = larger(r[i->a], r[i->b]);
                break;
            case SELECT:
                r[k] = select(r[i->a], r[i->b], r[i->c]);
                break;
            case LT:
                r[k] = truth(r[i->a] < r[i->b], r[i->a], r[i->b]);
                break;
            case LE:
                r[k] = truth(r[i->a] <= r[i->b], r[i->a], r[i->b]);
                break;
            case EQ:
                r[k] = truth(r[i->a] == r[i->b], r[i->a], r[i->b]);
                break;
            case AND:
                r[k] = both(r[i->a], r[i->b]);
                break;
            case OR:
                r[k] = either(r[i->a], r[i->b]);
                break;
            case NOT:
                r[k] = truth(r[i->a] == 0, r[i->a], r[i->a]);
                break;
            case FLOOR:
                r[k] = std::floor(r[i->a]);
                break;
            case SQUARE:
                r[k] = r[i->a] * r[i->a];
                break;
            case ALL:
                r[k] = all_of(r[i->a], r[i->b]);
                break;
            case ANY:
                r[k] = any_of(r[i->a], r[i->b]);
                break;
            case LOOKUP:
                r[k] = curves_->value(i->b, i->c, r[i->a]);
                break;
        }
    }
}

bool Tape::is_load(const Instruction& i) { return i.op == LOAD; }

bool Tape::loads(Space space) const {
    return std::any_of(code_.begin(), code_.end(), [&](const Instruction& i) { return is_load(i) && i.a == space; });
}

bool Tape::has_kinks() const {
    constexpr Op kinks[] = {ABS, SIGN, MIN, MAX, SELECT, FLOOR};
    const auto one = [&](const Instruction& i) {
        return std::find(std::begin(kinks), std::end(kinks), i.op) != std::end(kinks);
    };
    return std::any_of(code_.begin(), code_.end(), one);
}

std::vector<std::int32_t> Tape::jumps() const {
    std::vector<std::int32_t> found;
    for (std::int32_t k = 0; k < size(); ++k)
        if (code_[k].op == SIGN || code_[k].op == SELECT || code_[k].op == FLOOR) found.push_back(k);
    return found;
}

double Tape::side(const double* r, std::int32_t jump) const {
    if (code_[jump].op != SELECT) return r[jump];
    const double condition = r[code_[jump].a];
    return known(condition) ? condition != 0 : condition;
}

std::pair<std::int32_t, std::int32_t> Tape::operands(const Instruction& i) {
    if (i.op == SELECT) return {i.b, i.c};
    return {arity[i.op] > 0 ? i.a : -1, arity[i.op] > 1 ? i.b : -1};
}

std::vector<std::int32_t> Tape::below(int output) const {
    std::vector<char> wanted(code_.size());
    wanted[outputs_[output]] = 1;
    std::vector<std::int32_t> order;
    for (std::int32_t k = outputs_[output]; k >= 0; --k) {
        if (!wanted[k]) continue;
        order.push_back(k);
        const auto [first, second] = operands(code_[k]);
        if (first >= 0) wanted[first] = 1;
        if (second >= 0) wanted[second] = 1;
    }
    return order;
}

// The derivatives that mbdfmu/expressions/opcodes.py writes down as `tangent`.
void Tape::partials(const double* r, double* p) const {
    const Instruction* i = code_.data();
    const int n = size();
    for (int k = 0; k < n; ++k, ++i, p += 2) {
        const double a = arity[i->op] > 0 ? r[i->a] : 0, b = arity[i->op] > 1 ? r[i->b] : 0, y = r[k];
        p[0] = p[1] = 0;
        switch (i->op) {
            case ADD:
                p[0] = p[1] = 1;
                break;
            case SUB:
                p[0] = 1, p[1] = -1;
                break;
            case MUL:
                p[0] = b, p[1] = a;
                break;
            case DIV:
                p[0] = 1 / b, p[1] = -y / b;
                break;
            case NEG:
                p[0] = -1;
                break;
            case POW:
                p[0] = b == 0 ? 0 : b * std::pow(a, b - 1);
                p[1] = y == 0 || code_[i->b].op == CONST ? 0 : y * std::log(a);
                break;
            case SIN:
                p[0] = std::cos(a);
                break;
            case COS:
                p[0] = -std::sin(a);
                break;
            case TAN:
                p[0] = 1 + y * y;
                break;
            case ASIN:
                p[0] = 1 / std::sqrt(1 - a * a);
                break;
            case ACOS:
                p[0] = -1 / std::sqrt(1 - a * a);
                break;
            case ATAN:
                p[0] = 1 / (1 + a * a);
                break;
            case ATAN2:
                p[0] = b / (a * a + b * b), p[1] = -a / (a * a + b * b);
                break;
            case SINH:
                p[0] = std::cosh(a);
                break;
            case COSH:
                p[0] = std::sinh(a);
                break;
            case TANH:
                p[0] = 1 - y * y;
                break;
            case EXP:
                p[0] = y;
                break;
            case LOG:
                p[0] = 1 / a;
                break;
            case SQRT:
                p[0] = 0.5 / y;
                break;
            case ABS:
                p[0] = (a > 0) - (a < 0);
                break;
            case MIN:
            case ALL:
                (a <= b || !known(b) ? p[0] : p[1]) = 1;
                break;
            case MAX:
            case ANY:
                (b <= a || !known(b) ? p[0] : p[1]) = 1;
                break;
            case SELECT:
                (a != 0 ? p[0] : p[1]) = 1;
                break;
            case SQUARE:
                p[0] = 2 * a;
                break;
            case LOOKUP:
                if (i->c < Curves::highest_order) p[0] = curves_->value(i->b, i->c + 1, a);
                break;
            default:  // constants, and what is constant between its jumps
                break;
        }
    }
}

std::string Tape::culprit(const double* r, int output) const {
    std::int32_t k = outputs_[output];
    for (;;) {  // down to the first operation on finite operands
        const Instruction& i = code_[k];
        const std::int32_t operands[] = {i.a, i.b, i.c};
        std::int32_t odd = -1;
        for (int n = 0; n < arity[i.op]; ++n)
            if (!std::isfinite(r[operands[n]])) odd = operands[n];
        if (odd >= 0) {
            k = odd;
            continue;
        }
        const auto shown = [&](int n) { return number(r[operands[n]], 6); };
        if (arity[i.op] == 0) return "a variable that is not finite";
        if (i.op == ADD || i.op == SUB || i.op == MUL || i.op == DIV || i.op == POW)
            return shown(0) + " " + written[i.op] + " " + shown(1);
        std::string text = std::string(written[i.op]) + "(" + shown(0);
        for (int n = 1; n < arity[i.op]; ++n) text += ", " + shown(n);
        return text + ")";
    }
}

std::string Tape::steep(const double* r, int output) const {
    std::vector<std::int32_t> waiting{outputs_[output]};
    std::vector<char> seen(code_.size());
    while (!waiting.empty()) {
        const std::int32_t k = waiting.back();
        waiting.pop_back();
        if (seen[k]) continue;
        seen[k] = 1;
        const Instruction& i = code_[k];
        const std::int32_t operands[] = {i.a, i.b, i.c};
        const bool root = i.op == SQRT && r[i.a] == 0;
        const bool power = i.op == POW && r[i.a] == 0 && r[i.b] < 1;
        const bool arc = (i.op == ASIN || i.op == ACOS) && std::fabs(r[i.a]) == 1;
        if (power) return number(r[i.a], 6) + " ^ " + number(r[i.b], 6);
        if (root || arc) return std::string(written[i.op]) + "(" + number(r[i.a], 6) + ")";
        waiting.insert(waiting.end(), operands, operands + arity[i.op]);
    }
    return "";
}

}  // namespace mbd
