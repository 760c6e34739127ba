"""TorchServe handler. One request is one sample: raw little-endian float32 pixels in, raw float32 answers out.

Each response tells the batch it was part of (x-batch-size), when the handler was given that batch
(x-handler-started-ns, by this machine's monotonic clock) and how long it held it (x-handler-time-ns).
"""

import logging
import time

import numpy as np
import served_model


class Handler:
    """Batch-safe: one forward pass for all requests of a batch, one answer for each, in order."""

    def initialize(self, context):
        self.predict = served_model.load(context.system_properties["model_dir"])
        # Where the model really is, for who asked for a GPU: the server's own word is only where it should be.
        device = getattr(self.predict, "device", "cpu")
        logging.getLogger(__name__).info("serve-bench: %s computes on %s", context.model_name, device)

    def handle(self, data, context):
        started = time.monotonic_ns()
        bodies = [row.get("body") or row.get("data") for row in data]
        # A bytearray, since torch refuses to share memory with read-only bytes.
        rows = np.frombuffer(bytearray().join(bodies), dtype="<f4").reshape(len(bodies), -1)
        try:
            answers = [bytes(answer) for answer in self.predict(rows)]
        except RuntimeError as error:
            if "allocate memory" in str(error):  # torch on a CPU: TorchServe knows a MemoryError for what it is
                raise MemoryError(str(error)) from error
            raise
        held_ns = str(time.monotonic_ns() - started)
        started_ns, batch_size = str(started), str(len(bodies))
        for i in range(len(bodies)):
            context.set_response_header(i, "x-batch-size", batch_size)
            context.set_response_header(i, "x-handler-started-ns", started_ns)
            context.set_response_header(i, "x-handler-time-ns", held_ns)
        return answers
