"""The sandbox: runs a gene's WebAssembly module; knows nothing of memory rules, agents or files."""

from __future__ import annotations

from rotifer_host.sandbox.assembling import assemble
from rotifer_host.sandbox.calls import available_call_paths
from rotifer_host.sandbox.calls.registry import ExchangeFunction, HostFunction, HostFunctions, PlainFunction
from rotifer_host.sandbox.deadline import Deadline, HostTime, out_of_host_time, overdue
from rotifer_host.sandbox.documents import decode_document, encode_document
from rotifer_host.sandbox.functions import core_functions
from rotifer_host.sandbox.interrupts import Interrupts
from rotifer_host.sandbox.library import inspect
from rotifer_host.sandbox.module import ModuleInfo
from rotifer_host.sandbox.output import NO_OUTPUT, Output, input_too_large, output_too_large, read_output
from rotifer_host.sandbox.result import CallStats, Ending, GuestError, GuestResult
from rotifer_host.sandbox.run import Run
from rotifer_host.sandbox.sandbox import Module, Sandbox
from rotifer_host.sandbox.streams import KeptText, Streams
from rotifer_host.sandbox.wasi import wasi_functions

__all__ = [
    "NO_OUTPUT",
    "CallStats",
    "Deadline",
    "Ending",
    "ExchangeFunction",
    "GuestError",
    "GuestResult",
    "HostFunction",
    "HostFunctions",
    "HostTime",
    "Interrupts",
    "KeptText",
    "Module",
    "ModuleInfo",
    "Output",
    "PlainFunction",
    "Run",
    "Sandbox",
    "Streams",
    "assemble",
    "available_call_paths",
    "core_functions",
    "decode_document",
    "encode_document",
    "input_too_large",
    "inspect",
    "out_of_host_time",
    "output_too_large",
    "overdue",
    "read_output",
    "wasi_functions",
]
