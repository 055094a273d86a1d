"""Results and input tables: files give back every bit, and what is wrong in a file is named with its line."""

import os
import re
import stat
import sys

import numpy as np
import pytest

from mbdfmu.errors import ModelError
from mbdfmu.results import Result
from mbdfmu.tabular import Table, read_csv, read_inputs, write_csv

INPUTS = {"force": "N", "road": "m", "gain": ""}


@pytest.fixture
def result():
    """Values that lose bits in careless formats, a jump at t = 0.2, and names that formats dislike."""
    time = [0.0, 0.1, 0.2, 0.2, 0.1 + 0.2]
    columns = {
        "crank.phi": [1 / 3, -0.0, 5e-324, 1.7976931348623157e308, np.pi],
        "crank_phi": [1, 2, 3, 4, 5],
        "der(theta)": [0.1, 0.2, 0.3, 0.4, 0.5],
        "body.r[1]": [1e22, 1e23, 1e-7, 123456789.123456789, 2.0],
        "end": [0, 0, 0, 1, 1],
        "a/b, c": [1, 1, 2, 3, 5],
    }
    units = {"crank.phi": "rad", "der(theta)": "rad/s", "a/b, c": "N.m"}
    return Result(time, columns, units, statistics={"steps": 12, "error": 0.1}, model="crank", message="all fine")


def assert_same(read, written):
    assert list(read.columns) == list(written.columns)
    assert read.units == written.units
    assert read.time.tobytes() == written.time.tobytes()
    for name in written.columns:
        assert read[name].tobytes() == written[name].tobytes(), name


def write(tmp_path, text, name="u.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


# --- in memory


def test_columns_are_found_by_name(result):
    assert result["crank_phi"].tolist() == [1, 2, 3, 4, 5]
    assert result["time"] is result.time
    assert (result.unit("crank.phi"), result.unit("crank_phi"), result.unit("time")) == ("rad", "", "s")
    assert "crank.phi" in result
    assert "crank.psi" not in result


@pytest.mark.parametrize("use", [lambda r: r["crank.ph"], lambda r: r.unit("crank.ph"), lambda r: r.plot("crank.ph")])
def test_unknown_name_is_refused_with_a_hint(result, use):
    with pytest.raises(ModelError, match=r"no signal is named 'crank.ph'; did you mean 'crank.phi'\?"):
        use(result)


def test_names_match_patterns_and_brackets_are_literal_in_full_names(result):
    assert result.names("crank*") == ["crank.phi", "crank_phi"]
    assert result.names("body.r[1]") == ["body.r[1]"]
    assert result.names("nothing*") == []
    assert result.names() == list(result.columns)


def test_result_is_not_iterable_by_accident(result):
    with pytest.raises(TypeError, match="not iterable"):
        list(result)


@pytest.mark.parametrize(
    ("time", "columns", "units", "message"),
    [
        ([0, 1], {"a": [1, 2, 3]}, {}, r"column 'a' has shape \(3,\), time has \(2,\)"),
        ([0, 1], {"a": [[1], [2]]}, {}, "column 'a' has shape"),
        ([0, 1], {"a": ["x", "y"]}, {}, "column 'a' is not made of numbers"),
        ([1, 0], {}, {}, "row 1: time 0.0 comes after 1.0"),
        ([0, np.nan], {}, {}, "row 1: time is nan"),
        ([[0, 1]], {}, {}, "time has shape"),
        ([0, 1], {"time": [1, 2]}, {}, "column name 'time' cannot be used"),
        ([0, 1], {"": [1, 2]}, {}, "column name '' cannot be used"),
        ([0, 1], {"a": [1, 2]}, {"b": "m"}, "unit given for 'b'"),
    ],
)
def test_inconsistent_columns_are_refused(time, columns, units, message):
    with pytest.raises(ModelError, match=message):
        Table(time, columns, units)


def test_repr_says_how_the_run_ended(result):
    assert repr(result) == "<Result 'crank': 6 signals, 5 points, t = 0 .. 0.3 s, complete>"
    stopped = Result([0.0], {}, complete=False, message="cancelled")
    assert "ended early: cancelled" in repr(stopped)


def test_structured_array_is_taken_over():
    array = np.array([(0.0, 1.5, True), (1.0, 2.5, False)], dtype=[("time", "f8"), ("y", "f8"), ("on", "?")])
    result = Result.from_array(array, {"y": "m"})
    assert result.label("y") == "y [m]"
    assert result["on"].tolist() == [1.0, 0.0]
    with pytest.raises(ModelError, match="no field 'time'; its fields: y"):
        Result.from_array(array[["y"]])


# --- files of results


@pytest.mark.parametrize("suffix", [".csv", ".h5", ".hdf5"])
def test_file_gives_back_every_bit(result, tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    result.write(path)
    assert_same(Result.read(path), result)


def test_csv_is_plain(tmp_path):
    Result([0.0, 0.1], {"a.b": [0.1, 1 / 3], "n": [1, 2]}, {"a.b": "m/s"}).to_csv(tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_bytes() == b"time [s],a.b [m/s],n\n0.0,0.1,1.0\n0.1,0.3333333333333333,2.0\n"


def test_long_table_is_written_in_blocks(tmp_path):
    table = Table(np.arange(10_000) / 7, {"x": np.random.default_rng(1).normal(size=10_000)})
    write_csv(tmp_path / "x.csv", table)
    assert_same(read_csv(tmp_path / "x.csv"), table)


@pytest.mark.parametrize("suffix", [".csv", ".h5"])
def test_values_of_a_failed_run_survive(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    Result([0, 1, 2], {"x": [0, np.nan, -np.inf]}, complete=False).write(path)
    assert np.array_equal(Result.read(path)["x"], [0, np.nan, -np.inf], equal_nan=True)


@pytest.mark.parametrize("suffix", [".csv", ".h5", ".mat"])
@pytest.mark.parametrize(("time", "columns"), [([], {}), ([], {"x": []}), ([0.5], {}), ([0.5], {"x": [1]})])
def test_small_tables_are_written(tmp_path, suffix, time, columns):
    path = tmp_path / f"out{suffix}"
    result = Result(time, columns)
    result.write(path)
    if suffix != ".mat":
        assert_same(Result.read(path), result)


def test_hdf5_keeps_the_story_of_the_run(tmp_path):
    # More than eight attributes: there HDF5 changes how it stores them.
    statistics = {f"count_{k}": k for k in range(20)} | {"worst": 0.25}
    Result([0], {}, statistics=statistics, complete=False, message="gave up", model="m").to_hdf5(tmp_path / "r.h5")
    read = Result.read(tmp_path / "r.h5")
    assert (read.statistics, read.complete, read.message, read.model) == (statistics, False, "gave up", "m")
    assert type(read.statistics["count_3"]) is int


def test_hdf5_is_plain_for_other_tools(result, tmp_path):
    h5py = pytest.importorskip("h5py")
    result.to_hdf5(tmp_path / "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["crank.phi"].attrs["unit"] == "rad"
        assert file["time"].attrs["unit"] == "s"
        assert file.attrs["statistics.steps"] == 12


def test_mat_names_are_unique_and_listed(result, tmp_path):
    from scipy.io import loadmat

    result.to_mat(tmp_path / "r.mat")
    content = loadmat(tmp_path / "r.mat")
    names, variables, units = (
        [row.rstrip() for row in content[key]] for key in ("signal_names", "signal_variables", "signal_units")
    )
    assert names == ["time", *result.columns]
    assert variables == ["time", "crank_phi", "crank_phi_2", "der_theta_", "body_r_1_", "end_2", "a_b__c"]
    assert units[:4] == ["s", "rad", "", "rad/s"]
    for name, variable in zip(names, variables, strict=True):
        assert content[variable].shape == (5, 1)
        assert np.array_equal(content[variable][:, 0], result[name])


def test_mat_survives_long_names_and_foreign_letters(tmp_path):
    from scipy.io import loadmat

    names = ["x" * 70, "x" * 70 + "y", "_1", "ü.Ω"]
    Result([0, 1], {name: [k, k] for k, name in enumerate(names)}).to_mat(tmp_path / "r.mat")
    content = loadmat(tmp_path / "r.mat")
    variables = [row.rstrip() for row in content["signal_variables"]]
    assert variables == ["time", "x" * 63, "x" * 61 + "_2", "x_1", "x___"]
    assert content["signal_names"][4].rstrip() == r"ü.\u03a9"


@pytest.mark.parametrize("suffix", [".csv", ".h5", ".mat"])
def test_failed_writing_leaves_the_old_file_and_nothing_else(result, tmp_path, suffix, monkeypatch):
    path = tmp_path / f"out{suffix}"
    path.write_text("old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        result.write(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="file modes and links of POSIX")
def test_written_file_has_the_usual_mode_and_links_stay(result, tmp_path):
    (tmp_path / "plain").write_text("")
    (tmp_path / "link.csv").symlink_to(tmp_path / "out.csv")
    result.to_csv(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("out.csv", "plain")]
    assert modes[0] == modes[1]


def test_wrong_paths_are_named(result, tmp_path):
    with pytest.raises(ModelError, match=r"there is no folder '.*nowhere'; create it first"):
        result.to_csv(tmp_path / "nowhere" / "r.csv")
    with pytest.raises(ModelError, match=r"suffix '\.xls' names no format known here; allowed: \.csv, \.h5"):
        result.write(tmp_path / "r.xls")
    for name in ("r.csv", "r.h5"):
        with pytest.raises(ModelError, match="there is no such file"):
            Result.read(tmp_path / name)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(ModelError, match="is a folder"):
        Result.read(tmp_path / "d.csv")
    with pytest.raises(ModelError, match="is a folder"):
        result.to_csv(tmp_path / "d.csv")


def test_foreign_hdf5_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    with pytest.raises(ModelError, match="cannot be read as HDF5"):
        Result.read(write(tmp_path, "not HDF5", "x.h5"))
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["x"] = [1.0]
    with pytest.raises(ModelError, match=r"y\.h5: has no dataset 'time'; its datasets: x"):
        Result.read(tmp_path / "y.h5")


# --- pictures and frames


@pytest.fixture
def drawable():
    """As `result`, without the extreme numbers that overflow in matplotlib."""
    pytest.importorskip("matplotlib")
    t = np.linspace(0, 1, 11)
    columns = {"crank.phi": np.sin(t), "crank_phi": t, "der(theta)": np.cos(t), "end": t**2}
    return Result(t, columns, {"crank.phi": "rad", "der(theta)": "rad/s"})


def test_plot_groups_by_unit_and_labels_axes(drawable, tmp_path):
    figure = drawable.plot("crank*", "der(theta)", path=tmp_path / "p.png")
    assert [len(ax.lines) for ax in figure.axes] == [1, 1, 1]
    assert [ax.get_ylabel() for ax in figure.axes] == ["crank.phi [rad]", "crank_phi", "der(theta) [rad/s]"]
    assert figure.axes[-1].get_xlabel() == "time [s]"
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "matplotlib.pyplot" not in sys.modules


def test_plot_over_another_signal(drawable):
    figure = drawable.plot("crank_phi", "end", x="crank.phi")
    assert figure.axes[0].get_ylabel() == "[1]"
    assert figure.axes[0].get_xlabel() == "crank.phi [rad]"
    assert np.array_equal(figure.axes[0].lines[1].get_xdata(), drawable["crank.phi"])


def test_missing_matplotlib_is_explained(result, monkeypatch):
    for module in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=re.escape("pip install 'mbdfmu[plot]'")):
        result.plot("crank.phi")


def test_missing_pandas_is_explained(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.to_dataframe()


def test_dataframe_has_time_as_index(result):
    pytest.importorskip("pandas")
    frame = result.to_dataframe()
    assert list(frame.columns) == list(result.columns)
    assert frame.index.name == "time"
    assert frame.attrs["units"]["crank.phi"] == "rad"


# --- files of inputs


def test_inputs_with_a_jump_are_read(tmp_path):
    text = '\ufefftime,"force [N]", road\r\n0,1,2\r\n\r\n 1 , 3,"4"\r\n1,5,6\r\n'
    table = read_inputs(write(tmp_path, text), INPUTS)
    assert table.time.tolist() == [0, 1, 1]
    assert table["force"].tolist() == [1, 3, 5]
    assert table["road"].tolist() == [2, 4, 6]
    assert table.units == {"force": "N", "road": ""}


@pytest.mark.parametrize(("known", "said"), [("", "1"), ("1", "1"), ("1", "")])
def test_the_unit_1_is_no_unit(tmp_path, known, said):
    path = write(tmp_path, f"time [s],gain [{said}]\n0,2\n")
    assert read_inputs(path, {"gain": known})["gain"].tolist() == [2]
    with pytest.raises(ModelError, match="input 'gain' is in '1', the model has it in 'N'; convert"):
        read_inputs(write(tmp_path, "time [s],gain [1]\n0,2\n"), {"gain": "N"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; the first line must be"),
        ("\n \n", "is empty"),
        ("t,force\n0,1\n", "line 1: the first column must be 'time [s]', found 't'"),
        ("time [ms],force\n0,1\n", "line 1: the first column must be 'time [s]', found 'time [ms]'"),
        ("time;force\n0;1\n", "found 'time;force'; separate columns by commas"),
        ("time,force,force\n0,1,2\n", "line 1: column 'force' is given 2 times"),
        ("time,,force\n0,1,2\n", "line 1: column 2 has no name"),
        ("time,forse\n0,1\n", "line 1: no input is named 'forse'; did you mean 'force'?"),
        ("\ntime,xyz\n0,1\n", "line 2: no input is named 'xyz'; known inputs: force, road, gain"),
        ("time,force [kN]\n0,1\n", "line 1: input 'force' is in 'kN', the model has it in 'N'"),
        ("time,force\n", "has a header but no rows"),
        ("time,force\n0,1\n\n1,x\n", "line 4: column 'force': 'x' is not a number"),
        ("time,force\n0,1\n1,\n", "line 3: column 'force': '' is not a number"),
        ("time,force\n0,1_000\n", "line 2: column 'force': '1_000' is not a number"),
        ("time,force\n0,1\n1,2,3\n", "line 3: 3 values, the header names 2 columns"),
        ("time,force,road\n0,1\n1,2\n", "line 2: 2 values, the header names 3 columns"),
        ("time,force\n0,1\n2,1\n\n1,1\n", "line 5: time 1.0 comes after 2.0; time must not go back"),
        ("time,force\n0,1\nnan,1\n", "line 3: time is nan; it must be finite"),
        ("time,force\n0,1\n1,inf\n", "line 3: column 'force': inf is not finite"),
        ("time,force\n0,nan\n", "line 2: column 'force': nan is not finite"),
    ],
)
def test_wrong_inputs_are_named_with_their_line(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(ModelError) as caught:
        read_inputs(path, INPUTS)
    assert message in str(caught.value)
    assert all(problem.startswith(f"{path}: ") for problem in caught.value.problems)


def test_all_wrong_cells_are_reported_up_to_ten(tmp_path):
    with pytest.raises(ModelError) as caught:
        read_csv(write(tmp_path, "time,force,road\n0,x,y\n1,2\n"))
    assert len(caught.value.problems) == 3
    with pytest.raises(ModelError) as caught:
        read_csv(write(tmp_path, "time,force\n" + "0,x\n" * 100))
    assert len(caught.value.problems) == 10


def test_bytes_that_are_not_text_are_named_with_their_line(tmp_path):
    path = tmp_path / "u.csv"
    path.write_bytes(b"time,force\n0,1\n\xff,2\n")
    with pytest.raises(ModelError, match="line 3: not UTF-8 text"):
        read_csv(path)
