"""How a network of the zoo is loaded and asked. Lies beside the model wherever it is served."""

import json
import pathlib

import torch


def load(folder, network):
    """The callable model: `network` with the weights of its artifact folder.

    settings.json: threads; device, cpu or gpu; dtype, fp32 or fp16: what it computes in, inputs and outputs are float32
    either way. weights.pt: a state dict of float32.
    """
    folder = pathlib.Path(folder)
    settings = json.loads((folder / "settings.json").read_text())
    torch.set_num_threads(int(settings["threads"]))
    # TF32 has ten bits of mantissa: its answers would be told for wrong ones. Convolutions have a switch of their own.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    device = torch.device("cuda" if settings.get("device") == "gpu" else "cpu")
    dtype = torch.float16 if settings.get("dtype") == "fp16" else torch.float32
    network.load_state_dict(torch.load(folder / "weights.pt", weights_only=True))
    network.to(device, dtype).eval()

    def predict(rows):
        with torch.inference_mode():
            answers = network(torch.from_numpy(rows).to(device, dtype))
            return answers.to("cpu", torch.float32).numpy()

    predict.device = next(network.parameters()).device.type
    return predict
