"""What each runtime can do, as FMI's flags; must not know models."""

from __future__ import annotations

PYTHON, NATIVE = "python", "native"
RUNTIMES = (NATIVE, PYTHON)

_BOTH = {
    "needsExecutionTool": False,  # Python on the target is none: nothing has to be started
    "canHandleVariableCommunicationStepSize": True,
    "canRunAsynchronuously": False,  # sic
    "canBeInstantiatedOnlyOncePerProcess": False,
    "canNotUseMemoryManagementFunctions": True,
    "canGetAndSetFMUstate": True,
    "canSerializeFMUstate": True,
}
CO_SIMULATION_3: dict[str, bool | int] = {
    "needsExecutionTool": False,
    "canBeInstantiatedOnlyOncePerProcess": False,
    "canGetAndSetFMUState": True,
    "canSerializeFMUState": True,
    "providesDirectionalDerivatives": True,
    "providesAdjointDerivatives": True,
    "canHandleVariableCommunicationStepSize": True,
    "maxOutputDerivativeOrder": 1,
    "providesIntermediateUpdate": True,
    "mightReturnEarlyFromDoStep": True,
    "canReturnEarlyAfterIntermediateUpdate": True,
    "hasEventMode": True,
}
_LINEAR = ("canInterpolateInputs", "providesDirectionalDerivative")
# pythonfmu's wrapper answers the calls behind these, and those for derivatives of outputs, with an error (0.7.0).
CO_SIMULATION_2: dict[str, dict[str, bool | int]] = {
    PYTHON: {**_BOTH, **dict.fromkeys(_LINEAR, False), "maxOutputDerivativeOrder": 0},
    NATIVE: {**_BOTH, **dict.fromkeys(_LINEAR, True), "maxOutputDerivativeOrder": 1},
}
MODEL_EXCHANGE_2: dict[str, bool | int] = {
    "needsExecutionTool": False,
    "completedIntegratorStepNotNeeded": False,
    "canBeInstantiatedOnlyOncePerProcess": False,
    "canNotUseMemoryManagementFunctions": True,
    "canGetAndSetFMUstate": True,
    "canSerializeFMUstate": True,
    "providesDirectionalDerivative": True,
}
