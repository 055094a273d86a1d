"""One file per scheme; a scheme enters its family by being imported here."""

from mbdfmu.schemes.base import Scheme
from mbdfmu.schemes.baumgarte import Baumgarte
from mbdfmu.schemes.direct import Direct
from mbdfmu.schemes.dop853 import Dop853
from mbdfmu.schemes.dopri5 import Dopri5
from mbdfmu.schemes.gcp import Gcp
from mbdfmu.schemes.gcp_implicit import GcpFv, GcpImplicit
from mbdfmu.schemes.generalised_alpha import GeneralisedAlpha
from mbdfmu.schemes.hht import Hht
from mbdfmu.schemes.hybrid import Hybrid
from mbdfmu.schemes.newmark import Newmark
from mbdfmu.schemes.radau import Radau
from mbdfmu.schemes.trapezoidal import Trapezoidal
from mbdfmu.schemes.welch import Welch1, Welch2

__all__ = [
    "Baumgarte",
    "Direct",
    "Dop853",
    "Dopri5",
    "Gcp",
    "GcpFv",
    "GcpImplicit",
    "GeneralisedAlpha",
    "Hht",
    "Hybrid",
    "Newmark",
    "Radau",
    "Scheme",
    "Trapezoidal",
    "Welch1",
    "Welch2",
]
