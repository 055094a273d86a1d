"""An FMU in C that does the worst where it is told to, by the environment variable HOSTILE."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import zipfile
from pathlib import Path

SOURCE = Path(__file__).parent / "native" / "hostile.c"
GUID = "{8c4e810f-3df3-4a00-8276-176fa3c9f9e1}"
DESCRIPTION = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Hostile" guid="{GUID}">
  <CoSimulation modelIdentifier="hostile" canHandleVariableCommunicationStepSize="true"/>
  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>
  <ModelVariables>
    <ScalarVariable name="y" valueReference="0" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="u" valueReference="1" causality="input"><Real start="0"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="1" dependencies="2"/></Outputs></ModelStructure>
</fmiModelDescription>
"""


def build(folder: Path) -> Path:
    """The FMU for this platform."""
    compiler = os.environ.get("CC") or (sysconfig.get_config_var("CC") or "cc").split()[0]
    library = folder / "hostile.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O0", "-w", str(SOURCE), "-o", str(library), "-lm"], check=True)
    fmu = folder / "Hostile.fmu"
    with zipfile.ZipFile(fmu, "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION)
        archive.write(library, "binaries/linux64/hostile.so")
    return fmu
