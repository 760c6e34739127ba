"""Model file for Triton's Python backend: one forward pass for all requests of a batch."""

import pathlib
import sys

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """execute() is given a list of requests, each of one or more rows, and owes one response for each."""

    def initialize(self, args):
        folder = pathlib.Path(args["model_repository"]) / args["model_version"]
        sys.path.insert(0, str(folder))
        import served_model

        self.predict = served_model.load(folder)
        # Where the model really is, for who asked for a GPU: the server's own word is only where it should be.
        device = getattr(self.predict, "device", "cpu")
        pb_utils.Logger.log_info(f"serve-bench: {args['model_name']} computes on {device}")

    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy() for request in requests]
        answers = self.predict(np.concatenate(inputs))
        responses, first = [], 0
        for rows in inputs:
            answer = answers[first : first + len(rows)]
            first += len(rows)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", answer)]))
        return responses
