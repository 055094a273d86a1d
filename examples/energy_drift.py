"""How much energy undamped models lose, against the numerical damping alpha and the tolerance."""

import numpy as np

import mbdfmu as mbd

MODELS = ("double_pendulum", "four_bar", "slider_crank_coordinates")
ALPHAS = (-0.3, -0.1, -0.05)  # 0 keeps the most, but reactions then ring without end
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
CONSERVED = {"slider_crank_coordinates": "total_energy"}  # forces on user-written coordinates have no known potential


def drift(name: str, alpha: float, tolerance: float) -> float:
    """Largest change of the energy over 5 s, as a fraction of the largest kinetic energy."""
    result = mbd.models.load(name).simulate(t_end=5, step_output=0.05, tolerance=tolerance, options={"alpha": alpha})
    kinetic = result["energy.kinetic"]
    energy = result[CONSERVED[name]] if name in CONSERVED else kinetic + result["energy.potential"]
    return float(np.max(np.abs(energy - energy[0])) / np.max(kinetic))


def plot(table: dict[tuple[str, float], list[float]]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("matplotlib is not installed: no picture")
        return
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(MODELS), sharey=True), MODELS, strict=True):
        for alpha in ALPHAS:
            axes.loglog(TOLERANCES, table[name, alpha], marker="o", label=f"alpha = {alpha}")
        axes.set(title=name, xlabel="tolerance")
        axes.grid(True, alpha=0.3)
    figure.axes[0].set_ylabel("change of energy / largest kinetic energy")
    figure.axes[0].legend()
    figure.savefig("energy_drift.png")
    print("wrote energy_drift.png")


def main() -> None:
    print(f"{'model':26}{'alpha':>7}" + "".join(f"{tolerance:>10.0e}" for tolerance in TOLERANCES))
    table = {}
    for name in MODELS:
        for alpha in ALPHAS:
            table[name, alpha] = [drift(name, alpha, tolerance) for tolerance in TOLERANCES]
            print(f"{name:26}{alpha:7}" + "".join(f"{x:10.1e}" for x in table[name, alpha]))
    plot(table)


if __name__ == "__main__":
    main()
