"""Style `multibody`: a model as components of the Modelica Standard Library, and equations for what it has none for."""

from mbdfmu.modelica.multibody.collector import written

__all__ = ["written"]
