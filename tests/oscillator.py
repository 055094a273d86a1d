"""An oscillator in C as an FMU for model exchange of FMI 2.0 or 3.0, with events and ends of its own."""

from __future__ import annotations

from pathlib import Path

from hostile import packed

GUID = "{2b1c0f5e-6f0f-4f0c-9d50-5b0c3c9d7a11}"
_EXPERIMENT = '<DefaultExperiment startTime="0" stopTime="1" stepSize="0.01" tolerance="1e-9"/>'
_REALS_2 = "".join(
    f'<ScalarVariable name="{name}" valueReference="{k}" {kind}><Real {more}/></ScalarVariable>'
    for k, (name, kind, more) in enumerate([
        ("place", 'causality="output"', 'unit="m"'), ("speed", 'causality="output"', 'unit="m/s"'),
        ("force", 'causality="input"', 'start="0" unit="N"'),
        ("wall", 'causality="parameter" variability="tunable"', 'start="0"'),
        ("kick", 'causality="parameter" variability="tunable"', 'start="0"'),
        ("der(place)", "", 'derivative="1"'), ("der(speed)", "", 'derivative="2"'),
    ])
)  # fmt: skip
DESCRIPTION = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Oscillator" guid="{GUID}" numberOfEventIndicators="1">
  <ModelExchange modelIdentifier="oscillator" canGetAndSetFMUstate="true"/>
  <UnitDefinitions><Unit name="m"/><Unit name="m/s"/><Unit name="N"/></UnitDefinitions>
  {_EXPERIMENT}
  <ModelVariables>{_REALS_2}</ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="1" dependencies=""/><Unknown index="2" dependencies=""/></Outputs>
    <Derivatives><Unknown index="6" dependencies="2"/><Unknown index="7" dependencies="1 3"/></Derivatives>
    <InitialUnknowns>{"".join(f'<Unknown index="{k}"/>' for k in (1, 2, 6, 7))}</InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""
DESCRIPTION_3 = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Oscillator" instantiationToken="{GUID}">
  <ModelExchange modelIdentifier="oscillator" canGetAndSetFMUState="true" needsCompletedIntegratorStep="true"/>
  <UnitDefinitions><Unit name="m"/><Unit name="m/s"/><Unit name="N"/></UnitDefinitions>
  {_EXPERIMENT}
  <ModelVariables>
    <Float64 name="time" valueReference="9" causality="independent" variability="continuous"/>
    <Float64 name="place" valueReference="0" causality="output" unit="m"/>
    <Float64 name="speed" valueReference="1" causality="output" unit="m/s"/>
    <Float64 name="force" valueReference="2" causality="input" start="0" unit="N"/>
    <Float64 name="wall" valueReference="3" causality="parameter" variability="tunable" start="0"/>
    <Float64 name="kick" valueReference="4" causality="parameter" variability="tunable" start="0"/>
    <Float64 name="der(place)" valueReference="5" derivative="0"/>
    <Float64 name="der(speed)" valueReference="6" derivative="1"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="0" dependencies=""/>
    <Output valueReference="1" dependencies=""/>
    <ContinuousStateDerivative valueReference="5"/>
    <ContinuousStateDerivative valueReference="6"/>
    {"".join(f'<InitialUnknown valueReference="{k}"/>' for k in (0, 1, 5, 6))}
    <EventIndicator valueReference="0"/>
  </ModelStructure>
</fmiModelDescription>
"""


def build(folder: Path, version: int = 2, edits: dict[str, str] | None = None) -> Path:
    """The FMU for this platform, with other words in its description."""
    return packed(folder, "oscillator", version, DESCRIPTION if version == 2 else DESCRIPTION_3, edits)
