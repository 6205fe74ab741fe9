"""What pyproject.toml cannot say: an editable install that type checkers can follow.

The repository's root is the package, so it must be on the path under the package's name. setuptools would do that with
an import hook, which mypy and pyright do not run; here it is a folder on the path that holds a link to the root.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.editable_wheel import editable_wheel


class EditableThroughLink(editable_wheel):
    """An editable wheel that puts `.editable` on the path, where `venire` is a link to this folder."""

    def finalize_options(self) -> None:
        link = Path(__file__).parent / ".editable/venire"
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to("..", target_is_directory=True)
        self.distribution.package_dir = {"": link.parent.name}
        super().finalize_options()


# The name keeps this file itself out of the package.
setup(script_name="setup.py", cmdclass={"editable_wheel": EditableThroughLink})
