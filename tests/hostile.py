"""An FMU in C that does the worst where it is told to, by the environment variable HOSTILE."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import zipfile
from pathlib import Path

EXPERIMENT = 'startTime="0" stopTime="1" stepSize="0.01"'
GUID = "{8c4e810f-3df3-4a00-8276-176fa3c9f9e1}"
DESCRIPTION = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Hostile" guid="{GUID}">
  <CoSimulation modelIdentifier="hostile" canHandleVariableCommunicationStepSize="true"/>
  <DefaultExperiment {EXPERIMENT}/>
  <ModelVariables>
    <ScalarVariable name="y" valueReference="0" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="u" valueReference="1" causality="input"><Real start="0"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="1" dependencies="2"/></Outputs></ModelStructure>
</fmiModelDescription>
"""


DESCRIPTION_3 = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Hostile" instantiationToken="{GUID}">
  <CoSimulation modelIdentifier="hostile" canHandleVariableCommunicationStepSize="true"/>
  <DefaultExperiment {EXPERIMENT}/>
  <ModelVariables>
    <Float64 name="time" valueReference="2" causality="independent" variability="continuous"/>
    <Float64 name="y" valueReference="0" causality="output"/>
    <Float64 name="u" valueReference="1" causality="input" start="0"/>
  </ModelVariables>
  <ModelStructure><Output valueReference="0" dependencies="1"/></ModelStructure>
</fmiModelDescription>
"""


def build(folder: Path, version: int = 2, edits: dict[str, str] | None = None) -> Path:
    """The FMU for this platform, with other words in its description."""
    return packed(folder, "hostile", version, DESCRIPTION if version == 2 else DESCRIPTION_3, edits)


def packed(folder: Path, name: str, version: int, description: str, edits: dict[str, str] | None) -> Path:
    """The FMU of a source in C beside the tests, called with a capital letter."""
    compiler = os.environ.get("CC") or (sysconfig.get_config_var("CC") or "cc").split()[0]
    library = folder / f"{name}.so"
    source = Path(__file__).parent / "native" / f"{name}.c"
    options = ["-shared", "-fPIC", "-O0", "-w", "-pthread"]
    subprocess.run([compiler, *options, str(source), "-o", str(library), "-lm"], check=True)
    fmu = folder / f"{name.capitalize()}.fmu"
    with zipfile.ZipFile(fmu, "w") as archive:
        for old, new in (edits or {}).items():
            assert old in description
            description = description.replace(old, new)
        archive.writestr("modelDescription.xml", description)
        archive.write(library, f"binaries/{'linux64' if version == 2 else 'x86_64-linux'}/{name}.so")
    return fmu
