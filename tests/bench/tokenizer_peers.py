"""The Python side of the tokenizer bench; run in the venv that run.sh makes.

  tokenizer_peers.py make TEXT FOLDER      trains bpe.json, unigram.json, wordpiece.json on the text,
                                           and blows bpe.json up to 150,000 tokens as large.json
  tokenizer_peers.py time FILE TEXT IDS    the library's processor seconds for the text in chunks of
                                           40 lines, least of three; the ids as 32-bit numbers
  tokenizer_peers.py tiktoken FILE TEXT    the same by tiktoken with the file's ranks
"""
import json
import os
import sys
import time
from array import array

os.environ["TOKENIZERS_PARALLELISM"] = "false"
LARGE = 150_000
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def chunks_of(path):
    with open(path, encoding="utf-8", newline="") as f:
        lines = f.read().split("\n")
    return ["\n".join(lines[i:i + 40]) for i in range(0, len(lines), 40)]


def make(text, folder):
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    chunks = chunks_of(text)[::40]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(chunks, trainers.BpeTrainer(
        vocab_size=8000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    bpe.save(folder + "/bpe.json")
    unigram = Tokenizer(models.Unigram())
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.train_from_iterator(chunks, trainers.UnigramTrainer(
        vocab_size=4000, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False))
    unigram.save(folder + "/unigram.json")
    word = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    word.normalizer = normalizers.BertNormalizer()
    word.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    word.train_from_iterator(chunks, trainers.WordPieceTrainer(
        vocab_size=4000, special_tokens=["[UNK]"], show_progress=False))
    word.save(folder + "/wordpiece.json")

    with open(folder + "/bpe.json", encoding="utf-8") as f:
        large = json.load(f)
    vocab, merges = large["model"]["vocab"], large["model"]["merges"]
    tokens = [t for t in vocab if len(t) > 1]
    for left in tokens:
        for right in tokens:
            if len(vocab) >= LARGE:
                break
            if left + right not in vocab:
                vocab[left + right] = len(vocab)
                merges.append([left, right])
    with open(folder + "/large.json", "w", encoding="utf-8") as f:
        json.dump(large, f, ensure_ascii=False, indent=2)


def least_of_three(chunks, encode):
    least = None
    for _ in range(3):
        begun = time.process_time()
        for chunk in chunks:
            encode(chunk)
        spent = time.process_time() - begun
        least = spent if least is None else min(least, spent)
    return least


def time_library(file, text, out):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(file)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    chunks, ids = chunks_of(text), array("I")
    print("%.3f" % least_of_three(
        chunks, lambda chunk: tokenizer.encode(chunk, add_special_tokens=False)))
    for chunk in chunks:
        ids.extend(tokenizer.encode(chunk, add_special_tokens=False).ids)
    with open(out, "wb") as f:
        ids.tofile(f)


def time_tiktoken(file, text):
    import tiktoken

    letters = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    rest = [b for b in range(256) if b not in letters]
    byte = {chr(b): b for b in letters} | {chr(256 + i): b for i, b in enumerate(rest)}
    with open(file, encoding="utf-8") as f:
        vocab = json.load(f)["model"]["vocab"]
    ranks = {bytes(byte[c] for c in token): rank for token, rank in vocab.items()}
    encoding = tiktoken.Encoding("bench", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    print("%.3f" % least_of_three(chunks_of(text), encoding.encode_ordinary))


if __name__ == "__main__":
    {"make": make, "time": time_library, "tiktoken": time_tiktoken}[sys.argv[1]](*sys.argv[2:])
