# SPDX-License-Identifier: Apache-2.0
"""Every operator of the library under its name; what each takes is in ops.pyi, and in `python -m libspark describe`."""
from .operators import operators

globals().update(operators())
__all__ = sorted(operators())
