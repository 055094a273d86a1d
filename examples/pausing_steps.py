"""An importer of FMI 3.0 that handles events: it sees a ball right before and right after every bounce."""

import tempfile

import fmpy
from fmpy.fmi3 import FMU3Slave

import mbdfmu as mbd

T_END = 2.0  # s


def main() -> None:
    path = mbd.models.load("bouncing_ball").export_fmu("bouncing_ball.fmu", interface="cs3")
    names = {v.name: v.reference for v in mbd.fmu.info(path).variables}
    place, speed = names["ball.y"], names["ball.vy"]
    with tempfile.TemporaryDirectory() as folder:
        fmpy.extract(str(path), folder)
        about = fmpy.read_model_description(folder)
        fmu = FMU3Slave(guid=about.guid, unzipDirectory=folder, modelIdentifier=about.coSimulation.modelIdentifier,
                        instanceName="ball")  # fmt: skip
        fmu.instantiate(eventModeUsed=True, earlyReturnAllowed=True)
        fmu.enterInitializationMode(stopTime=T_END)
        fmu.exitInitializationMode()
        fmu.updateDiscreteStates()
        fmu.enterStepMode()
        t = 0.0
        while t < T_END:
            event, _, _, t = fmu.doStep(t, T_END - t)  # ends early where the ball touches the ground
            if event:
                before = fmu.getFloat64([speed])[0]
                fmu.enterEventMode()
                fmu.updateDiscreteStates()
                after = fmu.getFloat64([speed])[0]
                fmu.enterStepMode()
                print(f"t = {t:.6f} s: {before:8.4f} m/s -> {after:7.4f} m/s")
        print(f"t = {t:g} s: y = {fmu.getFloat64([place])[0]:.6f} m")
        fmu.terminate()
        fmu.freeInstance()


if __name__ == "__main__":
    main()
