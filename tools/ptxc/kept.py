# SPDX-License-Identifier: Apache-2.0
# Files that later builds trust by their name alone: there whole, or not at all.
# Used by assemble.py and images.py. Knows nothing of what is written.
"""Write a file that outlives the build."""

import os


def keep(path, content):
    """Writes beside and renames, since a build may be killed here, and builds may run side by side."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f"{path.name}.{os.getpid()}")
    written.write_bytes(content)
    os.replace(written, path)
