"""A real llama.cpp server with a tiny model of random weights, which the test makes itself.

The model writes words in random order. Its weights are random but for one: each token has a fixed bias, so that
sentences end, and JSON that the server enforces has one post and no claim.
"""

import struct
import subprocess
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

MODEL_NAME = "tiny-random"
KEY = "sk-llama-0123456789"
_WIDTH, _HIDDEN, _HEADS, _BLOCKS, _CONTEXT = 64, 96, 4, 2, 8192
WORDS = (
    *("the", "ferry", "harbour", "opens", "a", "new", "bridge", "in", "March", "after", "years", "of", "repairs"),
    *("and", "town", "library", "lends", "tools", "for", "seven", "days", "to", "residents", "with", "card"),
)
_BIASES = {'"': 6.0, "]": 2.0, ",": -3.0, "{": -3.0, " ": -9.0, "\n": -9.0, "\t": -9.0}
"""Of tokens with one character; those not listed have -6."""
_WORD_BIAS, _END_BIAS, _OTHER_BIAS = 5.0, 5.0, -6.0
_UINT32, _FLOAT32, _STRING, _ARRAY, _INT32 = 4, 6, 8, 9, 5
_ALIGNMENT = 32
_TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
_SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.model_alias = sys.argv[1], [sys.argv[2]]
params.n_ctx, params.n_parallel, params.hostnames, params.port = 8192, 1, ["127.0.0.1"], 0
params.sampling.seed = 7
# Several threads wait for each other in loops, which takes minutes beside other processes.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.api_keys = [sys.argv[3]]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def write_model(path: Path) -> None:
    """Write a model in the format GGUF, version 3."""
    random = Random(0)
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *(f"▁{word}" for word in WORDS)]
    kinds = [2, 3, 3, *[6] * 256, *[1] * len(WORDS)]
    metadata: dict[str, tuple[int, object]] = {
        "general.architecture": (_STRING, "llama"),
        "general.name": (_STRING, MODEL_NAME),
        "llama.context_length": (_UINT32, _CONTEXT),
        "llama.embedding_length": (_UINT32, _WIDTH),
        "llama.block_count": (_UINT32, _BLOCKS),
        "llama.feed_forward_length": (_UINT32, _HIDDEN),
        "llama.rope.dimension_count": (_UINT32, _WIDTH // _HEADS),
        "llama.attention.head_count": (_UINT32, _HEADS),
        "llama.attention.head_count_kv": (_UINT32, _HEADS),
        "llama.attention.layer_norm_rms_epsilon": (_FLOAT32, 1e-5),
        "llama.vocab_size": (_UINT32, len(pieces)),
        "tokenizer.ggml.model": (_STRING, "llama"),
        "tokenizer.ggml.tokens": (_ARRAY, (_STRING, pieces)),
        "tokenizer.ggml.scores": (_ARRAY, (_FLOAT32, [0.0] * len(pieces))),
        "tokenizer.ggml.token_type": (_ARRAY, (_INT32, kinds)),
        "tokenizer.ggml.unknown_token_id": (_UINT32, 0),
        "tokenizer.ggml.bos_token_id": (_UINT32, 1),
        "tokenizer.ggml.eos_token_id": (_UINT32, 2),
        "tokenizer.chat_template": (_STRING, _TEMPLATE),
    }
    _write_gguf(path, metadata, dict(_tensors(pieces, random)))


def _tensors(pieces: Sequence[str], random: Random) -> "Iterator[tuple[str, tuple[Sequence[int], array[float]]]]":
    """Yield name, shape and values of each tensor; the first number of a shape is the length of a row."""
    # The first dimension of every token is the same and large: with it the last layer adds the bias of each token.
    yield "token_embd.weight", _matrix(random, len(pieces), _WIDTH, first=10.0)
    yield "output.weight", _matrix(random, len(pieces), _WIDTH, firsts=[_bias(piece) / 8 for piece in pieces])
    yield "output_norm.weight", ((_WIDTH,), array("f", [1.0] * _WIDTH))
    for block in range(_BLOCKS):
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{block}.{name}.weight", ((_WIDTH,), array("f", [1.0] * _WIDTH))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{block}.{name}.weight", _matrix(random, _WIDTH, _WIDTH)
        for name in ("ffn_gate", "ffn_up"):
            yield f"blk.{block}.{name}.weight", _matrix(random, _HIDDEN, _WIDTH)
        yield f"blk.{block}.ffn_down.weight", _matrix(random, _WIDTH, _HIDDEN)


def _bias(piece: str) -> float:
    if piece.startswith("▁"):
        return _WORD_BIAS
    if piece == "</s>":
        return _END_BIAS
    # Bytes that are no character of their own would make invalid text.
    character = chr(int(piece[3:5], 16)) if piece.startswith("<0x") else ""
    return _BIASES.get(character, _OTHER_BIAS if character.isascii() else -30.0)


def _matrix(
    random: Random, rows: int, columns: int, *, first: float | None = None, firsts: Sequence[float] = ()
) -> "tuple[Sequence[int], array[float]]":
    values = array("f", (random.gauss(0, 0.02) for _ in range(rows * columns)))
    for row in range(rows):
        if firsts or first is not None:
            values[row * columns] = firsts[row] if firsts else first or 0.0
    return (columns, rows), values


def _write_gguf(
    path: Path,
    metadata: Mapping[str, tuple[int, object]],
    tensors: "Mapping[str, tuple[Sequence[int], array[float]]]",
) -> None:
    head = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
    for name, (kind, value) in metadata.items():
        head += _text(name) + struct.pack("<I", kind) + _value(kind, value)
    body = bytearray()
    for name, (shape, values) in tensors.items():
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(body))
        body += values.tobytes()
        body += bytes(-len(body) % _ALIGNMENT)
    path.write_bytes(head + bytes(-len(head) % _ALIGNMENT) + body)


def _value(kind: int, value: object) -> bytes:
    match kind, value:
        case 8, str():
            return _text(value)
        case 9, (int(element), list(values)):
            return struct.pack("<IQ", element, len(values)) + b"".join(_value(element, one) for one in values)
    return struct.pack({_UINT32: "<I", _FLOAT32: "<f", _INT32: "<i"}[kind], value)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


@contextmanager
def run_llama_server(folder: Path) -> Iterator[str]:
    """Run the server on a free port, asking for KEY, and yield its base URL."""
    model = folder / "tiny.gguf"
    if not model.exists():
        write_model(model)
    command = [sys.executable, "-c", _SERVE, str(model), MODEL_NAME, KEY]
    # In a process of its own: its threads outlive what starts them.
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"{_read_address(process.stdout)}/v1"
        finally:
            process.kill()


def _read_address(output: Iterator[bytes]) -> str:
    """Return the address that the process prints, after lines of the library's own."""
    for line in output:
        if line.startswith(b"http://"):
            return line.decode().strip()
    raise AssertionError("The server did not start: see server.log.")
