"""What building the package takes besides `pyproject.toml`: what is in C, and the templates' files."""

import json
import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

NATIVE = Path("host") / "native"
TEMPLATES = Path("rotifer_host") / "gene" / "templates"


class BuildWithTemplates(build_py):
    """Puts the genes that `rotifer init --template` gives into the package; a checkout has them where they belong."""

    def run(self) -> None:
        """Build, then copy what `files.json` names."""
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib) / TEMPLATES
        for template, entry in json.loads((built / "files.json").read_text(encoding="utf-8")).items():
            (built / template).mkdir(exist_ok=True)
            for name, origin in entry["files"].items():
                shutil.copyfile(origin, built / template / name)


setup(
    cmdclass={"build_py": BuildWithTemplates},
    ext_modules=[
        Extension(
            name,
            sorted(map(str, folder.glob("*.c"))),
            depends=sorted(map(str, NATIVE.rglob("*.h"))),
            extra_compile_args=["-O3", "-fvisibility=hidden"],
            optional=True,  # without a C compiler the raw path does the same work
        )
        for name, folder in (
            ("rotifer_host.sandbox._native", NATIVE),
            ("rotifer_host.memory._ordinary", NATIVE / "memory"),
            ("rotifer_host.audit._line", NATIVE / "audit"),
            ("rotifer_host._files", NATIVE / "files"),
            ("rotifer_host.bench._shortcuts", NATIVE / "bench"),
        )
    ],
)
