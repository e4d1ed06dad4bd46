"""Words of reports."""

from tilewright.apps.common.limits import counted


def test_one_is_no_plural() -> None:
    assert [counted(n, "job") for n in (0, 1, 2000)] == ["0 jobs", "1 job", "2,000 jobs"]
    assert [counted(n, "pass", "passes") for n in (1, 2)] == ["1 pass", "2 passes"]
