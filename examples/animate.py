"""A simulation becomes a web page that plays it, and a scene for other programs; both are in the current folder."""

from pathlib import Path

import mbdfmu as mbd


def main() -> None:
    model = mbd.models.load("gyroscope")
    result = model.simulate()
    notes = mbd.animation.animate(result, model.description, "gyroscope.html", "gyroscope.glb", frames=500)
    for note in notes:
        print(f"note: {note}")
    for name in ("gyroscope.html", "gyroscope.glb"):
        print(f"wrote {name}, {Path(name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
