"""The one part of the package that is compiled: the native call path."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "rotifer_host.sandbox.calls._native",
            ["host/rotifer_host/sandbox/calls/_native.c"],
            extra_compile_args=["-O2"],
            optional=True,  # without a C compiler the raw path does the same work
        )
    ]
)
