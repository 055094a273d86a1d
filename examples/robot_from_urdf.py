"""A robot from a URDF file: a damped arm of two links is let go and swings down, and its tip is followed."""

from pathlib import Path

import mbdfmu as mbd
from mbdfmu.importers import read_urdf

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.25 0 0"/> <mass value="2"/>
      <inertia ixx="0.002" iyy="0.042" izz="0.042" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual> <origin xyz="0.25 0 0"/> <geometry> <box size="0.5 0.05 0.05"/> </geometry> </visual>
  </link>
  <link name="fore">
    <inertial>
      <origin xyz="0.2 0 0"/> <mass value="1"/>
      <inertia ixx="0.001" iyy="0.014" izz="0.014" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual> <origin xyz="0.2 0 0"/> <geometry> <box size="0.4 0.04 0.04"/> </geometry> </visual>
  </link>
  <link name="tip"/>
  <joint name="shoulder" type="continuous">
    <origin xyz="0 0 1"/> <parent link="base"/> <child link="upper"/> <axis xyz="0 1 0"/> <dynamics damping="0.8"/>
  </joint>
  <joint name="elbow" type="revolute">
    <origin xyz="0.5 0 0"/> <parent link="upper"/> <child link="fore"/> <axis xyz="0 1 0"/> <dynamics damping="0.3"/>
    <limit lower="-2.5" upper="2.5" effort="20" velocity="5"/>
  </joint>
  <joint name="flange" type="fixed"> <origin xyz="0.4 0 0"/> <parent link="fore"/> <child link="tip"/> </joint>
</robot>
"""


def main() -> None:
    file = Path("arm.urdf")
    file.write_text(URDF, encoding="utf-8")
    description, notes = read_urdf(file)
    for note in notes:
        print(f"note: {note}")
    result = mbd.Model.from_description(description).simulate(t_end=5.0, step_output=0.5)
    print(f"{'time':>6}{'shoulder':>10}{'elbow':>10}{'tip x':>10}{'tip z':>10}")
    for values in zip(*(result[k] for k in ("time", "shoulder.angle", "elbow.angle", "tip.x", "tip.z")), strict=True):
        print(f"{values[0]:6.1f}" + "".join(f"{value:10.3f}" for value in values[1:]))


if __name__ == "__main__":
    main()
