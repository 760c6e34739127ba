"""In-process answers, by the servers' Python: answer.py ZOO_FOLDER MODULE MODEL_FOLDER INPUTS.npy OUTPUTS.npy"""

import importlib
import sys

import numpy as np

BATCH = 16


def main(zoo, module, folder, inputs_file, outputs_file):
    sys.path.insert(0, zoo)
    predict = importlib.import_module(module).load(folder)
    inputs = np.load(inputs_file)
    answers = [predict(inputs[i : i + BATCH]) for i in range(0, len(inputs), BATCH)]
    np.save(outputs_file, np.concatenate(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
