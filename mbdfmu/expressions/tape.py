"""From graph to numbers: tapes for the native interpreter and evaluation by NumPy; must not know text or models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.errors import ModelError
from mbdfmu.expressions.curves import Curve
from mbdfmu.expressions.graph import Node, postorder
from mbdfmu.expressions.opcodes import BY_CODE, CONST, LOAD, LOOKUP

_UNUSED = ((0, 0, 0), (0, 0), (0,), ())  # fields of an instruction, by the number of arguments
Address = Callable[[Node], tuple[int, int]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tape:
    """A straight-line program: instruction k = (op, a, b, c) writes register k from registers below k.

    CONST: a is the place in `constants`. LOAD: a is the number of the space, b the index in it. LOOKUP: b is the number
    of the curve, c the order of the derivative. Unused fields are 0.
    """

    code: NDArray[np.int32]  # n x 4
    constants: NDArray[np.float64]
    outputs: NDArray[np.int32]  # the registers that hold the results


def compile_tape(outputs: Sequence[Node], address: Address, curves: dict[Curve, int] | None = None) -> Tape:
    """Lay out what `outputs` need, everything once; `address` gives the space number and index of a symbol.

    `curves` are the numbers of curves that other tapes have used; new ones are added to it.
    """
    curves = {} if curves is None else curves
    order = postorder(outputs)
    register = {node: k for k, node in enumerate(order)}
    constants: list[float] = []
    code: list[int] = []
    for node in order:
        if node.op == CONST:
            code += (CONST, len(constants), 0, 0)
            constants.append(node.value)
        elif node.op == LOAD:
            code += (LOAD, *address(node), 0)
        elif node.op == LOOKUP:
            curve, derivative = node.value
            code += (LOOKUP, register[node.args[0]], curves.setdefault(curve, len(curves)), derivative)
        else:
            code += (node.op, *[register[a] for a in node.args], *_UNUSED[len(node.args)])
    return Tape(
        code=np.array(code, dtype=np.int32).reshape(-1, 4),
        constants=np.array(constants, dtype=np.float64),
        outputs=np.array([register[node] for node in outputs], dtype=np.int32),
    )


def evaluate(nodes: Sequence[Node], values: Mapping[Node, Any], order: Iterable[Node] | None = None) -> list[Any]:
    """The values of `nodes` for given values of the symbols: numbers or arrays, real or complex.

    `order` is their `postorder`, for those who evaluate them many times.
    """
    done: dict[Node, Any] = {}
    with np.errstate(all="ignore"):  # the branch not taken may divide by zero
        for node in postorder(nodes) if order is None else order:
            if node.op == CONST:
                done[node] = np.float64(node.value)
            elif node.op == LOAD:
                done[node] = _given(node, values)
            elif node.op == LOOKUP:
                curve, derivative = node.value
                done[node] = curve.value(done[node.args[0]], derivative)
            else:
                done[node] = BY_CODE[node.op].evaluate(*[done[a] for a in node.args])  # type: ignore[misc]
    return [done[node] for node in nodes]


def _given(symbol: Node, values: Mapping[Node, Any]) -> Any:
    if symbol not in values:
        raise ModelError(f"no value is given for '{symbol.value[1]}' (space '{symbol.value[0]}')")
    value = values[symbol]
    return np.asarray(value, dtype=complex if np.iscomplexobj(value) else float)[()]
