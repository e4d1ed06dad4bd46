"""``tilewright.run``: arrays in, arrays out, by the commands themselves."""

from __future__ import annotations

import inspect
import json
import os
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tilewright
from scipy.sparse import csr_array, random_array
from tilewright import payloads
from tilewright.api import reports
from tilewright.api.computations import _SUFFIXES, _parameters
from tilewright.cli import main
from tilewright.hw.spec.host.words import UnknownName
from tilewright.registry import commands
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.catalogue.sidecars import LABELS, config_of, emitted
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.kit.sampling import rng_of, slow_but

A, B = np.arange(12.0).reshape(3, 4), np.arange(8.0).reshape(4, 2)
M3XU = {"rows": 2, "cols": 2, "depth": 4, "modes": ["fp16", "fp32"]}
SPARSE = csr_array(random_array((12, 12), density=0.2, rng=np.random.default_rng(3))).sign()


@pytest.fixture(autouse=True)
def _nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Checks that a test leaves nothing in the directory or among the temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    for name in ("temporary", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    yield
    assert not list((tmp_path / "temporary").glob("tilewright-run-*"))


def test_arrays_in_and_out(capfd: pytest.CaptureFixture[str]) -> None:
    found = tilewright.run("gemm", A, B, mode="fp32", backend="model", set=M3XU)
    assert found.passed
    assert found.result.tolist() == (A @ B).tolist()
    assert (found.json["app"], found.json["mode"], found.json["shape"]) == (
        "gemm",
        "fp32",
        [3, 4, 2],
    )
    assert found.json["config"]["modes"] == ["fp16", "fp32"]
    assert [file["file"] for file in found.json["inputs"]] == ["a.npy", "b.npy"]
    assert "a.npy x b.npy" in str(found)
    assert "temporary" not in str(found) + json.dumps(found.json)
    expected = "<run gemm: passed, unit='m3xu', backend='model', mode='fp32', operations="
    assert repr(found).startswith(expected)
    assert capfd.readouterr() == ("", "")
    assert os.listdir() == []


def test_the_report_is_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """The report's command line runs the same computation on files."""
    found = tilewright.run("gemm", A, B, c=np.ones((3, 2)), backend="model", set=M3XU)
    for name, array in {"a": A, "b": B, "c": np.ones((3, 2))}.items():
        np.save(f"{name}.npy", array)
    words = found.json["command"].split()
    assert words[:3] == ["tilewright", "run", "gemm"]
    assert main([*words[1:], "--json", "-"]) == 0
    report = json.loads(capsys.readouterr().out)
    changing = {"command", "seconds", "operations_per_second"}
    assert {k: v for k, v in report.items() if k not in changing} == {
        k: v for k, v in found.json.items() if k not in changing
    }


def test_files_by_their_names() -> None:
    """Operands and output given as file names: the written file holds the result."""
    np.save("left.npy", A)
    np.save("right.npy", B)
    found = tilewright.run("gemm", "left.npy", Path("right.npy"), backend="model", output="d.npz")
    assert found.result.tolist() == (A @ B).tolist()
    assert sorted(os.listdir()) == ["d.npz", "left.npy", "right.npy"]
    assert "d.npz" in str(found)


def test_other_kinds_of_results() -> None:
    """Sparse matrices, arrays by name, large integers, none at all."""
    product = tilewright.run("spgemm", SPARSE, backend="model")
    assert isinstance(product.result, csr_array)
    assert abs(product.result - SPARSE @ SPARSE).max() < 1e-5
    places = np.array([[0, 0, 1], [0, 1, 0], [2, 1, 1]])
    tensor = tilewright.formats.Tensor(
        shape=(3, 2, 2), indices=places, values=np.array([1.0, 2.0, 3.0])
    )
    parts = tilewright.run("cpd", tensor, rank=2, backend="model")
    assert sorted(parts.result) == ["mode_1", "mode_2", "mode_3", "weights"]
    assert parts.result["mode_1"].shape == (3, 2)
    factors = {2: np.ones((2, 4)), 3: np.ones((2, 4))}
    rows = tilewright.run("spmttkrp", tensor, factor=factors, backend="model")
    assert rows.result.tolist() == [[3.0] * 4, [0.0] * 4, [3.0] * 4]
    large = tilewright.run("bignum", 3**80, 7**50, backend="model")
    assert large.result == 3**80 * 7**50
    assert tilewright.run("triangles", SPARSE + SPARSE.T, backend="model").result is None


def test_a_result_of_several_arrays_and_none_of_cycles() -> None:
    Path("own.ew").write_text("vector u\ne1:\n    store u, y\n    out y\ne2:\n    out y\n")
    given = {"program": "own.ew", "x": np.ones(12), "backend": "model"}
    assert list(tilewright.run("passes", SPARSE, **given).result) == ["u"]
    timed = tilewright.run("gemm", A, B, unit="simd2", on="engine", backend="cycles")
    assert timed.result is None
    assert timed.json["cycles"] > 0


def test_arguments_of_any_number() -> None:
    """Writes each array to a separate file."""
    product = tilewright.run("einsum", "ik,kj->ij", A, B, set={"design": "gemm"}, backend="model")
    assert product.result.tolist() == (A @ B).tolist()
    assert [file["file"] for file in product.json["inputs"]] == ["operands_1.npy", "operands_2.npy"]


def test_arguments_by_name() -> None:
    found = tilewright.run("gemm", A, b=B, c=None, backend="model", set=M3XU)
    assert found.result.tolist() == (A @ B).tolist()
    assert found.json["command"].endswith(" a.npy b.npy")
    for arguments in ((), (None,)):
        with refused(TypeError, "`a` must be given, as `b` is"):
            tilewright.run("gemm", *arguments, b=B)


def test_flags_and_lists() -> None:
    """Leaves out a flag that is off, or writes its negative option."""
    found = tilewright.run(
        "apsp", SPARSE, undirected=True, upper_triangle=False, convergence_check=False,
        backend="model", set={"tile": 2},
    )  # fmt: skip
    words = "--undirected --no-convergence-check --backend model --set tile=2 graph.npz"
    assert found.json["command"] == f"tilewright run apsp {words}"
    shaped = tilewright.run("spmm", SPARSE, rank=3, set=["rows=2"], backend="model")
    assert shaped.result.shape == (12, 3)


def test_what_is_refused() -> None:
    with refused(UnknownName, "unknown computation 'gem'; did you mean 'gemm' or 'gemv'?"):
        tilewright.run("gem", A, B)
    with refused(UnknownName, "unknown option of gemm 'moed'; did you mean 'mode'?"):
        tilewright.run("gemm", A, B, moed="fp32")
    with refused(TypeError, "gemm takes 2 arguments, not 3"):
        tilewright.run("gemm", A, B, B)
    with refused(TypeError, "`undirected` must be True or False, not 'yes'"):
        tilewright.run("apsp", SPARSE, undirected="yes")
    with refused(ValueError, "Missing argument 'B' (see `tilewright run gemm --help`)"):
        tilewright.run("gemm", A)
    with refused(ValueError, "b.npy: must have 4 rows, as a.npy is 3 x 4, not 3"):
        tilewright.run("gemm", A, A, backend="model")
    with refused(ValueError, "none.npy: cannot be read: No such file or directory"):
        tilewright.run("gemm", "none.npy", B)
    with refused(ValueError, "`gigahertz` must be a number in 0.01..100, not '-1'"):
        tilewright.run("spgemm", SPARSE, gigahertz=-1)
    with refused(ValueError, "m3xu: unknown parameter 'rws'; did you mean 'rows'?"):
        tilewright.run("gemm", A, B, set={"rws": 2})


def test_warnings_are_those_of_python() -> None:
    said = "a.npy: 11 of 12 values exceed the largest fp16 value 65504 and become infinite"
    with pytest.warns(UserWarning, match=f"^{said}$") as found:
        tilewright.run("gemm", A * 1e9, B, mode="fp16", backend="model", set=M3XU)
    assert found[0].filename == __file__


def test_every_command_can_be_run() -> None:
    """Every command can write a report, and its result, if it has one, to a file that we can
    read."""
    for name in commands():
        options = {one.option: one for one in _parameters(name) if one.option}
        assert options["--json"].file
        if "--output" in options:
            assert any(suffix in options["--output"].help for suffix in _SUFFIXES)
        assert all(one.name.isidentifier() for one in _parameters(name))


# The examples of pages work, and what they say of backends is so: the same text on each.

_MODEL = 'backend="model"'


ELSEWHERE = {
    ("engine.md", "rtl"): pytest.mark.slow,
    ("engine.md", "cycles"): pytest.mark.long,
    ("matraptor.md", "rtl"): pytest.mark.long,
    ("matraptor.md", "cycles"): pytest.mark.long,
    ("c2sr.md", "rtl"): pytest.mark.long,
    ("tensaurus.md", "rtl"): pytest.mark.long,
    ("tensaurus.md", "cycles"): pytest.mark.long,
    ("sida.md", "rtl"): pytest.mark.long,
    ("sida.md", "cycles"): pytest.mark.long,
    ("sida-applications.md", "rtl"): pytest.mark.long,
    ("sida-applications.md", "cycles"): pytest.mark.long,
}
"""Backends besides the model on which pages say that their programs run, and marks by their run
time. Other tests run the programs on the model."""


def run(name: str, backend: str = "model") -> tuple[int, dict[str, Any]]:
    """Runs a page's examples in succession; devices of models get another backend. Returns the
    number of these, and the names that the examples define."""
    names: dict[str, Any] = {}
    count = 0
    for block in examples(page(name), "python"):
        text = block.replace(_MODEL, f'backend="{backend}"')
        count += block.count(_MODEL)
        exec(compile(text, name, "exec"), names)
    return count, names


def counters(driver: Any) -> Any:
    """Returns the counters of the last product; some drivers keep them by job."""
    if not hasattr(driver, "jobs"):
        return driver.counts
    return [getattr(job, "counts", job) for job in driver.jobs]


def docstring_examples() -> dict[str, str]:
    """Returns the examples in the docstrings of public names, by the name."""
    found = {}
    for name in tilewright.__all__:
        one = reports.synth if name == "synth" else getattr(tilewright, name)
        kind = one if isinstance(one, type | ModuleType) else type(one)
        for path, each in [(name, one), *((f"{name}.{key}", x) for key, x in vars(kind).items())]:
            _, _, example = (inspect.getdoc(each) or "").partition("Example\n-------\n")
            if example:
                found[path] = textwrap.dedent(example)
    return found


@pytest.mark.parametrize("name", slow_but(["generate", "driver"], docstring_examples()))
def test_examples_in_docstrings(name: str) -> None:
    exec(compile(docstring_examples()[name], name, "exec"), {})


def test_most_functions_have_an_example() -> None:
    functions = {"run", "generate", "device", "driver", "registers", "synth", "table"}
    assert functions | {"Generated.write", "formats.to_words"} <= set(docstring_examples())


@pytest.mark.slow
def test_the_page_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the page's examples, which name RTL and the cycle model themselves."""
    monkeypatch.chdir(tmp_path)
    assert examples(page("python.md"), "python")
    run("python.md")
    assert (tmp_path / "unit.sv").exists()


@pytest.mark.parametrize(
    ("name", "backend"), [pytest.param(*one, marks=mark) for one, mark in ELSEWHERE.items()]
)
def test_the_same_program_on_another_backend(
    name: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    count, _ = run(name, backend)
    assert count


@pytest.mark.long
@pytest.mark.parametrize("name", ["engine.md", "matraptor.md", "tensaurus.md", "sida.md"])
def test_every_counter_is_equal(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RTL and the cycle model report equal counters in the last program of each page."""
    monkeypatch.chdir(tmp_path)
    found = {}
    for backend in ("model", "rtl", "cycles"):
        _, names = run(name, backend)
        found[backend] = counters(names["driver"])
    assert found["rtl"] == found["cycles"]
    assert found["rtl"] != found["model"]


def test_every_page_that_says_so_is_here() -> None:
    said = set()
    for path in sorted(page("README.md").parent.glob("*.md")):
        text = " ".join(path.read_text().split())
        if _MODEL in text and path.name != "python.md":
            offered = re.findall(r'[`with ]backend="(rtl|cycles)"`', text)
            assert "rtl" in offered or path.name == "tensaurus-applications.md", path.name
            said |= {(path.name, backend) for backend in offered}
    assert said == set(ELSEWHERE)


# ``tilewright.payloads`` and ``compute``: operations through the RTL, against the models.

STREAMS = [label for label, (name, _) in LABELS.items() if not tilewright.units[name].backends]
PAYLOADS = slow_but(
    ["m3xu"], STREAMS, ["m3xu_sequencer", "simd2 {'sparsity': '2:4'}", "gta_separate"]
)


def _rows(transfers: list[int], width: int) -> Any:
    """Payloads as the harness takes them."""
    size = -(-width // 32) * 4
    content = b"".join(one.to_bytes(size, "little") for one in transfers)
    return np.frombuffer(content, np.uint32).reshape(len(transfers), size // 4)


@pytest.mark.parametrize("label", PAYLOADS)
def test_operations_through_the_unit(label: str) -> None:
    """Runs all operations twice, with gaps and stalls, and compares the results with the model."""
    rng, made = rng_of(7), emitted(label)
    entry, config = config_of(label)
    sidecar = json.loads(json.dumps(made.sidecar))
    widths = {stream["name"]: stream["width"] for stream in sidecar["streams"]}
    sent: dict[str, list[int]] = {}
    work = []
    for operation in 2 * [one["name"] for one in sidecar["operations"]]:
        operands = payloads.random_operands(rng, sidecar, operation)
        for stream, transfers in payloads.pack(sidecar, operation, operands).items():
            sent.setdefault(stream, []).extend(transfers)
        work.append((operation, operands, payloads.transfers(sidecar, operation)["o"]))
    found, _ = NativeSimulation(made).run_streams(
        {name: _rows(transfers, widths[name]) for name, transfers in sent.items()},
        {"o": sum(count for *_, count in work)},
        pauses=Pauses(seed=3, gap=0.2, stall=0.2),
    )
    left = [int.from_bytes(row.tobytes(), "little") for row in found["o"]]
    info = tilewright.units[entry.unit.name]
    for operation, operands, count in work:
        results = payloads.unpack(sidecar, operation, {"o": left[:count]})
        wanted = info.compute(operation, operands, config)
        assert results.keys() == wanted.keys()
        for name, words in wanted.items():
            np.testing.assert_equal(results[name], words, f"{operation}: {name}")
        left = left[count:]
    assert left == []


def test_what_does_not_fit() -> None:
    sidecar, rng = emitted("m3xu").sidecar, np.random.default_rng(1)
    operands = payloads.random_operands(rng, sidecar, "fp16")
    with refused(ValueError, "`operation` must be one of fp16, bf16, tf32, fp32, fp32c, not 'fp8'"):
        payloads.pack(sidecar, "fp8", operands)
    with refused(ValueError, "`operands` must be a, b, c, not a, b"):
        payloads.pack(sidecar, "fp16", {name: operands[name] for name in "ab"})
    with refused(ValueError, "`a` must have shape (2, 4), not (4, 2)"):
        payloads.pack(sidecar, "fp16", operands | {"a": operands["a"].T})
    with refused(ValueError, "`payloads` must have 1 transfers of o for fp16"):
        payloads.unpack(sidecar, "fp16", {"o": []})
    width = next(one["width"] for one in sidecar["streams"] if one["name"] == "o")
    with refused(ValueError, "fp16: the flag `error` is [1]"):
        payloads.unpack(sidecar, "fp16", {"o": [1 << width - 1]})
    sparse = emitted("simd2 {'sparsity': '2:4'}").sidecar
    few = payloads.random_operands(rng, sparse, "mma")
    few["a"].popitem()
    with refused(ValueError, "`a` must have 2 elements in each group of 4 columns"):
        payloads.pack(sparse, "mma", few)
    with refused(ValueError, "`sidecar` must be of a unit with streams and operations"):
        payloads.pack(tilewright.generate("c2sr_converter").sidecar, "csr_to_c2sr", {})


def test_what_a_model_refuses() -> None:
    info = tilewright.units["simd2"]
    with refused(ValueError, "`operation` must be one of mma, orand, not 'minplus'"):
        info.compute("minplus", {}, ops=("mma", "orand"))
    with refused(ValueError, "`operands` must be a, b, c, not a"):
        info.compute("mma", {"a": [[0]]})
    with refused(ValueError, "sida runs programs, not single operations"):
        tilewright.units["sida"].compute("pass", {})


def test_a_model_on_numbers() -> None:
    a, b = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
    words = tilewright.formats.to_words
    given = {"a": words(a, "fp16"), "b": words(b, "fp16"), "c": words([[1, 0], [0, 1]], "fp32")}
    found = tilewright.units["simd2"].compute("mma", given, tile=2)
    numbers = tilewright.formats.from_words(found["d"], "fp32")
    assert numbers.tolist() == (a @ b + np.eye(2)).tolist()
