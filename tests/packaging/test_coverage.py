"""The table of coverage counts statements of Cython by the C that Cython made of them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from core_coverage import _statements

GENERATED = """\
  /* "fastbpe/_core/a.pyx":7
 *     cdef int n = 0
 *     if n:             # <<<<<<<<<<<<<<
 */
  __pyx_t_1 = (__pyx_v_n != 0);
  if (__pyx_t_1) {

    /* "fastbpe/_core/a.pyx":8
 *         n = fail()             # <<<<<<<<<<<<<<
 */
    __pyx_v_n = __pyx_f_fail();
  }

  /* function exit code */
  return 0;
"""


def test_statement_ran_if_the_first_line_of_its_code_did() -> None:
    counts = {5: 3, 6: 3, 11: 0, 15: 3}
    assert list(_statements(GENERATED, counts)) == [
        ("fastbpe/_core/a.pyx", 7, True),
        ("fastbpe/_core/a.pyx", 8, False),
    ]


def test_statement_without_code_does_not_count() -> None:
    assert list(_statements(GENERATED, {5: 1})) == [("fastbpe/_core/a.pyx", 7, True)]
