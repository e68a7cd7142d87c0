"""What polyshap adds to the inference time of a vision transformer on its device.

    python benchmarks/gpu_image_game.py [--device cuda] [--size base] [--calls 2000] [--precision half]

A transformer of 86 million random weights (patches of 16 x 16 pixels, 12 layers of width 768, as ViT-B/16)
is asked about one image of 224 x 224 pixels in 7 x 7 regions. Inference is the same number of images, masked
before the clock runs, through the module alone; polyshap's own time is what the estimate takes beyond that:
drawing coalitions, masking on the device, the copy of the values, the fit. Medians of --repeats runs each,
taken in turn.
"""

import argparse
import platform
import statistics
import time

import numpy as np
import torch

import polyshap
from polyshap.games import grid, image_game

# width, layers, heads, side of the image
SIZES = {"base": (768, 12, 12, 224), "tiny": (96, 2, 2, 64)}
PATCH = 16


class VisionTransformer(torch.nn.Module):
    """ViT in plain PyTorch: patches to tokens, an encoder, the class token to 1,000 outputs."""

    def __init__(self, width, n_layers, n_heads, side):
        super().__init__()
        self.patches = torch.nn.Conv2d(3, width, PATCH, PATCH)
        self.token = torch.nn.Parameter(torch.zeros(1, 1, width))
        self.places = torch.nn.Parameter(0.02 * torch.randn(1, (side // PATCH) ** 2 + 1, width))
        layer = torch.nn.TransformerEncoderLayer(
            width, n_heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = torch.nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, 1000)

    def forward(self, images):
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(len(images), -1, -1), tokens], dim=1) + self.places
        return self.head(self.norm(self.encoder(tokens)[:, 0]))


def synchronise(device):
    if device == "cuda":
        torch.cuda.synchronize()


def seconds(run, device):
    synchronise(device)
    started = time.perf_counter()
    run()
    synchronise(device)
    return time.perf_counter() - started


def inference(game, n_images):
    """Images masked beforehand through the module alone, in the batches of the game."""
    size = game.batch_size
    present = torch.rand((size, game.n_players), device=game.image.device) < 0.5
    masked = torch.where(present[:, game.owner][:, None], game.image, game.absent)
    sizes = [min(size, n_images - start) for start in range(0, n_images, size)]

    def run():
        with torch.inference_mode(), game._autocast():
            for n in sizes:
                game.model(masked[:n])

    return run


def compare(game, calls, estimator, repeats, device):
    alone = inference(game, calls)

    def estimate():
        polyshap.estimate(game, game.n_players, calls, estimator, random_state=0)

    for warm_up in (alone, estimate):
        warm_up()
    pairs = [(seconds(alone, device), seconds(estimate, device)) for _ in range(repeats)]
    return tuple(statistics.median(one) for one in zip(*pairs, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=250)
    parser.add_argument("--precision", nargs="+", default=["model", "half"])
    parser.add_argument("--estimators", nargs="+", default=["leverageshap", "polyshap-2", "adaptive"])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.manual_seed(0)
    side = SIZES[options.size][-1]
    module = VisionTransformer(*SIZES[options.size]).to(options.device).eval()
    n_weights = sum(parameter.numel() for parameter in module.parameters())
    name = torch.cuda.get_device_name() if options.device == "cuda" else platform.processor() or "CPU"
    print(f"{name}, torch {torch.__version__}, numpy {np.__version__}")
    print(f"{n_weights / 1e6:.1f} million weights, {options.calls} calls in batches of {options.batch}")
    image = torch.rand(3, side, side)
    for precision in options.precision:
        game = image_game(
            module, image, grid(side, side, 7, 7), batch_size=options.batch, precision=precision
        )
        for estimator in options.estimators:
            alone, whole = compare(game, options.calls, estimator, options.repeats, options.device)
            print(
                f"precision {precision}, {game.n_players} players, {estimator}: inference {alone:.3f} s, "
                f"with polyshap {whole:.3f} s, own {1000 * (whole - alone):.0f} ms = "
                f"{100 * (whole - alone) / alone:.1f} % of the inference",
                flush=True,
            )


if __name__ == "__main__":
    main()
