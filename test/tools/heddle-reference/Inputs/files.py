"""Writes the inputs of model.mlir into a folder: files.py FOLDER"""
import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
np.save(folder / "x.npy", np.array([[1, 2], [3, 4], [5, 6]], np.float32))
np.save(folder / "sums.npy", np.array([5, 11, 17], np.float32))
np.save(folder / "whole.npy", np.array([[1, 2]], np.int32))
np.save(folder / "wide.npy", np.array([[1, 2, 3]], np.float32))
