"""An FMU for other tools: what is in the file, and the run that was packed with it, repeated and compared."""

import zipfile

import mbdfmu as mbd


def main() -> None:
    model = mbd.models.load("quarter_car")
    bump = {"road": ([0.0, 0.5, 0.6, 0.9, 1.0], [0.0, 0.0, 0.05, 0.05, 0.0])}
    run = {"t_end": 2.0, "step_output": 0.01, "inputs": bump}
    path = model.export_fmu("quarter_car.fmu", signals=["body.*", "wheel.*"], reference=run)

    facts = mbd.fmu.info(path)
    print(f"{path}: FMI {facts.fmi_version}, {facts.runtime} for {', '.join(facts.platforms)}, guid {facts.guid[:8]}..")
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            print(f"  {entry.filename:60} {entry.file_size:9} bytes")

    verdict = mbd.regression.judge(mbd.regression.cases(path)[0])
    print(f"compared with its own reference: {'passed' if verdict.passed else 'failed'}")


if __name__ == "__main__":
    main()
