"""Benchmarks: experiments as data, verified measurements, and result files that can be compared."""

from vkssp.bench.experiment import Experiment, Run
from vkssp.bench.measuring import measure
from vkssp.bench.result import load_result, save_csv, save_result

__all__ = ["Experiment", "Run", "load_result", "measure", "save_csv", "save_result"]
